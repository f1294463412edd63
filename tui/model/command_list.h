#pragma once
#include <vector>

#include "exporters/filter/flow_filter.h"
#include "metrics/figures/snapshot.h"

namespace tui::inline model {

/// A row of the view of commands: a connection with an upper layer, or one of its kinds of commands below it.
struct CommandLine {
    const metrics::FlowSnapshot* flow = nullptr;        ///< of the side that asks
    const metrics::CommandKindFigures* kind = nullptr;  ///< null: the connection itself

    bool operator==(const CommandLine&) const = default;
};

/// The connections with the most commands first, each with its kinds, those that took most time first. Points into the
/// snapshot.
std::vector<CommandLine> command_lines(const metrics::Snapshot& snapshot, const exporters::Context& context,
                                       exporters::filter::FlowFilter& filter);

}  // namespace tui::model
