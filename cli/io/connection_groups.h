#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/analysis/session.h"
#include "metrics/figures/command_figures.h"

namespace cli::io {

/// What connections share whose commands are added up.
enum class GroupBy : std::uint8_t { pair, initiator, target, protocol, all };
/// "pair", "initiator", "target", "protocol", "all".
std::string_view name_of(GroupBy by);
std::optional<GroupBy> group_named(std::string_view name);

/// Connections of one protocol added up; of all protocols if everything is one group.
struct Group {
    std::string name;  ///< what they share: "192.0.2.2 > 192.0.2.1"
    std::uint64_t connections = 0;
    metrics::CommandConnectionFigures sum;
};
/// Groups in the order of their first connections. A target has the name that its protocol gives, or its address.
std::vector<Group> grouped(const std::vector<metrics::CommandConnectionFigures>& connections, GroupBy by,
                           const analysis::Names& names);

}  // namespace cli::io
