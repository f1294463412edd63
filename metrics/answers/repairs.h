#pragma once
#include <vector>

#include "metrics/answers/subject.h"

namespace metrics::inline answers {

/// A part of the first question: loss, reordering, RNR, corruption.
void find_repairs(const Subject& subject, std::vector<Answer>& out);

/// Whether packets of the flow were lost between sender and receiver, before the capture point or after it.
bool lost_on_the_way(const Subject& subject, const FlowSnapshot& flow);
/// Whether the flow carried NAKs about lost packets of the other direction, whose flow was not found.
bool shows_loss(const FlowSnapshot& flow);

}  // namespace metrics::answers
