#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "metrics/answers/subject.h"

namespace metrics::inline answers {

/// A flow with the problem in question, and its severity: 0 to 1.
struct Affected {
    const FlowSnapshot* flow = nullptr;
    double severity = 0;
};

/// An answer about these flows, the worst first, with ids, vantage, confidence and severity. Its cost is the severity
/// as a share of the busy time; a finding may replace that.
Answer finding(Question question, Verdict verdict, std::vector<Affected>& affected);
Flows flows_of(const std::vector<Affected>& affected);

/// Frames that show one of these kinds of events on the flows, ascending, at most 8.
std::vector<std::uint64_t> frames_of(const Flows& flows, std::initializer_list<EventKind> kinds);
/// Adds a figure; a zero is left out unless `always`.
void add_evidence(Answer& answer, std::string what, double value, EvidenceUnit unit,
                  std::vector<std::uint64_t> frames = {}, bool always = false);

}  // namespace metrics::answers
