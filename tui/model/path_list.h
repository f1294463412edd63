#pragma once
#include <cstddef>
#include <optional>
#include <tuple>
#include <vector>

#include "exporters/filter/flow_filter.h"
#include "metrics/answers/path_pairs.h"

namespace tui::inline model {

/// A row of the view of paths: two hosts, or one of their entropies below them.
struct PathLine {
    const metrics::PathPair* pair = nullptr;
    const metrics::PathRow* row = nullptr;  ///< nullptr: the row of the hosts
};

/// Hosts with several entropies, and those entropies. Hosts with a path that has a problem come first, then those with
/// the most bytes.
class PathList {
public:
    /// What a line is about, in whatever reading.
    using Key = std::tuple<metrics::Address, metrics::Address, wire::Transport, std::uint8_t, metrics::Entropy>;

    /// Pairs of hosts with at least one flow that matches the filter.
    void build(const metrics::Snapshot& snapshot, const exporters::Context& context,
               exporters::filter::FlowFilter& filter);
    const std::vector<PathLine>& lines() const { return lines_; }
    std::size_t single() const { return single_; }  ///< pairs of hosts with one entropy, which are left out

    static Key key(const PathLine& line);
    Key key(std::size_t line) const { return line < lines_.size() ? key(lines_[line]) : Key{}; }
    /// The first flow of the entropy, or of the hosts.
    std::optional<std::uint64_t> flow(std::size_t line) const;

private:
    std::vector<metrics::PathPair> pairs_;
    std::vector<PathLine> lines_;
    std::size_t single_ = 0;
};

}  // namespace tui::model
