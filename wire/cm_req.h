#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/cm.h"

namespace wire {

/// Request for Communication: the first message of a connection, with the requester's queue pair, its limits and
/// the paths to take. IBTA vol. 1, 12.6.5.
struct CmReq {
    std::uint32_t local_communication_id = 0;
    std::uint64_t service_id = 0;
    std::uint64_t local_ca_guid = 0;
    std::uint32_t local_qkey = 0;
    std::uint32_t local_qpn = 0;
    std::uint8_t responder_resources = 0;
    std::uint32_t local_eecn = 0;
    std::uint8_t initiator_depth = 0;
    std::uint32_t remote_eecn = 0;
    std::uint8_t remote_response_timeout = 0;
    std::uint8_t transport_service = 0;
    std::uint8_t end_to_end_flow_control = 0;
    std::uint32_t starting_psn = 0;
    std::uint8_t local_response_timeout = 0;
    std::uint8_t retry_count = 0;
    std::uint16_t partition_key = 0;
    std::uint8_t path_mtu = 0;
    std::uint8_t rdc_exists = 0;
    std::uint8_t rnr_retry_count = 0;
    std::uint8_t max_cm_retries = 0;
    std::uint8_t srq = 0;
    std::uint8_t extended_transport = 0;
    std::uint16_t primary_local_lid = 0;
    std::uint16_t primary_remote_lid = 0;
    std::array<std::byte, 16> primary_local_gid{};
    std::array<std::byte, 16> primary_remote_gid{};
    std::uint32_t primary_flow_label = 0;
    std::uint8_t primary_packet_rate = 0;
    std::uint8_t primary_traffic_class = 0;
    std::uint8_t primary_hop_limit = 0;
    std::uint8_t primary_service_level = 0;
    std::uint8_t primary_subnet_local = 0;
    std::uint8_t primary_ack_timeout = 0;
    std::uint16_t alternate_local_lid = 0;
    std::uint16_t alternate_remote_lid = 0;
    std::array<std::byte, 16> alternate_local_gid{};
    std::array<std::byte, 16> alternate_remote_gid{};
    std::uint32_t alternate_flow_label = 0;
    std::uint8_t alternate_packet_rate = 0;
    std::uint8_t alternate_traffic_class = 0;
    std::uint8_t alternate_hop_limit = 0;
    std::uint8_t alternate_service_level = 0;
    std::uint8_t alternate_subnet_local = 0;
    std::uint8_t alternate_ack_timeout = 0;
    std::array<std::byte, 92> private_data{};
};

template <>
inline constexpr auto layout_of<CmReq> = layout(
    cm_heading, "CM ConnectRequest",
    bits<&CmReq::local_communication_id, 32>("infiniband.cm.req", "Local Communication ID").hex(),
    reserved<32>(),
    bits<&CmReq::service_id, 64>("infiniband.cm.req.serviceid", "ServiceID").hex(),
    bits<&CmReq::local_ca_guid, 64>("infiniband.cm.req.localcaguid", "Local CA GUID").hex(),
    reserved<32>(),
    bits<&CmReq::local_qkey, 32>("infiniband.cm.req.localqkey", "Local Q_Key").hex(),
    bits<&CmReq::local_qpn, 24>("infiniband.cm.req.localqpn", "Local QPN").hex(),
    bits<&CmReq::responder_resources, 8>("infiniband.cm.req.responderres", "Responder Resources").hex(),
    bits<&CmReq::local_eecn, 24>("infiniband.cm.req.localeecn", "Local EECN").hex(),
    bits<&CmReq::initiator_depth, 8>("infiniband.cm.req.initdepth", "Initiator Depth").hex(),
    bits<&CmReq::remote_eecn, 24>("infiniband.cm.req.remoteeecn", "Remote EECN").hex(),
    bits<&CmReq::remote_response_timeout, 5>("infiniband.cm.req.remoteresptout", "Remote CM Response Timeout").hex(),
    bits<&CmReq::transport_service, 2>("infiniband.cm.req.transpsvctype", "Transport Service Type").hex().named(cm_transport_names),
    bits<&CmReq::end_to_end_flow_control, 1>("infiniband.cm.req.e2eflowctrl", "End-to-End Flow Control").hex(),
    bits<&CmReq::starting_psn, 24>("infiniband.cm.req.startpsn", "Starting PSN").hex(),
    bits<&CmReq::local_response_timeout, 5>("infiniband.cm.req.localresptout", "Local CM Response Timeout").hex(),
    bits<&CmReq::retry_count, 3>("infiniband.cm.req.retrcount", "Retry Count").hex(),
    bits<&CmReq::partition_key, 16>("infiniband.cm.req.pkey", "Partition Key").hex(),
    bits<&CmReq::path_mtu, 4>("infiniband.cm.req.pppmtu", "Path Packet Payload MTU").hex().named(path_mtu_names),
    bits<&CmReq::rdc_exists, 1>("infiniband.cm.req.rdcexist", "RDC Exists").hex(),
    bits<&CmReq::rnr_retry_count, 3>("infiniband.cm.req.rnrretrcount", "RNR Retry Count").hex(),
    bits<&CmReq::max_cm_retries, 4>("infiniband.cm.req.maxcmretr", "Max CM Retries").hex(),
    bits<&CmReq::srq, 1>("infiniband.cm.req.srq", "SRQ").hex(),
    bits<&CmReq::extended_transport, 3>("infiniband.cm.req.ext_transport", "Extended Transport").hex(),
    bits<&CmReq::primary_local_lid, 16>("infiniband.cm.req.prim_locallid", "Primary Local Port LID"),
    bits<&CmReq::primary_remote_lid, 16>("infiniband.cm.req.prim_remotelid", "Primary Remote Port LID"),
    octets<&CmReq::primary_local_gid>("infiniband.cm.req.prim_localgid", "Primary Local Port GID", Kind::ipv6),
    octets<&CmReq::primary_remote_gid>("infiniband.cm.req.prim_remotegid", "Primary Remote Port GID", Kind::ipv6),
    bits<&CmReq::primary_flow_label, 20>("infiniband.cm.req.prim_flowlabel", "Primary Flow Label").as(Kind::uint32).hex(),
    reserved<6>(),
    bits<&CmReq::primary_packet_rate, 6>("infiniband.cm.req.prim_pktrate", "Primary Packet Rate").as(Kind::uint32).hex(),
    bits<&CmReq::primary_traffic_class, 8>("infiniband.cm.req.prim_tfcclass", "Primary Traffic Class").hex(),
    bits<&CmReq::primary_hop_limit, 8>("infiniband.cm.req.prim_hoplim", "Primary Hop Limit").hex(),
    bits<&CmReq::primary_service_level, 4>("infiniband.cm.req.prim_sl", "Primary SL").hex(),
    bits<&CmReq::primary_subnet_local, 1>("infiniband.cm.req.prim_subnetlocal", "Primary Subnet Local").hex(),
    reserved<3>(),
    bits<&CmReq::primary_ack_timeout, 5>("infiniband.cm.req.prim_localacktout", "Primary Local ACK Timeout").hex(),
    reserved<3>(),
    bits<&CmReq::alternate_local_lid, 16>("infiniband.cm.req.alt_locallid", "Alternate Local Port LID"),
    bits<&CmReq::alternate_remote_lid, 16>("infiniband.cm.req.alt_remotelid", "Alternate Remote Port LID"),
    octets<&CmReq::alternate_local_gid>("infiniband.cm.req.alt_localgid", "Alternate Local Port GID"),
    octets<&CmReq::alternate_remote_gid>("infiniband.cm.req.alt_remotegid", "Alternate Remote Port GID"),
    bits<&CmReq::alternate_flow_label, 20>("infiniband.cm.req.alt_flowlabel", "Alternate Flow Label").as(Kind::uint32).hex(),
    reserved<6>(),
    bits<&CmReq::alternate_packet_rate, 6>("infiniband.cm.req.alt_pktrate", "Alternate Packet Rate").as(Kind::uint32).hex(),
    bits<&CmReq::alternate_traffic_class, 8>("infiniband.cm.req.alt_tfcclass", "Alternate Traffic Class").hex(),
    bits<&CmReq::alternate_hop_limit, 8>("infiniband.cm.req.alt_hoplim", "Alternate Hop Limit").hex(),
    bits<&CmReq::alternate_service_level, 4>("infiniband.cm.req.alt_sl", "Alternate SL").hex(),
    bits<&CmReq::alternate_subnet_local, 1>("infiniband.cm.req.alt_subnetlocal", "Alternate Subnet Local").hex(),
    reserved<3>(),
    bits<&CmReq::alternate_ack_timeout, 5>("infiniband.cm.req.alt_localacktout", "Alternate Local ACK Timeout").hex(),
    reserved<3>(),
    octets<&CmReq::private_data>("infiniband.cm.req.private", "PrivateData"));
static_assert(size_of<CmReq> == cm_message_octets);

/// Wireshark names both reserved parts of the alternate path's last octets alike.
inline constexpr auto cm_req_fields = fields_with<CmReq>(std::array{
    reserved_octets(4, 4),
    reserved_octets(24, 4),
    reserved_bits("infiniband.cm.req.prim_reserved0", 88 * 8 + 20, 6, Kind::uint32, Base::hex),
    reserved_bits("infiniband.cm.req.prim_reserved1", 94 * 8 + 5, 3, Kind::uint8, Base::hex),
    reserved_bits("infiniband.cm.req.prim_reserved2", 95 * 8 + 5, 3, Kind::uint8, Base::hex),
    reserved_bits("infiniband.cm.req.alt_reserved0", 132 * 8 + 20, 6, Kind::uint32, Base::hex),
    reserved_bits("infiniband.cm.req.alt_reserved1", 138 * 8 + 5, 3, Kind::uint8, Base::hex),
    reserved_bits("infiniband.cm.req.alt_reserved1", 139 * 8 + 5, 3, Kind::uint8, Base::hex),
});

/// Where the fields begin whose meaning depends on other fields, in octets of the REQ.
inline constexpr unsigned cm_req_service_id_offset = 8;
inline constexpr unsigned cm_req_private_offset = 140;

}  // namespace wire
