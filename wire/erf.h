#pragma once
#include "wire/layout.h"
#include "wire/ppi.h"

namespace wire {

/// Endace's Extensible Record Format. "ERF Types Reference Guide" (EDM11-01), 2. The timestamp is little-endian: the
/// header has its octets unchanged, and `erf_timestamp` reads them.
struct Erf {
    std::uint64_t timestamp_octets{};
    bool has_extension{};
    std::uint8_t type{};
    std::uint8_t reserved_flags{};
    bool direction_error{};
    bool receive_error{};
    bool truncated{};
    bool varying_length{};
    std::uint8_t capture_interface{};
    std::uint16_t record_length{};  ///< of the whole record, with extension headers and padding
    std::uint16_t loss_counter{};   ///< a colour in some types
    std::uint16_t wire_length{};    ///< of the packet
    bool operator==(const Erf&) const = default;
};

namespace erf_type {
inline constexpr std::uint8_t ethernet = 2;
inline constexpr std::uint8_t color_ethernet = 11;
inline constexpr std::uint8_t dsm_color_ethernet = 16;
inline constexpr std::uint8_t color_hash_ethernet = 20;
inline constexpr std::uint8_t infiniband = 21;
inline constexpr std::uint8_t ipv4 = 22;
inline constexpr std::uint8_t ipv6 = 23;
inline constexpr std::uint8_t infiniband_link = 25;
inline constexpr std::uint8_t meta = 27;
inline constexpr std::uint8_t pad = 48;
}  // namespace erf_type

inline constexpr ValueName erf_types[] = {
    {erf_type::ethernet, "Ethernet"}, {erf_type::color_ethernet, "Ethernet with colour"},
    {erf_type::dsm_color_ethernet, "Ethernet with DSM colour"}, {erf_type::color_hash_ethernet, "Ethernet with colour and hash"},
    {erf_type::infiniband, "InfiniBand"}, {erf_type::ipv4, "IPv4"}, {erf_type::ipv6, "IPv6"},
    {erf_type::infiniband_link, "InfiniBand link"},
};

template <>
inline constexpr auto layout_of<Erf> = layout("erf", "Extensible Record Format",
    bits<&Erf::timestamp_octets, 64>("", ""),
    bits<&Erf::has_extension, 1>("erf.types.ext_header", "Extension header present").as(Kind::uint8),
    bits<&Erf::type, 7>("erf.types.type", "Type").named(erf_types),
    bits<&Erf::reserved_flags, 2>("erf.flags.res", "Reserved").hex(),
    bits<&Erf::direction_error, 1>("erf.flags.dse", "DS error").as(Kind::uint8),
    bits<&Erf::receive_error, 1>("erf.flags.rxe", "RX error").as(Kind::uint8),
    bits<&Erf::truncated, 1>("erf.flags.trunc", "Truncated").as(Kind::uint8),
    bits<&Erf::varying_length, 1>("erf.flags.vlen", "Varying record length").as(Kind::uint8),
    bits<&Erf::capture_interface, 2>("erf.flags.cap", "Capture interface"),
    bits<&Erf::record_length, 16>("erf.rlen", "Record length"),
    bits<&Erf::loss_counter, 16>("erf.lctr", "Loss counter"),
    bits<&Erf::wire_length, 16>("erf.wlen", "Wire length"));
static_assert(size_of<Erf> == 16);

/// Seconds since 1970 in the high 32 bits, binary fraction in the low ones.
constexpr std::uint64_t erf_timestamp(const std::byte* header) { return load_le64(header); }

/// Octets of one extension header; the top bit of its first octet says that another follows.
inline constexpr unsigned erf_extension_size = 8;

/// Records about the capture itself, and padding between records: no packets.
constexpr bool is_erf_metadata(std::uint8_t type) { return type == erf_type::meta || type == erf_type::pad; }

constexpr bool is_erf_ethernet(std::uint8_t type) {
    return type == erf_type::ethernet || type == erf_type::color_ethernet || type == erf_type::dsm_color_ethernet ||
           type == erf_type::color_hash_ethernet;
}

}  // namespace wire
