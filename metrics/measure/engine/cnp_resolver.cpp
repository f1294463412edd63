#include "metrics/measure/engine/cnp_resolver.h"

#include <utility>

namespace metrics::inline measure::inline engine {

namespace {

/// What a CNP to the flow's sender has in common with it: both addresses, and of datagrams the QPN.
FlowKey sender_key(const Flow& flow) { return flow.key.reversed(flow.key.service == Service::ud ? flow.source_qp : 0); }

/// Whether a CNP to the flow's sender may be the first packet that comes back: these services are not acknowledged.
bool is_unacknowledged(const Flow& flow) {
    if (flow.key.service == Service::uc) return flow.source_qp == Flow::no_queue_pair;
    return flow.key.service == Service::ud && flow.source_qp != Flow::no_queue_pair;
}

/// Whether the flow has had no packets except CNPs: its service is a guess then.
bool has_only_notifications(const FlowStore& store, FlowIndex index) {
    const Flow& flow = store.table[index];
    const FlowTrouble* const trouble = store.trouble_of(flow);
    return trouble != nullptr && flow.reverse == no_flow && flow.counts.packets == trouble->cnps;
}

void set_service(PacketRecord& record, Service service) {
    record.key.service = service;
    record.hash = hash_of(record.key);
}

}  // namespace

void CnpResolver::find_flow(PacketRecord& record) {
    for (const Service service : {Service::uc, Service::xrc, Service::ud, Service::rc}) {
        set_service(record, service);
        record.flow = store_.table.find(record.key, record.hash);
        if (record.flow != no_flow) return;
    }
    const FlowIndex slowed = resolve_service(record);
    record.flow = store_.obtain(record.key, record.hash, record.frame, record.time_ns);
    has_guessed_ = true;
    partners_.introduce(record.flow);
    pair(record.flow, slowed);
}

/// The only flow from the sender that a CNP is for; `no_flow` if there are several.
FlowIndex CnpResolver::flow_from(const Sender& sender, const FlowKey& cnp) const {
    if (sender.several) return no_flow;
    const FlowKey flow = cnp.reversed(sender.destination_qp);
    return store_.table.find(flow, hash_of(flow));
}

/// Gives a CNP to a queue pair to which nothing else was sent the service that the queue pair has, as far as that is
/// known. Returns the flow that the CNP slows down, if that is certain.
FlowIndex CnpResolver::resolve_service(PacketRecord& record) const {
    for (const Service service : {Service::uc, Service::xrc, Service::ud}) {
        set_service(record, service);
        if (partners_.contains(record.key)) return no_flow;  // introduce() knows the other half
    }
    if (const auto found = senders_.find(record.key); found != senders_.end())
        return flow_from(found->second, record.key);
    // UC names no source: if there is one such flow that way, its service is only likely.
    set_service(record, Service::uc);
    FlowKey any = record.key;
    any.selector = 0;
    const auto found = senders_.find(any);
    const FlowIndex only = found == senders_.end() ? no_flow : flow_from(found->second, record.key);
    if (only == no_flow || store_.table[only].reverse != no_flow) set_service(record, Service::rc);
    return no_flow;
}

void CnpResolver::replace_guess(PacketRecord& record) {
    if (!has_only_notifications(store_, record.flow)) return;
    const FlowIndex slowed = resolve_service(record);
    if (record.key.service == Service::rc) return;
    if (const FlowIndex known = store_.table.find(record.key, record.hash); known != no_flow) {
        record.flow = known;
        return;
    }
    store_.table.rename(record.flow, record.key, record.hash);
    partners_.introduce(record.flow);
    pair(record.flow, slowed);
}

FlowIndex CnpResolver::rename_guessed(const FlowKey& key, std::uint32_t hash) {
    if (!has_guessed_) return no_flow;
    FlowKey guessed = key;
    for (const Service service : {Service::rc, Service::uc, Service::xrc, Service::ud}) {
        guessed.service = service;
        const FlowIndex index = service == key.service ? no_flow : store_.table.find(guessed, hash_of(guessed));
        if (index == no_flow || !has_only_notifications(store_, index)) continue;
        store_.table.rename(index, key, hash);
        return index;
    }
    return no_flow;
}

/// `slowed` is the flow that the CNPs are about, if that is certain.
void CnpResolver::pair(FlowIndex notifications, FlowIndex slowed) {
    // Making room may have taken the other's place.
    if (slowed == no_flow || slowed == notifications || !store_.table[slowed].live) return;
    if (store_.table[notifications].reverse == no_flow && store_.table[slowed].reverse == no_flow)
        store_.pair(notifications, slowed, PairingMethod::source_qp, 1.0);
}

void CnpResolver::on_sender(FlowIndex index) {
    const Flow& flow = store_.table[index];
    note_sender(flow);
    if (flow.key.service != Service::ud || flow.source_qp == Flow::no_queue_pair) return;
    const FlowKey key = sender_key(flow);
    const auto sender = senders_.find(key);
    if (sender == senders_.end() || sender->second.several) return;
    const std::uint32_t hash = hash_of(key);
    if (store_.table.find(key, hash) != no_flow) return;
    if (const FlowIndex renamed = rename_guessed(key, hash); renamed != no_flow) pair(renamed, index);
}

void CnpResolver::note_sender(const Flow& flow) {
    if (!is_unacknowledged(flow)) return;
    const FlowKey key = sender_key(flow);
    if (senders_.size() >= store_.options.max_flows && !senders_.contains(key)) senders_.erase(senders_.begin());
    const auto [at, fresh] = senders_.try_emplace(key, Sender{flow.key.selector});
    if (fresh || at->second.destination_qp == flow.key.selector) return;
    FlowKey other = flow.key;
    other.selector = at->second.destination_qp;
    if (store_.table.find(other, hash_of(other)) != no_flow)
        at->second.several = true;
    else
        at->second = {flow.key.selector};
}

void CnpResolver::forget(const Flow& flow) {
    if (!is_unacknowledged(flow)) return;
    if (flow.finished && store_.table.find(flow.key, hash_of(flow.key)) != no_flow) return;  // a successor uses the key
    const auto found = senders_.find(sender_key(flow));
    if (found != senders_.end() && !found->second.several && found->second.destination_qp == flow.key.selector)
        senders_.erase(found);
}

}  // namespace metrics::measure::engine
