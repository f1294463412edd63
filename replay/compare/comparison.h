#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "metrics/answers/answer.h"
#include "metrics/figures/snapshot.h"
#include "replay/endpoints/reenactment.h"
#include "replay/plan/survey.h"

namespace replay::inline compare {

/// The figures of a flow that are compared.
struct Figures {
    metrics::OperationTable operations;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    metrics::Histogram latency_ns;  ///< of all operations
};
Figures figures_of(const metrics::FlowSnapshot& flow);

/// The operations that a flow's re-enactment over iWARP must show. Sends with Immediate of RoCE become Sends, each
/// followed by Immediate Data, which carries none of the bytes.
metrics::OperationTable over_iwarp(const metrics::FlowSnapshot& original);

/// A flow and its re-enactment: the first copy's, if there are several.
struct ComparedFlow {
    const metrics::FlowSnapshot* original = nullptr;
    const metrics::FlowSnapshot* replayed = nullptr;  ///< null if nothing of it was captured
    bool equal = false;                               ///< operations: kinds, counts, bytes
    struct Why {
        metrics::Question question{};
        metrics::Verdict original{};
        metrics::Verdict replayed{};
    };
    std::vector<Why> why;    ///< questions whose answers differ
    std::string difference;  ///< how the use of time differs, in a sentence; empty if there is nothing to report
};

/// `recorded` and the survey must outlive the result. Only flows with operations; of endpoints here.
std::vector<ComparedFlow> compare_runs(const Survey& survey, const Reenactment& run, const metrics::Snapshot& recorded,
                                       const metrics::HostNames& names);

}  // namespace replay::compare
