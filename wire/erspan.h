#pragma once
#include "wire/layout.h"

namespace wire {

/// ERSPAN type II, version field 1. draft-foschiano-erspan-03, 4.2.
struct Erspan2 {
    std::uint8_t version = 1;
    std::uint16_t vlan{};
    std::uint8_t class_of_service{};
    std::uint8_t encapsulation{};
    bool truncated{};  ///< the mirror cut the frame
    std::uint16_t session{};
    std::uint16_t reserved_bits{};
    std::uint32_t index{};
    bool operator==(const Erspan2&) const = default;
};

inline constexpr ValueName erspan_versions[] = {{1, "Type II"}, {2, "Type III"}};
inline constexpr ValueName erspan_encapsulations[] = {
    {0, "Without a VLAN tag"}, {1, "ISL"}, {2, "802.1Q"}, {3, "VLAN tag kept in the frame"}};
inline constexpr ValueName erspan_truncation[] = {{0, "Not truncated"}, {1, "Truncated"}};

template <>
inline constexpr auto layout_of<Erspan2> = layout("erspan", "Encapsulated Remote Switch Packet ANalysis Type II",
    bits<&Erspan2::version, 4>("erspan.version", "Version").as(Kind::uint16).named(erspan_versions),
    bits<&Erspan2::vlan, 12>("erspan.vlan", "VLAN"),
    bits<&Erspan2::class_of_service, 3>("erspan.cos", "Class of service").as(Kind::uint16),
    bits<&Erspan2::encapsulation, 2>("erspan.encap", "Encapsulation").as(Kind::uint16).named(erspan_encapsulations),
    bits<&Erspan2::truncated, 1>("erspan.truncated", "Truncated").as(Kind::uint16).named(erspan_truncation),
    bits<&Erspan2::session, 10>("erspan.spanid", "Session"),
    bits<&Erspan2::reserved_bits, 12>("erspan.reserved", "Reserved").as(Kind::uint32),
    bits<&Erspan2::index, 20>("erspan.index", "Index").as(Kind::uint32));
static_assert(size_of<Erspan2> == 8);

/// ERSPAN type III, version field 2. draft-foschiano-erspan-03, 4.3.
struct Erspan3 {
    std::uint8_t version = 2;
    std::uint16_t vlan{};
    std::uint8_t class_of_service{};
    std::uint8_t bad_short_oversized{};
    bool truncated{};
    std::uint16_t session{};
    std::uint32_t timestamp{};  ///< in the unit that `granularity` names
    std::uint16_t security_group{};
    bool has_ethernet{};
    std::uint8_t frame_type{};
    std::uint8_t hardware{};
    bool egress{};
    std::uint8_t granularity{};
    bool has_subheader{};
    bool operator==(const Erspan3&) const = default;
};

inline constexpr ValueName erspan_integrity[] = {
    {0, "Good or unknown"}, {1, "Short frame"}, {2, "Oversized frame"}, {3, "CRC or alignment error"}};
inline constexpr ValueName erspan_directions[] = {{0, "Ingress"}, {1, "Egress"}};
inline constexpr ValueName erspan_granularities[] = {{0, "100 us"}, {1, "100 ns"}, {2, "IEEE 1588"}, {3, "user configured"}};
inline constexpr ValueName erspan_frame_types[] = {{0, "Ethernet"}, {2, "IP"}};

template <>
inline constexpr auto layout_of<Erspan3> = layout("erspan", "Encapsulated Remote Switch Packet ANalysis Type III",
    bits<&Erspan3::version, 4>("erspan.version", "Version").as(Kind::uint16).named(erspan_versions),
    bits<&Erspan3::vlan, 12>("erspan.vlan", "VLAN"),
    bits<&Erspan3::class_of_service, 3>("erspan.cos", "Class of service").as(Kind::uint16),
    bits<&Erspan3::bad_short_oversized, 2>("erspan.bso", "Bad/short/oversized").as(Kind::uint16).named(erspan_integrity),
    bits<&Erspan3::truncated, 1>("erspan.truncated", "Truncated").as(Kind::uint16).named(erspan_truncation),
    bits<&Erspan3::session, 10>("erspan.spanid", "Session"),
    bits<&Erspan3::timestamp, 32>("erspan.timestamp", "Timestamp"),
    bits<&Erspan3::security_group, 16>("erspan.sgt", "Security group tag"),
    bits<&Erspan3::has_ethernet, 1>("erspan.p", "Has Ethernet PDU").as(Kind::uint16),
    bits<&Erspan3::frame_type, 5>("erspan.ft", "Frame type").as(Kind::uint16).named(erspan_frame_types),
    bits<&Erspan3::hardware, 6>("erspan.hw", "Hardware").as(Kind::uint16),
    bits<&Erspan3::egress, 1>("erspan.direction", "Direction").named(erspan_directions),
    bits<&Erspan3::granularity, 2>("erspan.gra", "Timestamp granularity").as(Kind::uint16).named(erspan_granularities),
    bits<&Erspan3::has_subheader, 1>("erspan.o", "Optional subheader").as(Kind::uint16));
static_assert(size_of<Erspan3> == 12);

/// Octets of the platform specific subheader of type III.
inline constexpr unsigned erspan3_subheader_size = 8;

}  // namespace wire
