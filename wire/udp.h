#pragma once
#include "wire/layout.h"

namespace wire {

/// RFC 768.
struct Udp {
    std::uint16_t source_port{};
    std::uint16_t destination_port{};
    std::uint16_t length{};  ///< of header and data; 0 in a jumbogram (RFC 2675, 4)
    std::uint16_t checksum{};  ///< 0 where the sender computed none
    bool operator==(const Udp&) const = default;
};

template <>
inline constexpr auto layout_of<Udp> = layout("udp", "User Datagram Protocol",
    bits<&Udp::source_port, 16>("udp.srcport", "Source port"),
    bits<&Udp::destination_port, 16>("udp.dstport", "Destination port"),
    bits<&Udp::length, 16>("udp.length", "Length"),
    bits<&Udp::checksum, 16>("udp.checksum", "Checksum").hex());
static_assert(size_of<Udp> == 8);

}  // namespace wire
