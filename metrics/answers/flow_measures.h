#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "metrics/figures/histogram.h"
#include "metrics/figures/snapshot.h"

namespace metrics::inline answers {

/// Busy time: the wall time without the time that was not observed and without the time in which the application was
/// idle. Waiting for the peer in a dialogue counts as busy.
std::uint64_t active_ns(const FlowSnapshot& flow);
std::uint64_t time_in(const FlowSnapshot& flow, std::initializer_list<State> states);
/// Retransmitting, and waiting for it: after NAKs, RNR NAKs and time-outs.
std::uint64_t repair_ns(const FlowSnapshot& flow);
/// The longest repair of a loss, of repairs that took a sender `lost_ns` (the states recover_nak and recover_timeout).
/// Absent if repairs that were not measured took longer together, so that one of them may have been the longest.
std::optional<std::uint64_t> longest_repair(const Histogram& measured, std::uint64_t lost_ns);
double ratio(double part, double whole);  ///< 0 if the whole is 0; at most 1
bool carries_data(const FlowSnapshot& flow);
bool requests_responses(const FlowSnapshot& flow);       ///< READs or atomics are among its messages
bool only_requests_responses(const FlowSnapshot& flow);  ///< READ and atomics and nothing else
/// An unpaired flow shows the NAKs, RNR NAKs and CNPs that travelled on it: they are about the other direction.
bool shows_its_own(const FlowSnapshot& flow);
/// The end that answers the requests that a flow's NAKs are about: its destination; of one that shows_its_own(), its
/// source.
const Endpoint& responder_of(const FlowSnapshot& flow);
const Endpoint& requester_of(const FlowSnapshot& flow);
std::uint64_t event_count(const FlowSnapshot& flow, EventKind kind);
std::uint64_t repeated_packets(const FlowSnapshot& flow);  ///< without tail_probes()
/// Segments that a TCP sender repeated only to get an answer, because the receive window was closed. Events show them
/// as runs of 0 packets.
std::uint64_t tail_probes(const FlowSnapshot& flow);

}  // namespace metrics::answers
