#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "metrics/measure/flow/flow.h"

namespace metrics::inline measure::inline flow {

/// Finds the opposite direction of an unpaired RC or XRC flow by packet sequence numbers: an acknowledgement or READ
/// response carries a PSN of the requests that it answers, PSNs start at random places of 2^24, so the one unpaired
/// flow of the opposite direction that has just sent that PSN is very likely the other half. If there are two
/// candidates, the next answer decides. Bounded: remembers the most recent requests only.
///
/// A candidate loses where an answer names a PSN that it cannot have sent; a PSN within its window that the capture
/// does not hold counts neither way. What a finding is worth follows from how much of the PSN space the unpaired flows
/// between the two hosts cover (and from how often their windows were seen to overlap): with few flows one answer is
/// worth 0.9, two are worth more than 0.99; with thousands it takes three or four.
class PsnPairing {
public:
    struct Finding {
        FlowIndex requester = no_flow;  ///< the flow whose requests the answers answer; no_flow: not yet known
        double confidence = 0;          ///< 0 to 1; below 0.99 wait for more answers before others rely on it
    };

    /// `max_requests`: packets remembered, 16 bytes each. A packet is no longer a candidate after four seconds, or once
    /// its flow has sent more than 1024 later sequence numbers (or 16 of its longest READs, if that is more).
    explicit PsnPairing(std::size_t max_requests);
    ~PsnPairing();
    PsnPairing(const PsnPairing&) = delete;
    PsnPairing& operator=(const PsnPairing&) = delete;

    /// A request packet of a flow that is not paired yet: [psn, psn + psns), psns > 1 for a READ request.
    void request(const FlowKey& key, FlowIndex flow, std::uint32_t psn, std::uint32_t psns, std::int64_t now_ns);
    /// An acknowledgement, NAK, READ response or atomic acknowledgement travelled on `flow`, which is not paired yet.
    Finding answer(const FlowKey& key, FlowIndex flow, std::uint32_t psn, std::int64_t now_ns);
    /// The flow was paired, ended, or was evicted: it is no candidate any more, and its index may be used again.
    void forget(const FlowKey& key, FlowIndex flow);
    std::size_t octets() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace metrics::measure::flow
