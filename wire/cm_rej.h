#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/cm.h"

namespace wire {

/// Reject: there will be no connection. IBTA vol. 1, 12.6.7.
struct CmRej {
    std::uint32_t local_communication_id = 0;
    std::uint32_t remote_communication_id = 0;
    std::uint8_t message = 0;
    std::uint8_t reserved6 = 0;
    std::uint8_t information_length = 0;
    std::uint8_t reserved1 = 0;
    std::uint16_t reason = 0;
    std::array<std::byte, 72> information{};
    std::array<std::byte, 148> private_data{};
};

/// IBTA vol. 1, 12.6.7.2.
inline constexpr std::array<ValueName, 34> cm_reject_reason_names{{
    {1, "No QP available"},
    {2, "No EEC available"},
    {3, "No resources available"},
    {4, "Timeout"},
    {5, "Unsupported request"},
    {6, "Invalid Communication ID"},
    {7, "Invalid Communication Instance"},
    {8, "Invalid Service ID"},
    {9, "Invalid Transport Service Type"},
    {10, "Stale connection"},
    {11, "RDC does not exist"},
    {12, "Primary Remote Port GID rejected"},
    {13, "Primary Remote Port LID rejected"},
    {14, "Invalid Primary SL"},
    {15, "Invalid Primary Traffic Class"},
    {16, "Invalid Primary Hop Limit"},
    {17, "Invalid Primary Packet Rate"},
    {18, "Alternate Remote Port GID rejected"},
    {19, "Alternate Remote Port LID rejected"},
    {20, "Invalid Alternate SL"},
    {21, "Invalid Alternate Traffic Class"},
    {22, "Invalid Alternate Hop Limit"},
    {23, "Invalid Alternate Packet Rate"},
    {24, "Port and CM Redirection"},
    {25, "Port Redirection"},
    {26, "Invalid Path MTU"},
    {27, "Insufficient Responder Resources"},
    {28, "Consumer Reject"},
    {29, "RNR Retry Count Reject"},
    {30, "Duplicate Local Communication ID"},
    {31, "Invalid Class Version"},
    {32, "Invalid Primary Flow Label"},
    {33, "Invalid Alternate Flow Label"},
    {35, "Vendor Option Not Supported"},
}};

template <>
inline constexpr auto layout_of<CmRej> = layout(
    cm_heading, "CM ConnectReject",
    bits<&CmRej::local_communication_id, 32>("infiniband.cm.rej.localcommid", "Local Communication ID").hex(),
    bits<&CmRej::remote_communication_id, 32>("infiniband.cm.rej.remotecommid", "Remote Communication ID").hex(),
    bits<&CmRej::message, 2>("infiniband.cm.rej.msgrej", "Message REJected").hex().named(cm_answered_names),
    bits<&CmRej::reserved6, 6>("infiniband.cm.rej.reserved0", "Reserved").hex(),
    bits<&CmRej::information_length, 7>("infiniband.cm.rej.rejinfolen", "Reject Info Length").hex(),
    bits<&CmRej::reserved1, 1>("infiniband.cm.rej.reserved1", "Reserved").hex(),
    bits<&CmRej::reason, 16>("infiniband.cm.rej.reason", "Reason").hex().named(cm_reject_reason_names),
    octets<&CmRej::information>("infiniband.cm.rej.ari", "Additional Reject Information (ARI)"),
    octets<&CmRej::private_data>("infiniband.cm.rej.private", "PrivateData"));
static_assert(size_of<CmRej> == cm_message_octets);

}  // namespace wire
