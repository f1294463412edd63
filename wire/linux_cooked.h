#pragma once
#include <array>

#include "wire/ether_type.h"
#include "wire/layout.h"

namespace wire {

inline constexpr ValueName cooked_packet_types[] = {
    {0, "Unicast to us"}, {1, "Broadcast"}, {2, "Multicast"}, {3, "Unicast to another host"}, {4, "Sent by us"},
};

/// Hardware types of Linux's `if_arp.h` that the address' form or the protocol's meaning depends on.
namespace hardware_type {
inline constexpr std::uint16_t ethernet = 1;
inline constexpr std::uint16_t infiniband = 32;
inline constexpr std::uint16_t gre = 778;
}  // namespace hardware_type

/// Linux "cooked" capture, version 1. LINKTYPE_LINUX_SLL.
struct LinuxCooked {
    std::uint16_t packet_type{};
    std::uint16_t hardware_type{};
    std::uint16_t address_length{};
    std::array<std::byte, 8> address{};  ///< the first octets of the sender's; the rest is padding
    std::uint16_t protocol{};            ///< an EtherType, or a Linux number below `ether_type::first_type`
    bool operator==(const LinuxCooked&) const = default;
};

template <>
inline constexpr auto layout_of<LinuxCooked> = layout("sll", "Linux cooked capture v1",
    bits<&LinuxCooked::packet_type, 16>("sll.pkttype", "Packet type").named(cooked_packet_types),
    bits<&LinuxCooked::hardware_type, 16>("sll.hatype", "Link-layer address type"),
    bits<&LinuxCooked::address_length, 16>("sll.halen", "Link-layer address length"),
    octets<&LinuxCooked::address>("sll.src.other", "Source"),
    bits<&LinuxCooked::protocol, 16>("sll.etype", "Protocol").hex().named(ether_type::names));
static_assert(size_of<LinuxCooked> == 16);

/// Version 2, which also names the interface. LINKTYPE_LINUX_SLL2.
struct LinuxCooked2 {
    std::uint16_t protocol{};
    std::uint32_t interface{};
    std::uint16_t hardware_type{};
    std::uint8_t packet_type{};
    std::uint8_t address_length{};
    std::array<std::byte, 8> address{};
    bool operator==(const LinuxCooked2&) const = default;
};

template <>
inline constexpr auto layout_of<LinuxCooked2> = layout("sll", "Linux cooked capture v2",
    bits<&LinuxCooked2::protocol, 16>("sll.etype", "Protocol").hex().named(ether_type::names),
    reserved<16>(),
    bits<&LinuxCooked2::interface, 32>("sll.ifindex", "Interface index"),
    bits<&LinuxCooked2::hardware_type, 16>("sll.hatype", "Link-layer address type"),
    bits<&LinuxCooked2::packet_type, 8>("sll.pkttype", "Packet type").as(Kind::uint16).named(cooked_packet_types),
    bits<&LinuxCooked2::address_length, 8>("sll.halen", "Link-layer address length").as(Kind::uint16),
    octets<&LinuxCooked2::address>("sll.src.other", "Source"));
static_assert(size_of<LinuxCooked2> == 20);

/// 802.2 without a length, among Linux's own protocol numbers.
inline constexpr std::uint16_t linux_802_2 = 0x0004;

}  // namespace wire
