#pragma once
#include "metrics/answers/subject.h"
#include "metrics/answers/verdict.h"

namespace metrics::inline answers {

/// What binds a flow in which nothing is wrong: whatever takes most of its time names the verdict.
Verdict bandwidth_verdict(const Subject& subject, const FlowSnapshot& flow);

}  // namespace metrics::answers
