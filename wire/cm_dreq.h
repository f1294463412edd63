#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/cm.h"

namespace wire {

/// Request for Communication Release. IBTA vol. 1, 12.6.10.
struct CmDreq {
    std::uint32_t local_communication_id = 0;
    std::uint32_t remote_communication_id = 0;
    std::uint32_t remote_qpn = 0;
    std::array<std::byte, 220> private_data{};
};

/// Wireshark has the queue pair's number among the fields of the REQ.
template <>
inline constexpr auto layout_of<CmDreq> = layout(
    cm_heading, "CM DisconnectRequest",
    bits<&CmDreq::local_communication_id, 32>("infiniband.cm.dreq.localcommid", "Local Communication ID").hex(),
    bits<&CmDreq::remote_communication_id, 32>("infiniband.cm.dreq.remotecommid", "Remote Communication ID").hex(),
    bits<&CmDreq::remote_qpn, 24>("infiniband.cm.req.remoteqpneecn", "Remote QPN/EECN").hex(),
    reserved<8>(),
    octets<&CmDreq::private_data>("infiniband.cm.dreq.private", "PrivateData"));
static_assert(size_of<CmDreq> == cm_message_octets);

inline constexpr auto cm_dreq_fields = fields_with<CmDreq>(std::array{reserved_octets(11, 1)});

/// Reply to Request for Communication Release. IBTA vol. 1, 12.6.11.
struct CmDrep {
    std::uint32_t local_communication_id = 0;
    std::uint32_t remote_communication_id = 0;
    std::array<std::byte, 224> private_data{};
};

template <>
inline constexpr auto layout_of<CmDrep> = layout(
    cm_heading, "CM DisconnectReply",
    bits<&CmDrep::local_communication_id, 32>("infiniband.cm.drsp.localcommid", "Local Communication ID").hex(),
    bits<&CmDrep::remote_communication_id, 32>("infiniband.cm.drsp.remotecommid", "Remote Communication ID").hex(),
    octets<&CmDrep::private_data>("infiniband.cm.drsp.private", "PrivateData"));
static_assert(size_of<CmDrep> == cm_message_octets);

}  // namespace wire
