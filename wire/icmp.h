#pragma once
#include <cstdint>
#include <optional>

#include "wire/icmp_error_kind.h"
#include "wire/layout.h"

namespace wire {

namespace icmp_type {
inline constexpr std::uint8_t echo_reply = 0;
inline constexpr std::uint8_t unreachable = 3;
inline constexpr std::uint8_t source_quench = 4;
inline constexpr std::uint8_t redirect = 5;
inline constexpr std::uint8_t echo_request = 8;
inline constexpr std::uint8_t time_exceeded = 11;
inline constexpr std::uint8_t parameter_problem = 12;
}  // namespace icmp_type

namespace icmpv6_type {
inline constexpr std::uint8_t unreachable = 1;
inline constexpr std::uint8_t too_big = 2;
inline constexpr std::uint8_t time_exceeded = 3;
inline constexpr std::uint8_t parameter_problem = 4;
inline constexpr std::uint8_t echo_request = 128;
inline constexpr std::uint8_t echo_reply = 129;
}  // namespace icmpv6_type

/// IANA's names.
inline constexpr ValueName icmp_types[] = {
    {icmp_type::echo_reply, "Echo reply"}, {icmp_type::unreachable, "Destination unreachable"},
    {icmp_type::source_quench, "Source quench"}, {icmp_type::redirect, "Redirect"},
    {icmp_type::echo_request, "Echo request"}, {9, "Router advertisement"}, {10, "Router solicitation"},
    {icmp_type::time_exceeded, "Time exceeded"}, {icmp_type::parameter_problem, "Parameter problem"},
    {13, "Timestamp request"}, {14, "Timestamp reply"}, {15, "Information request"}, {16, "Information reply"},
    {17, "Address mask request"}, {18, "Address mask reply"},
};
inline constexpr ValueName icmpv6_types[] = {
    {icmpv6_type::unreachable, "Destination unreachable"}, {icmpv6_type::too_big, "Packet too big"},
    {icmpv6_type::time_exceeded, "Time exceeded"}, {icmpv6_type::parameter_problem, "Parameter problem"},
    {icmpv6_type::echo_request, "Echo request"}, {icmpv6_type::echo_reply, "Echo reply"},
    {130, "Multicast listener query"}, {131, "Multicast listener report"}, {132, "Multicast listener done"},
    {133, "Router solicitation"}, {134, "Router advertisement"}, {135, "Neighbor solicitation"},
    {136, "Neighbor advertisement"}, {137, "Redirect"}, {143, "Multicast listener report v2"},
};

/// What every ICMP message begins with, and four bytes that the type gives a meaning. RFC 792; RFC 1191, 4; RFC 4884.
struct Icmp {
    std::uint8_t type{};
    std::uint8_t code{};
    std::uint16_t checksum{};
    std::uint16_t identifier{};  ///< echo and its kin
    std::uint16_t sequence{};    ///< the next hop's MTU where fragmentation was needed
    bool operator==(const Icmp&) const = default;
};

template <>
inline constexpr auto layout_of<Icmp> = layout("icmp", "Internet Control Message Protocol",
    bits<&Icmp::type, 8>("icmp.type", "Type").named(icmp_types),
    bits<&Icmp::code, 8>("icmp.code", "Code"),
    bits<&Icmp::checksum, 16>("icmp.checksum", "Checksum").hex(),
    bits<&Icmp::identifier, 16>("icmp.ident", "Identifier (BE)"),
    bits<&Icmp::sequence, 16>("icmp.seq", "Sequence number (BE)"));
static_assert(size_of<Icmp> == 8);

/// RFC 4443, 2.1.
struct Icmpv6 {
    std::uint8_t type{};
    std::uint8_t code{};
    std::uint16_t checksum{};
    bool operator==(const Icmpv6&) const = default;
};

template <>
inline constexpr auto layout_of<Icmpv6> = layout("icmpv6", "Internet Control Message Protocol v6",
    bits<&Icmpv6::type, 8>("icmpv6.type", "Type").named(icmpv6_types),
    bits<&Icmpv6::code, 8>("icmpv6.code", "Code"),
    bits<&Icmpv6::checksum, 16>("icmpv6.checksum", "Checksum").hex());
static_assert(size_of<Icmpv6> == 4);

/// Bytes in front of the packet that an error quotes, of either version.
inline constexpr std::uint32_t icmp_quote_offset = 8;

/// Of a destination that is unreachable. RFC 792; RFC 1122, 3.2.2.1; RFC 1812, 5.2.7.1.
constexpr IcmpErrorKind icmp_unreachable_kind(std::uint8_t code) {
    switch (code) {
        case 0: case 1: case 5: case 6: case 7: case 8: case 11: case 12: return IcmpErrorKind::host_unreachable;
        case 3: return IcmpErrorKind::port_unreachable;
        case 4: return IcmpErrorKind::fragmentation_needed;
        case 9: case 10: case 13: case 14: case 15: return IcmpErrorKind::prohibited;
        default: return IcmpErrorKind::other;
    }
}
/// Without value where the message is no error: a redirect quotes a packet that was forwarded all the same.
constexpr std::optional<IcmpErrorKind> icmp_error_kind(std::uint8_t type, std::uint8_t code) {
    switch (type) {
        case icmp_type::unreachable: return icmp_unreachable_kind(code);
        case icmp_type::time_exceeded: return IcmpErrorKind::time_exceeded;
        case icmp_type::source_quench:
        case icmp_type::parameter_problem: return IcmpErrorKind::other;
        default: return std::nullopt;
    }
}

/// RFC 4443, 3.1.
constexpr IcmpErrorKind icmpv6_unreachable_kind(std::uint8_t code) {
    switch (code) {
        case 0: case 2: case 3: return IcmpErrorKind::host_unreachable;
        case 1: case 5: case 6: return IcmpErrorKind::prohibited;
        case 4: return IcmpErrorKind::port_unreachable;
        default: return IcmpErrorKind::other;
    }
}
constexpr std::optional<IcmpErrorKind> icmpv6_error_kind(std::uint8_t type, std::uint8_t code) {
    switch (type) {
        case icmpv6_type::unreachable: return icmpv6_unreachable_kind(code);
        case icmpv6_type::too_big: return IcmpErrorKind::fragmentation_needed;
        case icmpv6_type::time_exceeded: return IcmpErrorKind::time_exceeded;
        case icmpv6_type::parameter_problem: return IcmpErrorKind::other;
        default: return std::nullopt;
    }
}

}  // namespace wire
