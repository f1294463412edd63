#pragma once
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "metrics/measure/flow/flow_store.h"

namespace metrics::inline measure::inline engine {

/// The RoCEv2 flows by their two hosts, for errors that quote no queue pair. Made of all flows when first asked for:
/// most captures need none of it.
class HostPairs {
public:
    explicit HostPairs(const FlowStore& store) : store_(store) {}

    /// A flow was made.
    void on_flow(const FlowKey& key) {
        if (made_) [[unlikely]]
            add(key);
    }
    /// The flow with the latest packet among those from one host to the other, if they are not too many; no_flow if
    /// absent.
    FlowIndex latest(const Address& source, const Address& destination);
    void clear();
    std::size_t octets() const;

private:
    struct Pair {
        Address source;
        Address destination;
        bool operator==(const Pair&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Pair& pair) const;
    };

    void make();
    void add(const FlowKey& key);

    const FlowStore& store_;
    std::unordered_map<Pair, std::vector<FlowKey>, Hash> flows_;
    std::size_t count_ = 0;
    bool made_ = false;
};

}  // namespace metrics::measure::engine
