#pragma once
#include "wire/layout.h"

namespace wire {

/// What the kernel's packet filter logs, as LINKTYPE_NFLOG has it: this head, then attributes.
/// https://www.tcpdump.org/linktypes/LINKTYPE_NFLOG.html
struct Nflog {
    std::uint8_t family{};  ///< Linux's AF_ number
    std::uint8_t version{};
    std::uint16_t resource{};
    bool operator==(const Nflog&) const = default;
};

inline constexpr ValueName nflog_families[] = {{0, "Unspecified"}, {2, "IPv4"}, {3, "ARP"}, {7, "Bridge"}, {10, "IPv6"}};

template <>
inline constexpr auto layout_of<Nflog> = layout("nflog", "Linux Netfilter NFLOG",
    bits<&Nflog::family, 8>("nflog.family", "Family").named(nflog_families),
    bits<&Nflog::version, 8>("nflog.version", "Version"),
    bits<&Nflog::resource, 16>("nflog.res_id", "Resource"));
static_assert(size_of<Nflog> == 4);

/// Linux, nfnetlink_log.h: enum nfulnl_attr_type.
namespace nflog_attribute {
inline constexpr std::uint16_t packet_header = 1;  ///< the EtherType, the hook
inline constexpr std::uint16_t in_device = 4;
inline constexpr std::uint16_t out_device = 5;
inline constexpr std::uint16_t in_port = 6;   ///< of a bridge
inline constexpr std::uint16_t out_port = 7;  ///< of a bridge
inline constexpr std::uint16_t payload = 9;
inline constexpr std::uint16_t prefix = 10;
inline constexpr std::uint16_t user = 11;
inline constexpr std::uint16_t group = 14;
}  // namespace nflog_attribute

/// Length and type come first, in the byte order of the machine that captured; the length counts both.
inline constexpr unsigned nflog_attribute_head = 4;
/// An attribute begins at a multiple of four octets.
constexpr std::uint32_t nflog_padded(std::uint32_t length) { return (length + 3) & ~3u; }
/// The upper bits of a type are netlink's flags.
inline constexpr std::uint16_t nflog_type_mask = 0x7fff;

}  // namespace wire
