#include "exporters/management.h"

#include <array>
#include <fmt/core.h>
#include <string_view>

#include "base/quantities.h"

namespace exporters {

bool shows_connections(const metrics::Snapshot& snapshot) {
    constexpr auto connection = static_cast<std::size_t>(wire::ManagementKind::connection);
    return snapshot.capture.management[connection] != 0 || !snapshot.attempts.empty();
}

std::string management_text(const metrics::CaptureFigures& capture) {
    constexpr std::array<std::string_view, wire::management_kind_count> names{
        "subnet management",   "subnet administration", "performance management", "connection management",
        "application classes", "vendor classes",        "other classes"};
    std::uint64_t all = 0;
    std::string parts;
    for (std::size_t kind = 0; kind < names.size(); ++kind) {
        const std::uint64_t count = capture.management[kind];
        all += count;
        if (count != 0) parts += fmt::format("{}{} of {}", parts.empty() ? "" : ", ", count, names[kind]);
    }
    const bool connects = capture.management[static_cast<std::size_t>(wire::ManagementKind::connection)] != 0;
    if (all == 0 || connects) return {};
    return fmt::format("management only: {} ({}), no data", base::format_counted(all, "MAD"), parts);
}

}  // namespace exporters
