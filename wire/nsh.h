#pragma once
#include "wire/layout.h"

namespace wire {

/// The Network Service Header: base header and service path header; metadata follow. RFC 8300, 2.2 and 2.3.
struct Nsh {
    std::uint8_t version{};
    bool oam{};
    bool unassigned1{};
    std::uint8_t ttl{};
    std::uint8_t words{};  ///< of four octets, these two included
    std::uint8_t unassigned4{};
    std::uint8_t metadata_type{};
    std::uint8_t next_protocol{};
    std::uint32_t service_path{};
    std::uint8_t service_index{};
    bool operator==(const Nsh&) const = default;
};

namespace nsh_protocol {
inline constexpr std::uint8_t ipv4 = 1;
inline constexpr std::uint8_t ipv6 = 2;
inline constexpr std::uint8_t ethernet = 3;
inline constexpr std::uint8_t nsh = 4;
inline constexpr std::uint8_t mpls = 5;

/// RFC 8300, 9.1.6; VXLAN-GPE has the same numbers.
inline constexpr ValueName names[] = {{ipv4, "IPv4"}, {ipv6, "IPv6"}, {ethernet, "Ethernet"}, {nsh, "NSH"}, {mpls, "MPLS"}};
}  // namespace nsh_protocol

inline constexpr ValueName nsh_metadata_types[] = {{1, "Four context headers"}, {2, "Variable length"}};

template <>
inline constexpr auto layout_of<Nsh> = layout("nsh", "Network Service Header",
    bits<&Nsh::version, 2>("nsh.version", "Version").as(Kind::uint16),
    bits<&Nsh::oam, 1>("nsh.Obit", "OAM packet"),
    bits<&Nsh::unassigned1, 1>("nsh.CBit", "Unassigned"),
    bits<&Nsh::ttl, 6>("nsh.ttl", "Time to live").as(Kind::uint16).hex(),
    bits<&Nsh::words, 6>("nsh.length", "Length in words of four octets").as(Kind::uint16),
    bits<&Nsh::unassigned4, 4>("", ""),
    bits<&Nsh::metadata_type, 4>("nsh.mdtype", "Metadata type").named(nsh_metadata_types),
    bits<&Nsh::next_protocol, 8>("nsh.nextproto", "Next protocol").named(nsh_protocol::names),
    bits<&Nsh::service_path, 24>("nsh.spi", "Service path identifier"),
    bits<&Nsh::service_index, 8>("nsh.si", "Service index"));
static_assert(size_of<Nsh> == 8);

/// The head of one context header of metadata type 2. RFC 8300, 2.5.1.
struct NshContext {
    std::uint16_t context_class{};
    std::uint8_t type{};
    bool unassigned{};
    std::uint8_t length{};  ///< of the octets that follow, padding to four not counted
    bool operator==(const NshContext&) const = default;
};

template <>
inline constexpr auto layout_of<NshContext> = layout("nsh.context", "Context header",
    bits<&NshContext::context_class, 16>("nsh.metadataclass", "Class"),
    bits<&NshContext::type, 8>("nsh.metadatatype", "Type"),
    bits<&NshContext::unassigned, 1>("nsh.metadataunassignedbit", "Unassigned").as(Kind::uint8).hex(),
    bits<&NshContext::length, 7>("nsh.metadatalen", "Length").hex());
static_assert(size_of<NshContext> == 4);

}  // namespace wire
