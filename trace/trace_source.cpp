#include "trace/trace_source.h"

#include <algorithm>
#include <fmt/core.h>

namespace trace {

std::string counts_text(std::vector<EventCount> counts) {
    std::erase_if(counts, [](const EventCount& one) { return one.count == 0; });
    std::stable_sort(counts.begin(), counts.end(),
                     [](const EventCount& one, const EventCount& other) { return one.count > other.count; });
    std::string text;
    for (const EventCount& one : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.name, one.count);
    return text.empty() ? "none" : text;
}

}  // namespace trace
