#pragma once
#include <optional>
#include <string>
#include <vector>

#include "metrics/answers/subject.h"

namespace metrics::inline answers {

/// A part of the first question: queue pairs whose sender gave up, and requesters that ask for more than was agreed on.
void find_ends(const Subject& subject, std::vector<Answer>& out);

/// How the flow's sender gave up; without value if nothing shows that it did.
std::optional<Verdict> end_verdict(const Subject& subject, const FlowSnapshot& flow);

/// Whether every repeat was answered as well: then the sender's timer is shorter than the round trip, and nothing was
/// lost.
bool repeats_too_early(const FlowSnapshot& flow);
/// The round trip from the capture point to the receiver and back. For a flow that repeats_too_early(): the time from
/// the first sending to the first answer.
std::optional<std::uint64_t> least_round_trip(const FlowSnapshot& flow);

/// The IPv4 address that stands in a GID or in an IPv6 address, or the IPv6 address that a GID is. IBTA annex A17; RFC
/// 4291, 2.5.5.2.
Address plain_address(const Address& address);

/// "the RDMA WRITE of 8,192 bytes of frame 7"; parts that are not known are left out.
std::string request_text(const RequestFigures& request);
/// What can be wrong with a request that `responder` refuses as invalid.
std::string invalid_request_advice(const RequestFigures& request, const std::string& responder);

}  // namespace metrics::answers
