#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/quantities.h"
#include "metrics/answers/answer.h"
#include "metrics/answers/path_pairs.h"

/// Pairs of hosts and their entropies as people read them: `paths` and the view of `top` show these columns.
namespace exporters {

struct PathColumn {
    std::string_view title;
    bool left_aligned = false;
    /// `pair_bytes`: of all entropies of the pair.
    std::string (*text)(const metrics::PathRow& row, std::uint64_t pair_bytes, const base::Style& style) = nullptr;
};
std::span<const PathColumn> path_columns();

/// "10.0.0.1 > 10.0.0.2  DSCP 26  8 entropies, effective 6.1, fairness 0.77, max/mean 2.1; places packets out of
/// order". `names` may be null.
std::string path_heading(const metrics::PathPair& pair, const metrics::HostNames* names);

}  // namespace exporters
