#pragma once
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "metrics/measure/engine/partner_table.h"
#include "metrics/measure/flow/flow_store.h"
#include "metrics/measure/packet/packet_record.h"
#include "wire/bth_opcode.h"

namespace metrics::inline measure::inline engine {

/// Finds the flow of a congestion notification packet (CNP). A CNP names a queue pair and no service, and none of UC
/// and UD is acknowledged: the CNP may be the first packet to its queue pair. Until more is known, its flow has a
/// guessed service.
class CnpResolver {
public:
    CnpResolver(FlowStore& store, PartnerTable& partners) : store_(store), partners_(partners) {}

    /// Sets the flow of a CNP, and makes it if it is new. Key and hash of the record become those of the flow.
    void find_flow(PacketRecord& record);
    /// If the packet is a CNP of a known flow whose service may be a guess: now that more has passed, the service may
    /// show.
    void find_flow_again(PacketRecord& record) {
        if (has_guessed_ && record.key.service == Service::rc &&
            wire::bth_opcode(record.opcode).role == wire::BthRole::notification) [[unlikely]]
            replace_guess(record);
    }
    /// If CNPs alone have made a flow to the queue pair of `key`, of another service, it is the flow of `key` from now
    /// on: a QPN has one service. Else `no_flow`.
    FlowIndex rename_guessed(const FlowKey& key, std::uint32_t hash);
    /// The sender of the flow has become known: CNPs to that sender may have come before.
    void on_sender(FlowIndex index);
    /// The flow is about to be evicted.
    void forget(const Flow& flow);
    std::size_t octets() const { return senders_.size() * (sizeof(FlowKey) + sizeof(Sender) + 32); }

private:
    struct Sender {
        std::uint32_t destination_qp = 0;  ///< of the flow
        bool several = false;              ///< several queue pairs are possible
    };

    FlowIndex resolve_service(PacketRecord& record) const;
    FlowIndex flow_from(const Sender& sender, const FlowKey& cnp) const;
    void replace_guess(PacketRecord& record);
    void note_sender(const Flow& flow);
    void pair(FlowIndex notifications, FlowIndex slowed);

    FlowStore& store_;
    PartnerTable& partners_;
    /// By what a CNP to its sender has in common with it: the queue pairs that datagrams name as their source, and the
    /// senders of UC, which name nothing.
    std::unordered_map<FlowKey, Sender, FlowKeyHash> senders_;
    bool has_guessed_ = false;  ///< CNPs have made flows whose service may be unknown
};

}  // namespace metrics::measure::engine
