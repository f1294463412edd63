#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "metrics/answers/subject.h"

/// Figures that both the verdict on bandwidth and its words rest on.
namespace metrics::inline answers {

/// Messages outstanding on average, below which the application is idle whatever its gaps were named.
inline constexpr double least_in_flight = 0.01;

/// The share of `whole` (ns) that a flow spent in these states.
double share_of(const FlowSnapshot& flow, std::initializer_list<State> states, std::uint64_t whole);
double mean_message(const FlowSnapshot& flow);  ///< bytes; 0 without messages
/// The share of the wall time in which the direction that carries the payload was sending. READ data run the other way.
double sending_share(const Subject& subject, const FlowSnapshot& flow);
bool too_little(const FlowSnapshot& flow);  ///< to be judged
/// READ responses and nothing else. Their sender waits for the requester: what names an application is that one's.
bool only_responds(const FlowSnapshot& flow);
/// States whose difference is what was outstanding.
bool rests_on_depth(State state);
/// Time in those states, without the time that completions explain.
std::uint64_t between_messages_ns(const FlowSnapshot& flow);
/// Bytes a second: of the messages that ended; if none did, of the payload that passed.
std::optional<double> rate_of(const FlowSnapshot& flow);
/// Bytes a second that a full window allows: bytes that may be outstanding, divided by the round trip.
std::optional<double> window_bound(const FlowSnapshot& flow);

}  // namespace metrics::answers
