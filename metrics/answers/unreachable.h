#pragma once
#include <optional>
#include <vector>

#include "metrics/answers/subject.h"

namespace metrics::inline answers {

/// A part of the first question: what ICMP errors say of flows, and of requests for connections.
void find_unreachable(const Subject& subject, std::vector<Answer>& out);

/// What ICMP errors tell of a flow that suffers; without value where there are none, or where the flow went on.
std::optional<Verdict> unreachable_verdict(const Group& group, const FlowSnapshot& flow);
/// The same of a request for a connection that nobody answered otherwise.
std::optional<Verdict> unreachable_verdict(const ConnectionAttempt& attempt);

}  // namespace metrics::answers
