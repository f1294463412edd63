#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "metrics/answers/answer.h"
#include "metrics/figures/snapshot.h"

namespace cli::report {

/// The flows that get plots, at most `most`: those that findings name, then all others with a problem, then the
/// busiest. With `flow`, that flow and its reverse alone.
std::vector<const metrics::FlowSnapshot*> flows_with_plots(const metrics::Snapshot& snapshot,
                                                           std::span<const metrics::Answer> answers,
                                                           const std::uint64_t* flow, std::size_t most);

/// Frames that a report names: those of the answers' evidence, and of the events of these flows.
std::vector<std::uint64_t> named_frames(std::span<const metrics::Answer> answers,
                                        std::span<const metrics::FlowSnapshot* const> flows);

}  // namespace cli::report
