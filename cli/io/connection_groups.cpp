#include "cli/io/connection_groups.h"

#include <array>
#include <fmt/core.h>
#include <map>

#include "cli/io/words.h"

namespace cli::io {

namespace {

using metrics::CommandConnectionFigures;

/// In the order of GroupBy.
constexpr std::array<std::string_view, 6> names_of_groups{"pair", "initiator", "target", "protocol", "all", "lba"};

std::string host_text(const CommandConnectionFigures& connection, const metrics::Address& address,
                      const analysis::Names& names) {
    return end_text(address, 0, connection.transport, names);
}

std::string group_name(const CommandConnectionFigures& connection, GroupBy by, const analysis::Names& names) {
    const std::string initiator = host_text(connection, connection.initiator, names);
    const std::string target = host_text(connection, connection.target, names);
    switch (by) {
        case GroupBy::pair: return fmt::format("{} > {}", initiator, target);
        case GroupBy::initiator: return initiator;
        case GroupBy::target: return connection.target_name.empty() ? target : connection.target_name;
        case GroupBy::protocol: return connection.protocol;
        case GroupBy::all: return "all";
        case GroupBy::lba: break;
    }
    return {};
}

}  // namespace

std::optional<GroupBy> group_named(std::string_view name) {
    for (std::size_t i = 0; i < names_of_groups.size(); ++i)
        if (names_of_groups[i] == name) return static_cast<GroupBy>(i);
    return std::nullopt;
}

std::vector<Group> grouped(const std::vector<CommandConnectionFigures>& connections, GroupBy by,
                           const analysis::Names& names) {
    std::vector<Group> groups;
    std::map<std::pair<std::string, std::string>, std::size_t> known;
    for (const CommandConnectionFigures& connection : connections) {
        const std::string protocol = by == GroupBy::all ? "" : connection.protocol;
        std::string name = group_name(connection, by, names);
        const auto [at, fresh] = known.try_emplace({protocol, name}, groups.size());
        if (fresh) {
            groups.push_back({std::move(name), 1, connection});
            groups.back().sum.protocol = protocol;
            continue;
        }
        ++groups[at->second].connections;
        metrics::merge(groups[at->second].sum, connection);
    }
    return groups;
}

}  // namespace cli::io
