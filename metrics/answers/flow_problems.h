#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "metrics/answers/answer.h"

namespace metrics::inline answers {

/// What is wrong with one flow: the worst finding of `why` that is about it.
struct FlowProblem {
    Question question{};
    Verdict verdict{};
    Grade grade = Grade::suspected;  ///< suspected, minor or wrong
    Cost cost = {};                  ///< of the finding, whose flows share it
    std::string cause;               ///< in a word or two: "rnr", "loss before", "terminate: invalid STag"
};
/// By the id of the flow; flows without a problem are absent.
using FlowProblems = std::unordered_map<std::uint64_t, FlowProblem>;

/// The problems that `answers` name. `answers` must be about this snapshot and in the order of `answer()`.
FlowProblems flow_problems(const Snapshot& snapshot, std::span<const Answer> answers);
/// The same, from the answers about all flows of the snapshot.
FlowProblems flow_problems(const Snapshot& snapshot);

/// A number that is greater where a problem is worse: by grade, then by cost.
double badness(const FlowProblem& problem);

/// Whether a problem still matters after the flow's connection has ended: an error that ended it does, a finished
/// repair does not.
bool outlives_connection(Verdict verdict);

}  // namespace metrics::answers
