#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/answers/answer.h"
#include "metrics/answers/path_pairs.h"
#include "metrics/measure/engine/analyzer.h"
#include "tests/model/routed_traffic.h"

namespace model {

/// What the engine makes of traffic over several routes, next to what is true of it.
struct RoutedOutcome {
    RouteTruth truth;
    metrics::Snapshot snapshot;
    std::vector<metrics::PathPair> pairs;
    std::vector<metrics::Answer> answers;

    /// The first answer with one of these verdicts that alarms, or null.
    const metrics::Answer* alarm(std::initializer_list<std::string_view> verdicts) const;
    /// The first answer with this verdict, alarming or not, or null.
    const metrics::Answer* answer(std::string_view verdict) const;
    /// The traffic from host a (or b), or null.
    const metrics::PathPair* pair(bool from_b = false) const;
    /// The entropies that are called sick, the least likely to be so by chance first.
    std::vector<Entropy> sick() const;
    /// The entropies that have this problem.
    std::vector<Entropy> with(metrics::PathProblem problem) const;
    /// Verdicts that alarm, for messages of failures.
    std::string alarms() const;
};
Entropy entropy_of(metrics::Entropy entropy, bool from_b);
RoutedOutcome analyse(const RoutePlan& plan, metrics::AnalyzerOptions options = {});

/// Calls `each` with the seeds from 1 to `count`, from several threads.
void for_each_seed(std::uint64_t count, const std::function<void(std::uint64_t)>& each);
/// For how many of the seeds from 1 to `count` the answer is yes.
std::uint64_t count_seeds(std::uint64_t count, const std::function<bool(std::uint64_t)>& each);

}  // namespace model
