#pragma once
#include <optional>
#include <vector>

#include "metrics/answers/subject.h"

namespace metrics::inline answers {

/// A part of the first question: what ICMP errors say of flows, and of requests for connections.
void find_unreachable(const Subject& subject, std::vector<Answer>& out);

/// What ICMP errors say about a flow with a problem. No value if there are no errors, or if the flow continued.
std::optional<Verdict> unreachable_verdict(const Group& group, const FlowSnapshot& flow);
/// The same of a request for a connection that got no other answer.
std::optional<Verdict> unreachable_verdict(const ConnectionAttempt& attempt);

}  // namespace metrics::answers
