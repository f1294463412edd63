#include "metrics/answers/bandwidth_measures.h"

#include <algorithm>

#include "metrics/answers/flow_measures.h"
#include "metrics/answers/thresholds.h"
#include "metrics/answers/trace_evidence.h"

namespace metrics::inline answers {

double share_of(const FlowSnapshot& flow, std::initializer_list<State> states, std::uint64_t whole) {
    return ratio(static_cast<double>(time_in(flow, states)), static_cast<double>(whole));
}

double mean_message(const FlowSnapshot& flow) {
    const std::uint64_t messages = flow.messages_total();
    return messages == 0 ? 0 : static_cast<double>(flow.message_bytes_total()) / static_cast<double>(messages);
}

double sending_share(const Subject& subject, const FlowSnapshot& flow) {
    double share = share_of(flow, {State::transmit_new, State::transmit_again}, flow.wall_ns());
    if (const FlowSnapshot* other = subject.reverse(flow); other != nullptr && only_requests_responses(flow))
        share = std::max(share, share_of(*other, {State::transmit_new, State::transmit_again}, other->wall_ns()));
    return share;
}

bool too_little(const FlowSnapshot& flow) { return flow.messages_total() < few_messages && flow.packets < few_packets; }

bool only_responds(const FlowSnapshot& flow) {
    const bool may_respond = flow.service == Service::rc || flow.service == Service::xrc;
    return may_respond && flow.payload_bytes > 0 && flow.messages_total() == 0 && !only_begun(flow);
}

bool rests_on_depth(State state) {
    return group_of(state) == StateGroup::window || group_of(state) == StateGroup::application;
}

std::uint64_t between_messages_ns(const FlowSnapshot& flow) {
    std::uint64_t sum = 0;
    for (std::size_t state = 0; state < state_count; ++state)
        if (rests_on_depth(static_cast<State>(state))) sum += flow.state_ns[state];
    return sum - unpolled_ns(flow);
}

std::optional<double> rate_of(const FlowSnapshot& flow) {
    const auto goodput = flow.goodput_bytes_per_sec();
    if (!goodput || flow.messages_total() > 0) return goodput;
    return static_cast<double>(flow.payload_bytes) * 1e9 / static_cast<double>(flow.wall_ns());
}

std::optional<double> window_bound(const FlowSnapshot& flow) {
    if (!flow.round_trip_min_ns || *flow.round_trip_min_ns == 0 || flow.bytes_max == 0) return std::nullopt;
    return static_cast<double>(flow.bytes_max) * 1e9 / static_cast<double>(*flow.round_trip_min_ns);
}

}  // namespace metrics::answers
