#pragma once
#include <vector>

#include "exporters/filter/flow_filter.h"
#include "metrics/figures/snapshot.h"

namespace tui::inline model {

/// A row of the view of commands: a connection with an upper layer, or one of its kinds of commands below it.
struct CommandLine {
    const metrics::FlowSnapshot* flow = nullptr;        ///< the flow of the side that sends requests
    const metrics::CommandKindFigures* kind = nullptr;  ///< nullptr: the row of the connection

    bool operator==(const CommandLine&) const = default;
};

/// The rows of all connections: the connection with the most commands comes first, and of its kinds the kind that took
/// most time. Rows point into the snapshot.
std::vector<CommandLine> command_lines(const metrics::Snapshot& snapshot, const exporters::Context& context,
                                       exporters::filter::FlowFilter& filter);

}  // namespace tui::model
