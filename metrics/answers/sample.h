#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "metrics/answers/answer.h"

namespace metrics::inline answers {

/// A capture that holds a part of the packets, chosen evenly: switches mirror one in n.
struct Sample {
    std::uint64_t seen = 0;    ///< packets
    std::uint64_t passed = 0;  ///< at least, by their positions

    double one_in() const { return static_cast<double>(passed) / static_cast<double>(seen); }
};

/// Nothing if the capture is no sample: holes that lie evenly between all packets, which no receiver asked for and no
/// sender filled, are the sample's. What is lost is asked for, or ends the queue pair.
std::optional<Sample> sample_of(const Snapshot& snapshot);

/// Removes the answers that a sample cannot give (loss, latency, depth, what limits a flow) and says so for each
/// question that has no answer left.
void withhold_for_sample(const Sample& sample, std::vector<Answer>& answers);

}  // namespace metrics::answers
