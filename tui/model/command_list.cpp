#include "tui/model/command_list.h"

#include <algorithm>

namespace tui::inline model {

namespace {

/// A connection with the number of its commands, which is a sum over kinds and is counted once.
struct Counted {
    const metrics::FlowSnapshot* flow;
    std::uint64_t commands;
};

void append_kinds(std::vector<CommandLine>& lines, const metrics::FlowSnapshot& flow) {
    const std::size_t first = lines.size();
    for (const metrics::CommandKindFigures& kind : flow.commands->kinds)
        if (!kind.housekeeping && (kind.commands != 0 || kind.unanswered != 0)) lines.push_back({&flow, &kind});
    std::stable_sort(lines.begin() + static_cast<std::ptrdiff_t>(first), lines.end(),
                     [](const CommandLine& one, const CommandLine& other) {
                         return one.kind->latency_ns.sum() > other.kind->latency_ns.sum();
                     });
}

}  // namespace

std::vector<CommandLine> command_lines(const metrics::Snapshot& snapshot, const exporters::Context& context,
                                       exporters::filter::FlowFilter& filter) {
    std::vector<Counted> connections;
    for (const metrics::FlowSnapshot& flow : snapshot.flows)
        if (flow.commands && !flow.commands->of_target && filter.matches({flow, context}))
            connections.push_back({&flow, totals_of(*flow.commands).commands});
    std::stable_sort(connections.begin(), connections.end(),
                     [](const Counted& one, const Counted& other) { return one.commands > other.commands; });
    std::vector<CommandLine> lines;
    for (const Counted& connection : connections) {
        lines.push_back({connection.flow, nullptr});
        append_kinds(lines, *connection.flow);
    }
    return lines;
}

}  // namespace tui::model
