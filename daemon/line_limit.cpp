#include "daemon/line_limit.h"

#include <utility>

namespace service {

LineLimit::Kind& LineLimit::kind_of(std::string_view name) {
    if (const auto at = kinds_.find(name); at != kinds_.end()) return at->second;
    return kinds_.try_emplace(kinds_.size() + 1 < max_kinds ? std::string(name) : "other").first->second;
}

LineLimit::Answer LineLimit::ask(std::string_view kind, std::uint64_t now_ns) {
    constexpr std::uint64_t window_ns = 1'000'000'000;
    Kind& of = kind_of(kind);
    if (of.passed == 0 || now_ns - of.begin_ns >= window_ns) {
        of.begin_ns = now_ns;
        of.passed = 0;
    }
    if (of.passed >= most_) {
        ++of.left_out;
        return {};
    }
    ++of.passed;
    return {true, std::exchange(of.left_out, 0)};
}

std::vector<LineLimit::Rest> LineLimit::rest() const {
    std::vector<Rest> out;
    for (const auto& [name, kind] : kinds_)
        if (kind.left_out > 0) out.push_back({name, kind.left_out});
    return out;
}

}  // namespace service
