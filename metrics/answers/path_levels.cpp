#include "metrics/answers/path_levels.h"

#include <algorithm>
#include <map>
#include <optional>

namespace metrics::inline answers {

namespace {

/// A pair among those with the same source, or with the same destination.
struct Comparison {
    LossTest test;
    std::size_t compared = 0;  ///< pairs
    std::uint64_t all_episodes = 0;
};

/// Or had one.
bool has_sick_path(const PathPair& pair) {
    return std::ranges::any_of(
        pair.rows, [](const PathRow& row) { return row.loses_more || row.problem == PathProblem::recovered; });
}

/// Of one pair for each two hosts and class: only pairs of one class share queues.
template <class KeyOf>
std::map<const PathPair*, Comparison> compare_by(const std::vector<const PathPair*>& pairs, KeyOf key_of) {
    std::map<std::pair<Address, std::uint8_t>, std::vector<const PathPair*>> groups;
    for (const PathPair* pair : pairs) groups[{key_of(*pair), pair->dscp}].push_back(pair);
    std::map<const PathPair*, Comparison> out;
    for (const auto& [key, group] : groups) {
        std::vector<LossCount> counts;
        std::uint64_t all = 0;
        for (const PathPair* pair : group) {
            counts.push_back(pair->losses());
            all += counts.back().episodes;
        }
        const std::vector<LossTest> tests = test_losses(counts);
        const auto compared = static_cast<std::size_t>(std::ranges::count_if(tests, &LossTest::tested));
        for (std::size_t i = 0; i < group.size(); ++i) out[group[i]] = {tests[i], compared, all};
    }
    return out;
}

/// If the pair stands out among those of its destination, and not among those of its source, the source is what they
/// have in common.
std::optional<SickLevel> level_of(const PathPair& pair, const Comparison& of_destination, const Comparison& of_source) {
    SickLevel level;
    level.source = pair.source;
    level.destination = pair.destination;
    level.pairs = {&pair};
    level.episodes = pair.losses().episodes;
    const bool at_destination = of_destination.test.sick;
    const bool at_source = of_source.test.sick;
    if (!at_destination && !at_source) return std::nullopt;
    if (at_destination && !at_source && of_source.compared > 1) level.what = SickLevel::What::source;
    if (at_source && !at_destination && of_destination.compared > 1) level.what = SickLevel::What::destination;
    const Comparison& shown = at_destination ? of_destination : of_source;
    level.p = shown.test.p;
    level.all_episodes = shown.all_episodes;
    return level;
}

bool is_same(const SickLevel& one, const SickLevel& other) {
    if (one.what != other.what) return false;
    if (one.what == SickLevel::What::source) return one.source == other.source;
    return one.what == SickLevel::What::destination && one.destination == other.destination;
}

}  // namespace

std::vector<SickLevel> sick_levels(std::span<const PathPair> pairs) {
    std::vector<const PathPair*> left;
    for (const PathPair& pair : pairs)
        if (!has_sick_path(pair)) left.push_back(&pair);
    const auto by_destination = compare_by(left, [](const PathPair& pair) { return pair.destination; });
    const auto by_source = compare_by(left, [](const PathPair& pair) { return pair.source; });
    std::vector<SickLevel> out;
    for (const PathPair* pair : left) {
        const auto level = level_of(*pair, by_destination.at(pair), by_source.at(pair));
        if (!level) continue;
        const auto same = std::ranges::find_if(out, [&](const SickLevel& one) { return is_same(one, *level); });
        if (same == out.end()) {
            out.push_back(*level);
            continue;
        }
        same->pairs.push_back(pair);
        same->p = std::min(same->p, level->p);
        same->episodes += level->episodes;
        same->all_episodes += level->all_episodes;
    }
    return out;
}

}  // namespace metrics::answers
