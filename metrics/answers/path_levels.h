#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "metrics/answers/path_pairs.h"

namespace metrics::inline answers {

/// What loses more than its like, where no single path does: a pair of hosts, or one host with all of its peers.
struct SickLevel {
    enum class What : std::uint8_t { pair, source, destination };
    What what = What::pair;
    Address source;       ///< of a pair, or the source that loses
    Address destination;  ///< of a pair, or the destination that loses
    double p = 1;         ///< adjusted
    std::vector<const PathPair*> pairs;
    std::uint64_t episodes = 0;
    std::uint64_t all_episodes = 0;  ///< of all that it was compared with, itself among them
};

/// Compares pairs with the same destination, and those with the same source. Pairs with a path that loses explain their
/// losses by it, and are left out.
std::vector<SickLevel> sick_levels(std::span<const PathPair> pairs);

}  // namespace metrics::answers
