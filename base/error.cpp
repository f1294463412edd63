#include "base/error.h"

#include <fmt/core.h>

namespace base {

std::string Error::text() const {
    std::string out = path.empty() ? message : fmt::format("{}: {}", path, message);
    if (offset) out += fmt::format(" (at byte {}, after {} frame{})", *offset, frames, frames == 1 ? "" : "s");
    return out;
}

std::string text_of(const Errors& errors) {
    std::string out;
    for (const Error& error : errors) {
        if (!out.empty()) out += '\n';
        out += error.text();
    }
    return out;
}

}  // namespace base
