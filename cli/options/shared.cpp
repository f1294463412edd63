#include "cli/options/shared.h"

#include <algorithm>

namespace cli::options {

std::string take_sort(const std::string& value, std::string& into) {
    into = value;
    return value.empty() || value == "-" ? "a column, as `--columns help` lists them," : "";
}

void append_words(std::vector<std::string>& words, std::string_view list) {
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        if (comma > 0) words.emplace_back(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
}

std::string take_kernel_events(const std::string& value, std::vector<std::string> usual,
                               std::optional<std::vector<std::string>>& into) {
    std::vector<std::string> events = into.value_or(std::vector<std::string>{});
    const std::size_t before = events.size();
    append_words(events, value);
    const bool plain = std::all_of(events.begin(), events.end(), [](const std::string& event) {
        return event.find('/') == std::string::npos && event.front() != ':' && event.back() != ':';
    });
    if ((events.size() == before && !value.empty()) || !plain)
        return "groups or GROUP:EVENT with commas between, as in rdma_cma,rdma_core:cq_poll,";
    if (value.empty()) events = std::move(usual);
    into = std::move(events);
    return {};
}

}  // namespace cli::options
