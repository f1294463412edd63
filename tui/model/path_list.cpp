#include "tui/model/path_list.h"

#include <algorithm>

namespace tui::inline model {

namespace {

using metrics::PathPair;
using metrics::PathRow;

/// Of a pair of hosts. A switch that sprays makes thousands.
constexpr std::size_t most_rows = 256;

bool has_problem(const PathPair& pair) {
    return std::ranges::any_of(pair.rows, [](const PathRow& row) { return row.problem != metrics::PathProblem::none; });
}

bool matches(const PathPair& pair, const metrics::Snapshot& snapshot, const exporters::Context& context,
             exporters::filter::FlowFilter& filter) {
    for (const PathRow& row : pair.rows)
        for (const std::uint64_t id : row.flows) {
            const auto flow = std::ranges::lower_bound(snapshot.flows, id, {}, &metrics::FlowSnapshot::id);
            if (flow != snapshot.flows.end() && flow->id == id && filter.matches({*flow, context})) return true;
        }
    return false;
}

/// Those with a problem, then the heaviest.
void append_rows(std::vector<PathLine>& lines, const PathPair& pair) {
    const std::size_t first = lines.size();
    for (const PathRow& row : pair.rows) lines.push_back({&pair, &row});
    std::stable_sort(lines.begin() + static_cast<std::ptrdiff_t>(first), lines.end(),
                     [](const PathLine& one, const PathLine& other) {
                         const bool bad = one.row->problem != metrics::PathProblem::none;
                         const bool other_bad = other.row->problem != metrics::PathProblem::none;
                         if (bad != other_bad) return bad;
                         return one.row->figures.wire_bytes > other.row->figures.wire_bytes;
                     });
    lines.resize(std::min(lines.size(), first + most_rows));
}

}  // namespace

void PathList::build(const metrics::Snapshot& snapshot, const exporters::Context& context,
                     exporters::filter::FlowFilter& filter) {
    lines_.clear();
    pairs_ = metrics::path_pairs(snapshot);
    std::erase_if(pairs_, [&](const PathPair& pair) { return !matches(pair, snapshot, context, filter); });
    single_ = std::erase_if(pairs_, [](const PathPair& pair) { return pair.entropies < 2 && !has_problem(pair); });
    std::stable_partition(pairs_.begin(), pairs_.end(), has_problem);
    for (const PathPair& pair : pairs_) {
        lines_.push_back({&pair, nullptr});
        append_rows(lines_, pair);
    }
}

PathList::Key PathList::key(const PathLine& line) {
    return {line.pair->source, line.pair->destination, line.pair->transport, line.pair->dscp,
            line.row == nullptr ? metrics::Entropy{} : line.row->figures.entropy};
}

std::optional<std::uint64_t> PathList::flow(std::size_t line) const {
    if (line >= lines_.size()) return {};
    const PathRow& row = lines_[line].row == nullptr ? lines_[line].pair->rows.front() : *lines_[line].row;
    return row.flows.empty() ? std::nullopt : std::optional(row.flows.front());
}

}  // namespace tui::model
