#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/cm.h"

namespace wire {

/// Service ID Resolution Request: asks which queue pair serves datagrams for a service identifier. IBTA vol. 1,
/// 12.11.1.
struct CmSidrReq {
    std::uint32_t request_id = 0;
    std::uint16_t partition_key = 0;
    std::uint64_t service_id = 0;
    std::array<std::byte, 216> private_data{};
};

template <>
inline constexpr auto layout_of<CmSidrReq> = layout(
    cm_heading, "CM ServiceIDResReq",
    bits<&CmSidrReq::request_id, 32>("infiniband.cm.sidr_req.requestid", "Request ID").hex(),
    bits<&CmSidrReq::partition_key, 16>("infiniband.cm.sidr_req.pkey", "Partition Key").hex(),
    reserved<16>(),
    bits<&CmSidrReq::service_id, 64>("infiniband.cm.sidr_req.serviceid", "ServiceID").hex(),
    octets<&CmSidrReq::private_data>("infiniband.cm.sidr_req.private", "PrivateData"));
static_assert(size_of<CmSidrReq> == cm_message_octets);

inline constexpr unsigned cm_sidr_req_service_id_offset = 8;
inline constexpr unsigned cm_sidr_req_private_offset = 16;

/// Service ID Resolution Response. IBTA vol. 1, 12.11.2.
struct CmSidrRep {
    std::uint32_t request_id = 0;
    std::uint8_t status = 0;
    std::uint8_t information_length = 0;
    std::uint32_t qpn = 0;
    std::uint64_t service_id = 0;
    std::uint32_t qkey = 0;
    std::array<std::byte, 72> information{};
    std::array<std::byte, 136> private_data{};
};

inline constexpr std::array<ValueName, 6> sidr_status_names{{
    {0, "Valid QPN"},
    {1, "Service ID not supported"},
    {2, "Rejected by service provider"},
    {3, "No QP available"},
    {4, "Redirection"},
    {5, "Version not supported"},
}};

template <>
inline constexpr auto layout_of<CmSidrRep> = layout(
    cm_heading, "CM ServiceIDResReqResp",
    bits<&CmSidrRep::request_id, 32>("infiniband.cm.sidr_rep.requestid", "Request ID").hex(),
    bits<&CmSidrRep::status, 8>("infiniband.cm.sidr_rep.status", "Status").hex().named(sidr_status_names),
    bits<&CmSidrRep::information_length, 8>("infiniband.cm.sidr_rep.addinfolen", "Additional Information Length").hex(),
    reserved<16>(),
    bits<&CmSidrRep::qpn, 24>("infiniband.cm.sidr_rep.qpn", "QPN").hex(),
    reserved<8>(),
    bits<&CmSidrRep::service_id, 64>("infiniband.cm.sidr_rep.serviceid", "ServiceID").hex(),
    bits<&CmSidrRep::qkey, 32>("infiniband.cm.sidr_rep.qkey", "Q_Key").hex(),
    octets<&CmSidrRep::information>("infiniband.cm.sidr_rep.addinfo", "Additional Information"),
    octets<&CmSidrRep::private_data>("infiniband.cm.sidr_rep.private", "PrivateData"));
static_assert(size_of<CmSidrRep> == cm_message_octets);

}  // namespace wire
