#pragma once
#include <vector>

#include "metrics/answers/answer.h"
#include "metrics/answers/subject.h"

namespace metrics::inline answers {

/// Recovery that does not follow the specification (go-back-N: IBTA vol. 1, 9.7.5 and 9.7.8), of one group of flows.
void find_violations(const Subject& subject, const Group& group, std::vector<Answer>& out);

}  // namespace metrics::answers
