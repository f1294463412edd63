#pragma once
#include <cstdint>
#include <string>

#include "metrics/answers/subject.h"

namespace metrics::inline answers {

/// For the traced sender of a flow, if it is traced: time between messages with work posted and not sent (which is part
/// of nic_stall), and time with nothing posted while the completion of an answered request was not polled.
std::uint64_t held_ns(const FlowSnapshot& flow);
std::uint64_t unpolled_ns(const FlowSnapshot& flow);
std::uint64_t unpolled_ns(const FlowSnapshot& flow, State application);
/// "ib_write_bw (pid 4711) on storage-3", or the host alone if no program was traced.
std::string program_on(const Subject& subject, const FlowSnapshot& flow);
/// Adds evidence from posts and completions: depths, and what messages waited for.
void add_traced(Answer& answer, const FlowSnapshot& flow);

}  // namespace metrics::answers
