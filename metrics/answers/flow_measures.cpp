#include "metrics/answers/flow_measures.h"

#include <algorithm>

namespace metrics::inline answers {

bool shows_its_own(const FlowSnapshot& flow) { return !flow.reverse && flow.transport != wire::Transport::iwarp; }

const Endpoint& responder_of(const FlowSnapshot& flow) { return shows_its_own(flow) ? flow.source : flow.destination; }

const Endpoint& requester_of(const FlowSnapshot& flow) { return shows_its_own(flow) ? flow.destination : flow.source; }

std::uint64_t time_in(const FlowSnapshot& flow, std::initializer_list<State> states) {
    std::uint64_t sum = 0;
    for (const State state : states) sum += flow.state_ns[index_of(state)];
    return sum;
}

std::uint64_t active_ns(const FlowSnapshot& flow) {
    std::uint64_t sum = 0;
    for (std::size_t state = 0; state < state_count; ++state) {
        if (state == index_of(State::application_idle) || state == index_of(State::unobserved)) continue;
        sum += flow.state_ns[state];
    }
    return sum;
}

std::uint64_t repair_ns(const FlowSnapshot& flow) {
    return time_in(flow, {State::transmit_again, State::rnr_wait, State::recover_nak, State::recover_timeout});
}

std::optional<std::uint64_t> longest_repair(const Histogram& measured, std::uint64_t lost_ns) {
    const std::optional<std::uint64_t> longest = measured.max();
    if (longest && lost_ns > measured.sum() && lost_ns - measured.sum() > *longest) return std::nullopt;
    return longest;
}

double ratio(double part, double whole) { return whole > 0 ? std::min(part / whole, 1.0) : 0.0; }

bool carries_data(const FlowSnapshot& flow) { return flow.messages_total() > 0 || flow.payload_bytes > 0; }

bool requests_responses(const FlowSnapshot& flow) {
    for (std::size_t i = 0; i < operation_count; ++i)
        if (flow.operations[i].count != 0 && wants_response(static_cast<Operation>(i))) return true;
    return false;
}

bool only_requests_responses(const FlowSnapshot& flow) {
    bool any = false;
    for (std::size_t i = 0; i < operation_count; ++i) {
        if (flow.operations[i].count == 0) continue;
        if (!wants_response(static_cast<Operation>(i))) return false;
        any = true;
    }
    return any;
}

std::uint64_t event_count(const FlowSnapshot& flow, EventKind kind) {
    const EventSummary* summary = flow.find_event_summary(kind);
    return summary == nullptr ? 0 : summary->count;
}

std::uint64_t repeated_packets(const FlowSnapshot& flow) {
    const std::uint64_t packets = flow.retransmitted_packets.value_or(0);
    if (!flow.tcp) return packets;
    const std::uint64_t again = std::max(packets, flow.tcp->retransmitted_segments);
    return again - std::min(again, tail_probes(flow));
}

std::uint64_t tail_probes(const FlowSnapshot& flow) {
    const EventSummary* summary = flow.tcp ? flow.find_event_summary(EventKind::retransmission) : nullptr;
    return summary == nullptr ? 0 : summary->count - std::min(summary->count, summary->value_sum);
}

}  // namespace metrics::answers
