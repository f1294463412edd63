#pragma once
#include <array>

#include "wire/ip_protocol.h"
#include "wire/layout.h"

namespace wire {

using Ipv4Address = std::array<std::byte, 4>;

/// The fixed part of an IPv4 header. RFC 791, 3.1; RFC 2474; RFC 3168.
struct Ipv4 {
    std::uint8_t version = 4;
    std::uint8_t header_words = 5;  ///< in words of four octets, with the options
    std::uint8_t dscp{};
    std::uint8_t ecn{};
    std::uint16_t total_length{};   ///< of header and data; 0 where a segmentation offload has yet to fill it in
    std::uint16_t identification{};
    bool reserved_flag{};
    bool dont_fragment{};
    bool more_fragments{};
    std::uint16_t fragment_offset{};  ///< in units of eight octets
    std::uint8_t ttl{};
    std::uint8_t protocol{};
    std::uint16_t checksum{};
    Ipv4Address source{};
    Ipv4Address destination{};
    bool operator==(const Ipv4&) const = default;
};

inline constexpr ValueName ecn_names[] = {{0, "Not-ECT"}, {1, "ECT(1)"}, {2, "ECT(0)"}, {3, "CE"}};

inline constexpr ValueName dscp_names[] = {
    {0, "CS0"}, {8, "CS1"}, {10, "AF11"}, {12, "AF12"}, {14, "AF13"}, {16, "CS2"}, {18, "AF21"}, {20, "AF22"},
    {22, "AF23"}, {24, "CS3"}, {26, "AF31"}, {28, "AF32"}, {30, "AF33"}, {32, "CS4"}, {34, "AF41"}, {36, "AF42"},
    {38, "AF43"}, {40, "CS5"}, {44, "VOICE-ADMIT"}, {46, "EF"}, {48, "CS6"}, {56, "CS7"},
};

template <>
inline constexpr auto layout_of<Ipv4> = layout("ip", "Internet Protocol Version 4",
    bits<&Ipv4::version, 4>("ip.version", "Version"),
    bits<&Ipv4::header_words, 4>("", ""),
    bits<&Ipv4::dscp, 6>("ip.dsfield.dscp", "Differentiated services codepoint").named(dscp_names),
    bits<&Ipv4::ecn, 2>("ip.dsfield.ecn", "Explicit congestion notification").named(ecn_names),
    bits<&Ipv4::total_length, 16>("ip.len", "Total length"),
    bits<&Ipv4::identification, 16>("ip.id", "Identification").hex(),
    bits<&Ipv4::reserved_flag, 1>("ip.flags.rb", "Reserved bit"),
    bits<&Ipv4::dont_fragment, 1>("ip.flags.df", "Don't fragment"),
    bits<&Ipv4::more_fragments, 1>("ip.flags.mf", "More fragments"),
    bits<&Ipv4::fragment_offset, 13>("ip.frag_offset", "Fragment offset"),
    bits<&Ipv4::ttl, 8>("ip.ttl", "Time to live"),
    bits<&Ipv4::protocol, 8>("ip.proto", "Protocol").named(ip_protocol::names),
    bits<&Ipv4::checksum, 16>("ip.checksum", "Header checksum").hex(),
    octets<&Ipv4::source>("ip.src", "Source address", Kind::ipv4),
    octets<&Ipv4::destination>("ip.dst", "Destination address", Kind::ipv4));
static_assert(size_of<Ipv4> == 20);

/// Option types, with copy flag and class. RFC 791, 3.1; RFC 2113.
namespace ipv4_option {
inline constexpr std::uint8_t end = 0;
inline constexpr std::uint8_t no_operation = 1;
inline constexpr std::uint8_t record_route = 7;
inline constexpr std::uint8_t timestamp = 68;
inline constexpr std::uint8_t loose_source_route = 131;
inline constexpr std::uint8_t strict_source_route = 137;
inline constexpr std::uint8_t router_alert = 148;
}  // namespace ipv4_option

inline constexpr ValueName ipv4_options[] = {
    {ipv4_option::end, "End of options"}, {ipv4_option::no_operation, "No operation"},
    {ipv4_option::record_route, "Record route"}, {ipv4_option::timestamp, "Timestamp"},
    {ipv4_option::loose_source_route, "Loose source route"}, {ipv4_option::strict_source_route, "Strict source route"},
    {ipv4_option::router_alert, "Router alert"},
};

}  // namespace wire
