#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/cm.h"

namespace wire {

/// Message Receipt Acknowledgment: the answer will take longer. IBTA vol. 1, 12.6.6.
struct CmMra {
    std::uint32_t local_communication_id = 0;
    std::uint32_t remote_communication_id = 0;
    std::uint8_t message = 0;
    std::uint8_t service_timeout = 0;  ///< 4.096 us times two to this power
    std::array<std::byte, 222> private_data{};
};

template <>
inline constexpr auto layout_of<CmMra> = layout(
    cm_heading, "CM MsgRcptAck",
    bits<&CmMra::local_communication_id, 32>("infiniband.cm.mra.localcommid", "Local Communication ID").hex(),
    bits<&CmMra::remote_communication_id, 32>("infiniband.cm.mra.remotecommid", "Remote Communication ID").hex(),
    bits<&CmMra::message, 2>("infiniband.cm.mra.msgmraed", "Message MRAed").hex().named(cm_answered_names),
    reserved<6>(),
    bits<&CmMra::service_timeout, 5>("infiniband.cm.mra.servicetimeout", "Service Timeout").hex(),
    reserved<3>(),
    octets<&CmMra::private_data>("infiniband.cm.mra.private", "PrivateData"));
static_assert(size_of<CmMra> == cm_message_octets);

}  // namespace wire
