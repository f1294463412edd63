#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wire/infiniband.h"

/// What the messages of the Communication Manager share. IBTA vol. 1, 12.6.
namespace wire {

/// Every message fills the data of its management datagram.
inline constexpr unsigned cm_message_octets = 232;

/// The attribute identifier names the message. IBTA vol. 1, 12.6.3.
enum class CmMessage : std::uint16_t {
    req = 0x10,
    mra = 0x11,
    rej = 0x12,
    rep = 0x13,
    rtu = 0x14,
    dreq = 0x15,
    drep = 0x16,
    sidr_req = 0x17,
    sidr_rep = 0x18,
    lap = 0x19,
    apr = 0x1a,
};

/// The heading of all messages, as in Wireshark.
inline constexpr std::string_view cm_heading = "infiniband.smplid.smpdata";

/// Which message an MRA or a REJ answers. IBTA vol. 1, 12.6.6 and 12.6.7.
inline constexpr std::array<ValueName, 3> cm_answered_names{{{0, "REQ"}, {1, "REP"}, {2, "LAP, or none"}}};

inline constexpr std::array<ValueName, 4> cm_transport_names{{{0, "RC"}, {1, "UC"}, {2, "RD"}, {3, "Extended"}}};

inline constexpr std::array<ValueName, 5> path_mtu_names{{{1, "256"}, {2, "512"}, {3, "1024"}, {4, "2048"}, {5, "4096"}}};

/// A service identifier that stands for an IP protocol and port begins so. IBTA vol. 1, Annex A11.
inline constexpr std::array<std::byte, 5> ip_service_prefix{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}};

constexpr bool is_ip_service(const std::byte* service_id) {
    for (std::size_t i = 0; i < ip_service_prefix.size(); ++i)
        if (service_id[i] != ip_service_prefix[i]) return false;
    return true;
}

/// What begins the private data of a REQ for an IP service. Addresses of version 4 are in the last four octets.
/// IBTA vol. 1, Annex A11.
struct IpCm {
    std::uint8_t major_version = 0;
    std::uint8_t minor_version = 0;
    std::uint8_t ip_version = 0;
    std::uint8_t reserved = 0;
    std::uint16_t source_port = 0;
    std::array<std::byte, 16> source_address{};
    std::array<std::byte, 16> destination_address{};
};

template <>
inline constexpr auto layout_of<IpCm> = layout(
    "infiniband.cm.req.ip_cm", "IP CM Private Data",
    bits<&IpCm::major_version, 4>("infiniband.cm.req.ip_cm.majv", "IP CM Major Version").hex(),
    bits<&IpCm::minor_version, 4>("infiniband.cm.req.ip_cm.minv", "IP CM Minor Version").hex(),
    bits<&IpCm::ip_version, 4>("infiniband.cm.req.ip_cm.ipv", "IP CM IP Version").hex(),
    bits<&IpCm::reserved, 4>("infiniband.cm.req.ip_cm.reserved", "IP CM Reserved").hex(),
    bits<&IpCm::source_port, 16>("infiniband.cm.req.ip_cm.sport", "IP CM Source Port").hex(),
    octets<&IpCm::source_address>("infiniband.cm.req.ip_cm.sip6", "IP CM Source IP", Kind::ipv6),
    octets<&IpCm::destination_address>("infiniband.cm.req.ip_cm.dip6", "IP CM Destination IP", Kind::ipv6));
static_assert(size_of<IpCm> == 36);

}  // namespace wire
