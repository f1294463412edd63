#pragma once
#include <string>

#include "metrics/answers/subject.h"
#include "metrics/answers/verdict.h"

namespace metrics::inline answers {

/// What is said of a flow in which nothing is wrong, and what can be done.
struct BandwidthWords {
    std::string summary;
    std::string advice;
};

BandwidthWords bandwidth_words(const Subject& subject, Verdict verdict, const FlowSnapshot& flow);

}  // namespace metrics::answers
