#pragma once
#include <span>
#include <string>
#include <vector>

#include "metrics/measure/engine/analyzer.h"
#include "tests/model/truth_figures.h"

namespace model {

using Frames = std::vector<support::KeptFrame>;

/// What the engine makes of the frames, numbered from `first_number`. CRCs are not verified: the model writes zeros.
metrics::Snapshot analyse(std::span<const support::KeptFrame> frames, metrics::AnalyzerOptions options = {},
                          std::uint64_t first_number = 1);
metrics::AnalyzerOptions options_for(const History& history, unsigned threads = 1);

std::string address_text(std::uint32_t host, Framing framing);
/// The flow in which `side` sends; of several incarnations the one with the most packets. nullptr if there is no such
/// flow.
const metrics::FlowSnapshot* flow_of(const metrics::Snapshot& snapshot, const History& history, std::uint32_t side);

/// Every figure of a flow as text, a line each, for comparisons that say what differs. `placed`: with what depends on
/// where in the file the frames lie (ids, frame numbers).
std::string text_of(const metrics::FlowSnapshot& flow, bool placed);
std::string text_of(const metrics::Snapshot& snapshot);

std::uint64_t sum(const metrics::StateTimes& times);
std::uint64_t sum(const Samples& samples);

}  // namespace model
