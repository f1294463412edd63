#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/cm.h"

namespace wire {

/// Reply to Request for Communication: the accepting side's queue pair and limits. IBTA vol. 1, 12.6.8.
struct CmRep {
    std::uint32_t local_communication_id = 0;
    std::uint32_t remote_communication_id = 0;
    std::uint32_t local_qkey = 0;
    std::uint32_t local_qpn = 0;
    std::uint32_t local_eecn = 0;
    std::uint32_t starting_psn = 0;
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t target_ack_delay = 0;
    std::uint8_t failover_accepted = 0;
    std::uint8_t end_to_end_flow_control = 0;
    std::uint8_t rnr_retry_count = 0;
    std::uint8_t srq = 0;
    std::uint8_t reserved4 = 0;
    std::uint64_t local_ca_guid = 0;
    std::array<std::byte, 196> private_data{};
};

template <>
inline constexpr auto layout_of<CmRep> = layout(
    cm_heading, "CM ConnectReply",
    bits<&CmRep::local_communication_id, 32>("infiniband.cm.rep", "Local Communication ID").hex(),
    bits<&CmRep::remote_communication_id, 32>("infiniband.cm.rep.remotecommid", "Remote Communication ID").hex(),
    bits<&CmRep::local_qkey, 32>("infiniband.cm.rep.localqkey", "Local Q_Key").hex(),
    bits<&CmRep::local_qpn, 24>("infiniband.cm.rep.localqpn", "Local QPN").hex(),
    reserved<8>(),
    bits<&CmRep::local_eecn, 24>("infiniband.cm.rep.localeecn", "Local EE Context Number").hex(),
    reserved<8>(),
    bits<&CmRep::starting_psn, 24>("infiniband.cm.rep.startpsn", "Starting PSN").hex(),
    reserved<8>(),
    bits<&CmRep::responder_resources, 8>("infiniband.cm.rep.respres", "Responder Resources").hex(),
    bits<&CmRep::initiator_depth, 8>("infiniband.cm.rep.initdepth", "Initiator Depth").hex(),
    bits<&CmRep::target_ack_delay, 5>("infiniband.cm.rep.tgtackdelay", "Target ACK Delay").hex(),
    bits<&CmRep::failover_accepted, 2>("infiniband.cm.rep.failoveracc", "Failover Accepted").hex(),
    bits<&CmRep::end_to_end_flow_control, 1>("infiniband.cm.rep.e2eflowctrl", "End-To-End Flow Control").hex(),
    bits<&CmRep::rnr_retry_count, 3>("infiniband.cm.rep.rnrretrcount", "RNR Retry Count").hex(),
    bits<&CmRep::srq, 1>("infiniband.cm.rep.srq", "SRQ").hex(),
    bits<&CmRep::reserved4, 4>("infiniband.cm.rep.reserved", "Reserved").hex(),
    bits<&CmRep::local_ca_guid, 64>("infiniband.cm.rep.localcaguid", "Local CA GUID").hex(),
    octets<&CmRep::private_data>("infiniband.cm.rep.private", "PrivateData"));
static_assert(size_of<CmRep> == cm_message_octets);

inline constexpr auto cm_rep_fields = fields_with<CmRep>(std::array{reserved_octets(15, 1), reserved_octets(19, 1), reserved_octets(23, 1)});

}  // namespace wire
