#pragma once
#include "wire/ether_type.h"
#include "wire/layout.h"

namespace wire {

/// GRE's first four octets; checksum, key and sequence number follow where their bits say so. RFC 2784, RFC 2890; the
/// routing and recursion bits are RFC 1701's.
struct Gre {
    bool has_checksum{};
    bool has_routing{};
    bool has_key{};
    bool has_sequence{};
    bool strict_source_route{};
    std::uint8_t recursion{};
    std::uint8_t reserved_flags{};
    std::uint8_t version{};
    std::uint16_t protocol{};
    bool operator==(const Gre&) const = default;
};

template <>
inline constexpr auto layout_of<Gre> = layout("gre", "Generic Routing Encapsulation",
    bits<&Gre::has_checksum, 1>("gre.flags.checksum", "Checksum bit"),
    bits<&Gre::has_routing, 1>("gre.flags.routing", "Routing bit"),
    bits<&Gre::has_key, 1>("gre.flags.key", "Key bit"),
    bits<&Gre::has_sequence, 1>("gre.flags.sequence_number", "Sequence number bit"),
    bits<&Gre::strict_source_route, 1>("gre.flags.strict_source_route", "Strict source route bit"),
    bits<&Gre::recursion, 3>("gre.flags.recursion_control", "Recursion control").as(Kind::uint16),
    bits<&Gre::reserved_flags, 5>("gre.flags.reserved", "Reserved").as(Kind::uint16),
    bits<&Gre::version, 3>("gre.flags.version", "Version").as(Kind::uint16),
    bits<&Gre::protocol, 16>("gre.proto", "Protocol type").hex().named(ether_type::names));
static_assert(size_of<Gre> == 4);

/// Octets of the header with its optional words, routing excepted.
constexpr std::uint32_t gre_size(const Gre& header) {
    return 4u + (header.has_checksum || header.has_routing ? 4 : 0) + (header.has_key ? 4 : 0) + (header.has_sequence ? 4 : 0);
}

}  // namespace wire
