#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "metrics/answers/answer.h"

namespace metrics::inline answers {

/// A capture with only a part of the packets, chosen evenly, as when a switch mirrors one packet in n.
struct Sample {
    std::uint64_t seen = 0;    ///< packets
    std::uint64_t passed = 0;  ///< at least, by their positions

    double one_in() const { return static_cast<double>(passed) / static_cast<double>(seen); }
};

/// No value if the capture is no sample. A sample has holes that lie evenly between all packets, that no receiver asked
/// for and no sender filled. Real losses are asked for, or end the queue pair.
std::optional<Sample> sample_of(const Snapshot& snapshot);

/// Removes the answers that a sample cannot give (loss, latency, depth, what limits a flow) and says so for each
/// question that has no answer left.
void withhold_for_sample(const Sample& sample, std::vector<Answer>& answers);

}  // namespace metrics::answers
