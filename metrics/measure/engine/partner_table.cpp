#include "metrics/measure/engine/partner_table.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace metrics::inline measure::inline engine {

namespace {

constexpr std::size_t max_partners = 1u << 17;

}  // namespace

void PartnerTable::connect(const Connections::QueuePairs& pairs) {
    const auto serial = static_cast<std::uint32_t>(pairs.serial);
    if (const auto known = partners_.find(pairs.to_server); known != partners_.end() && known->second.serial == serial)
        return;
    remember(pairs.to_server, pairs.to_client, serial, pairs.client);
    remember(pairs.to_client, pairs.to_server, serial, pairs.server);
}

void PartnerTable::remember(const FlowKey& key, const FlowKey& other, std::uint32_t serial,
                            const ConnectionFigures& figures) {
    const FlowIndex old = store_.table.find(key, hash_of(key));
    if (old != no_flow && store_.table[old].connection != serial) store_.retire(old);
    if (partners_.size() >= max_partners && !partners_.contains(key)) partners_.erase(partners_.begin());
    Partner& partner = partners_[key];
    partner.key = other;
    partner.serial = serial;
    partner.ack_timeout = static_cast<std::uint8_t>(std::bit_width(figures.ack_timeout_ns.value_or(0) >> 12));
    partner.responses_limit = static_cast<std::uint16_t>(std::min(figures.initiator_depth.value_or(0), 0xffffu));
    partner.path_mtu = static_cast<std::uint16_t>(std::min(figures.path_mtu.value_or(0), 0xffffu));
}

void PartnerTable::introduce(FlowIndex index) {
    Flow& flow = store_.table[index];
    flow.drop_epoch = store_.drop_epoch;
    FlowKey other;
    PairingMethod method = PairingMethod::none;
    if (const auto found = partners_.find(flow.key); found != partners_.end()) {
        const Partner& partner = found->second;
        flow.connection = partner.serial;
        flow.ack_timeout = partner.ack_timeout;
        flow.request.responses_limit = partner.responses_limit;
        flow.request.mtu_payload = partner.path_mtu;
        flow.source_qp = partner.key.selector;
        other = partner.key;
        method = PairingMethod::cm;
    } else if (flow.key.service == Service::ud && flow.source_qp != Flow::no_queue_pair) {
        other = flow.key.reversed(flow.source_qp);
        method = PairingMethod::source_qp;
    }
    if (method == PairingMethod::none) return;
    const FlowIndex reverse = store_.table.find(other, hash_of(other));
    if (reverse == no_flow || reverse == index || store_.table[reverse].reverse != no_flow) return;
    if (method == PairingMethod::source_qp && store_.table[reverse].source_qp != flow.key.selector) return;
    store_.pair(index, reverse, method, 1.0);
}

}  // namespace metrics::measure::engine
