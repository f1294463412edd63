#pragma once
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "metrics/measure/connection/connections.h"
#include "metrics/measure/flow/flow_store.h"

namespace metrics::inline measure::inline engine {

/// The reverse flow of each flow, as the connection's set-up or datagrams name it. Bounded.
class PartnerTable {
public:
    explicit PartnerTable(FlowStore& store) : store_(store) {}

    /// Set-up has named two queue pairs. Earlier packets with their keys belong to other flows.
    void connect(const Connections::QueuePairs& pairs);
    /// Whether set-up has named the flow's reverse flow.
    bool contains(const FlowKey& key) const { return partners_.contains(key); }
    /// Copies what set-up said into a new flow, and pairs the flow with its reverse flow if that exists.
    void introduce(FlowIndex index);
    std::size_t octets() const { return partners_.size() * (sizeof(FlowKey) + sizeof(Partner) + 32); }

private:
    struct Partner {
        FlowKey key;
        std::uint32_t serial = 0;
        std::uint16_t responses_limit = 0;
        std::uint16_t path_mtu = 0;
        std::uint8_t ack_timeout = 0;  ///< as Flow::ack_timeout
    };
    void remember(const FlowKey& key, const FlowKey& other, std::uint32_t serial, const ConnectionFigures& figures);

    FlowStore& store_;
    std::unordered_map<FlowKey, Partner, FlowKeyHash> partners_;
};

}  // namespace metrics::measure::engine
