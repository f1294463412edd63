#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/cm.h"

namespace wire {

/// Load Alternate Path. IBTA vol. 1, 12.8.1.
struct CmLap {
    std::uint32_t local_communication_id = 0;
    std::uint32_t remote_communication_id = 0;
    std::uint32_t remote_qpn = 0;
    std::uint8_t remote_response_timeout = 0;
    std::uint16_t local_lid = 0;
    std::uint16_t remote_lid = 0;
    std::array<std::byte, 16> local_gid{};
    std::array<std::byte, 16> remote_gid{};
    std::uint32_t flow_label = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t packet_rate = 0;
    std::uint8_t service_level = 0;
    std::uint8_t subnet_local = 0;
    std::uint8_t ack_timeout = 0;
    std::array<std::byte, 168> private_data{};
};

template <>
inline constexpr auto layout_of<CmLap> = layout(
    cm_heading, "CM LoadAlternatePath",
    bits<&CmLap::local_communication_id, 32>("infiniband.cm.lap.localcommid", "Local Communication ID").hex(),
    bits<&CmLap::remote_communication_id, 32>("infiniband.cm.lap.remotecommid", "Remote Communication ID").hex(),
    reserved<32>(),
    bits<&CmLap::remote_qpn, 24>("infiniband.cm.lap.remoteqpneecn", "Remote QPN/EECN").hex(),
    bits<&CmLap::remote_response_timeout, 5>("infiniband.cm.lap.remoteresptout", "Remote CM Response Timeout").hex(),
    reserved<3>(),
    reserved<32>(),
    bits<&CmLap::local_lid, 16>("infiniband.cm.lap.alt_locallid", "Alternate Local Port LID"),
    bits<&CmLap::remote_lid, 16>("infiniband.cm.lap.alt_remotelid", "Alternate Remote Port LID"),
    octets<&CmLap::local_gid>("infiniband.cm.lap.alt_localgid", "Alternate Local Port GID", Kind::ipv6),
    octets<&CmLap::remote_gid>("infiniband.cm.lap.alt_remotegid", "Alternate Remote Port GID", Kind::ipv6),
    bits<&CmLap::flow_label, 20>("infiniband.cm.lap.alt_flowlabel", "Alternate Flow Label").as(Kind::uint32).hex(),
    reserved<4>(),
    bits<&CmLap::traffic_class, 8>("infiniband.cm.lap.alt_tfcclass", "Alternate Traffic Class").hex(),
    bits<&CmLap::hop_limit, 8>("infiniband.cm.lap.alt_hoplim", "Alternate Hop Limit").hex(),
    reserved<2>(),
    bits<&CmLap::packet_rate, 6>("infiniband.cm.lap.alt_pktrate", "Alternate Packet Rate").hex(),
    bits<&CmLap::service_level, 4>("infiniband.cm.lap.alt_sl", "Alternate SL").hex(),
    bits<&CmLap::subnet_local, 1>("infiniband.cm.lap.alt_subnetlocal", "Alternate Subnet Local").hex(),
    reserved<3>(),
    bits<&CmLap::ack_timeout, 5>("infiniband.cm.lap.alt_localacktout", "Alternate Local ACK Timeout").hex(),
    reserved<3>(),
    octets<&CmLap::private_data>("infiniband.cm.lap.private", "PrivateData"));
static_assert(size_of<CmLap> == cm_message_octets);

/// Alternate Path Response. IBTA vol. 1, 12.8.2.
struct CmApr {
    std::uint32_t local_communication_id = 0;
    std::uint32_t remote_communication_id = 0;
    std::uint8_t information_length = 0;
    std::uint8_t status = 0;
    std::array<std::byte, 72> information{};
    std::array<std::byte, 148> private_data{};
};

inline constexpr std::array<ValueName, 14> apr_status_names{{
    {0, "Alternate path loaded"},
    {1, "Invalid Communication Instance"},
    {2, "Alternate paths not supported"},
    {3, "Rejected by consumer"},
    {4, "Redirection"},
    {5, "Alternate path is the current one"},
    {6, "Wrong QPN/EECN"},
    {7, "Remote Port LID rejected"},
    {8, "Remote Port GID rejected"},
    {9, "Flow Label rejected"},
    {10, "Traffic Class rejected"},
    {11, "Hop Limit rejected"},
    {12, "Packet Rate rejected"},
    {13, "SL rejected"},
}};

template <>
inline constexpr auto layout_of<CmApr> = layout(
    cm_heading, "CM AlternatePathResponse",
    bits<&CmApr::local_communication_id, 32>("infiniband.cm.apr.localcommid", "Local Communication ID").hex(),
    bits<&CmApr::remote_communication_id, 32>("infiniband.cm.apr.remotecommid", "Remote Communication ID").hex(),
    bits<&CmApr::information_length, 8>("infiniband.cm.apr.addinfolen", "Additional Information Length").hex(),
    bits<&CmApr::status, 8>("infiniband.cm.apr.status", "AP Status").hex().named(apr_status_names),
    reserved<16>(),
    octets<&CmApr::information>("infiniband.cm.apr.addinfo", "Additional Information"),
    octets<&CmApr::private_data>("infiniband.cm.apr.private", "PrivateData"));
static_assert(size_of<CmApr> == cm_message_octets);

}  // namespace wire
