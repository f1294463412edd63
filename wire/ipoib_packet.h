#pragma once
#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "wire/ether_type.h"
#include "wire/layout.h"

/// IP over InfiniBand in packets of InfiniBand or RoCE: RFC 4391, and RFC 4755 for connected mode.
namespace wire {

/// What begins a packet. RFC 4391, 6.
struct IpoibHeader {
    std::uint16_t type{};
    std::uint16_t reserved_field{};
    bool operator==(const IpoibHeader&) const = default;
};

template <>
inline constexpr auto layout_of<IpoibHeader> = layout("ipoib", "IP over InfiniBand",
    bits<&IpoibHeader::type, 16>("ipoib.type", "Type").hex().named(ether_type::names),
    bits<&IpoibHeader::reserved_field, 16>("ipoib.reserved", "Reserved").hex());
static_assert(size_of<IpoibHeader> == 4);

inline constexpr std::uint16_t ipoib_rarp = 0x8035;
inline constexpr std::uint16_t arp_hardware_infiniband = 32;
inline constexpr std::uint32_t ipoib_hardware_bytes = 20;  ///< flags, QPN, GID: RFC 4391, 9.1.1

inline constexpr std::array<ValueName, 8> arp_hardware_names{{{1, "Ethernet"},
                                                              {6, "IEEE 802"},
                                                              {7, "ARCNET"},
                                                              {15, "Frame Relay"},
                                                              {18, "Fibre Channel"},
                                                              {24, "IEEE 1394"},
                                                              {27, "EUI-64"},
                                                              {32, "InfiniBand"}}};
inline constexpr std::array<ValueName, 4> arp_opcodes{
    {{1, "request"}, {2, "reply"}, {3, "reverse request"}, {4, "reverse reply"}}};

/// ARP for IPv4, RFC 826 with the addresses of RFC 4391, 9.1.
struct IpoibArp {
    std::uint16_t hardware_type{};
    std::uint16_t protocol_type{};
    std::uint8_t hardware_size{};
    std::uint8_t protocol_size{};
    std::uint16_t opcode{};
    std::array<std::byte, ipoib_hardware_bytes> sender_hardware{};
    std::array<std::byte, 4> sender_address{};
    std::array<std::byte, ipoib_hardware_bytes> target_hardware{};
    std::array<std::byte, 4> target_address{};
    bool operator==(const IpoibArp&) const = default;
};

template <>
inline constexpr auto layout_of<IpoibArp> = layout("arp", "Address Resolution Protocol",
    bits<&IpoibArp::hardware_type, 16>("arp.hw.type", "Hardware type").named(arp_hardware_names),
    bits<&IpoibArp::protocol_type, 16>("arp.proto.type", "Protocol type").hex().named(ether_type::names),
    bits<&IpoibArp::hardware_size, 8>("arp.hw.size", "Hardware size"),
    bits<&IpoibArp::protocol_size, 8>("arp.proto.size", "Protocol size"),
    bits<&IpoibArp::opcode, 16>("arp.opcode", "Opcode").named(arp_opcodes),
    octets<&IpoibArp::sender_hardware>("arp.src.hw", "Sender hardware address"),
    octets<&IpoibArp::sender_address>("arp.src.proto_ipv4", "Sender IP address", Kind::ipv4),
    octets<&IpoibArp::target_hardware>("arp.dst.hw", "Target hardware address"),
    octets<&IpoibArp::target_address>("arp.dst.proto_ipv4", "Target IP address", Kind::ipv4));
static_assert(size_of<IpoibArp> == 56);

/// The queue pair of a hardware address.
constexpr std::uint32_t ipoib_queue_pair(const std::byte* hardware) { return base::load_be24(hardware + 1); }

/// A service identifier of connected mode: that of the IETF with the interface's queue pair (RFC 4755, 6), in the form
/// of the RFC or in that of Linux.
constexpr bool is_ipoib_service(const std::byte* service_id) {
    const std::uint64_t number = base::load_be64(service_id);
    return number >> 24 == 0x0100000000u || number >> 24 == 0x1000000000u;
}

/// Whether a payload of `length` bytes, as far as it was captured, is a packet of IPoIB: header and lengths agree.
constexpr bool is_ipoib_packet(base::Bytes head, std::uint64_t length) {
    constexpr std::uint32_t header = 4, with_length = 10;
    if (head.size() < with_length || base::load_be16(head.data() + 2) != 0) return false;
    const std::byte* packet = head.data() + header;
    switch (base::load_be16(head.data())) {
        case ether_type::ipv4:
            return base::load_u8(packet) >> 4 == 4 && (base::load_u8(packet) & 15) >= 5 &&
                   base::load_be16(packet + 2) == length - header;
        case ether_type::ipv6:
            return base::load_u8(packet) >> 4 == 6 && base::load_be16(packet + 4) + std::uint64_t{40} == length - header;
        case ether_type::arp:
        case ipoib_rarp:
            return length == header + size_of<IpoibArp> && base::load_be16(packet) == arp_hardware_infiniband &&
                   base::load_u8(packet + 4) == ipoib_hardware_bytes;
        default: return false;
    }
}

}  // namespace wire
