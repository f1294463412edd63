#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/analysis/session.h"
#include "metrics/figures/command_figures.h"

namespace cli::io {

/// What the connections of a group have in common.
enum class GroupBy : std::uint8_t { pair, initiator, target, protocol, all, lba };
/// "pair", "initiator", "target", "protocol", "all", "lba"; nullopt for another name.
std::optional<GroupBy> group_named(std::string_view name);

/// The sum of connections of one protocol; with GroupBy::all, the sum of all connections.
struct Group {
    std::string name;  ///< what the connections have in common: "192.0.2.2 > 192.0.2.1"
    std::uint64_t connections = 0;
    metrics::CommandConnectionFigures sum;
};
/// Groups in the order of their first connections; not for GroupBy::lba, which groups commands. A target has the name
/// that its protocol gives, or its address.
std::vector<Group> grouped(const std::vector<metrics::CommandConnectionFigures>& connections, GroupBy by,
                           const analysis::Names& names);

}  // namespace cli::io
