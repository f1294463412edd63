#include "metrics/measure/flow/vantage.h"

namespace metrics::inline measure::inline flow {

namespace {

constexpr std::uint32_t unknown_ns = 0xffffffff;
/// Both halves hold an adapter, only one of them the wire where the tap is at an end: it is the longer by far.
constexpr std::uint64_t clearly = 3;

/// When a sender mostly had nothing to send, its start times show nothing. For iWARP the set-up has shown it.
std::uint32_t reaction_of(const Flow& flow) {
    const Attribution& attribution = flow.attribution;
    const bool waits = attribution.time_in(State::ack_window) >=
                       attribution.time_in(State::application_in_flight) + attribution.time_in(State::application_idle);
    return waits || flow.key.transport == wire::Transport::iwarp ? flow.request.reaction_min_ns : unknown_ns;
}

}  // namespace

std::uint8_t hops_taken(std::uint8_t hop_limit) {
    for (const unsigned initial : {32u, 64u, 128u, 255u})
        if (hop_limit <= initial) return static_cast<std::uint8_t>(initial - hop_limit);
    return 0;
}

Vantage vantage_of(const Flow& flow, const Flow* reverse) {
    if (flow.inbound != flow.outbound) return flow.outbound ? Vantage::sender : Vantage::receiver;
    if (reverse == nullptr) return Vantage::unknown;

    constexpr std::uint8_t no_hops = 0xff;
    if (flow.hops != no_hops && reverse->hops != no_hops && (flow.hops != 0 || reverse->hops != 0)) {
        if (flow.hops == 0) return Vantage::sender;
        if (reverse->hops == 0) return Vantage::receiver;
        return Vantage::mid_path;
    }

    // Acknowledgements come from adapters on both sides; where one side sends nothing that is acknowledged, its
    // reaction to an acknowledgement stands in.
    const std::uint32_t to_receiver =
        flow.request.round_trip_min_ns != unknown_ns ? flow.request.round_trip_min_ns : reaction_of(*reverse);
    const std::uint32_t to_sender =
        reverse->request.round_trip_min_ns != unknown_ns ? reverse->request.round_trip_min_ns : reaction_of(flow);
    if (to_receiver == unknown_ns || to_sender == unknown_ns) return Vantage::unknown;
    if (to_receiver >= clearly * to_sender) return Vantage::sender;
    if (to_sender >= clearly * to_receiver) return Vantage::receiver;
    return Vantage::mid_path;
}

}  // namespace metrics::measure::flow
