#include "metrics/measure/engine/host_pairs.h"

#include <algorithm>
#include <span>

#include "base/hash.h"

namespace metrics::inline measure::inline engine {

std::size_t HostPairs::Hash::operator()(const Pair& pair) const {
    return base::mix(mix(mix(0, pair.source), pair.destination), 0);
}

void HostPairs::clear() {
    flows_ = {};
    count_ = 0;
    made_ = false;
}

void HostPairs::add(const FlowKey& key) {
    if (key.transport != wire::Transport::roce2) return;
    // Flows that are gone are still listed: with too many of them all is made again.
    if (++count_ > 2 * store_.options.max_flows) return clear();
    flows_[{key.source, key.destination}].push_back(key);
}

void HostPairs::make() {
    made_ = true;
    for (FlowIndex index = 0; index < store_.table.extent() && made_; ++index)
        if (const Flow& flow = store_.table[index]; flow.live) add(flow.key);
}

FlowIndex HostPairs::latest(const Address& source, const Address& destination) {
    if (!made_) make();
    const auto found = flows_.find({source, destination});
    if (found == flows_.end()) return no_flow;
    constexpr std::size_t most_looked_at = 256;
    const std::vector<FlowKey>& keys = found->second;
    FlowIndex latest = no_flow;
    for (const FlowKey& key : std::span(keys).last(std::min(keys.size(), most_looked_at))) {
        const FlowIndex index = store_.table.find(key, hash_of(key));
        if (index == no_flow) continue;
        if (latest == no_flow || store_.table[index].counts.last_ns > store_.table[latest].counts.last_ns)
            latest = index;
    }
    return latest;
}

std::size_t HostPairs::octets() const {
    constexpr std::size_t node = 2 * sizeof(void*);
    return flows_.size() * (sizeof(Pair) + sizeof(std::vector<FlowKey>) + node) +
           flows_.bucket_count() * sizeof(void*) + count_ * sizeof(FlowKey);
}

}  // namespace metrics::measure::engine
