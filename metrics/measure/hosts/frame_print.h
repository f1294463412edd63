#pragma once
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/hash.h"
#include "metrics/measure/packet/packet_summary.h"
#include "wire/frame.h"

namespace metrics::inline measure::inline hosts {

/// The identity of a packet, wherever on its path it was captured.
struct FramePrint {
    std::uint64_t packet = 0;  ///< hash of the interface, the addresses, IPv4's identification and the transport header
    std::int64_t time_ns = 0;
    std::uint32_t pair = 0;            ///< hash of both addresses, the same for both directions
    std::uint16_t identification = 0;  ///< of IPv4; 0 = none
    std::uint16_t place = 0;           ///< hash of the hop limit and the MAC addresses
    bool forward = false;              ///< which of the two directions
};

/// The same for both directions between two addresses, by their hashes.
inline std::uint32_t pair_hash(std::uint64_t one_address_hash, std::uint64_t other_address_hash) {
    return static_cast<std::uint32_t>(base::mix(one_address_hash + other_address_hash, 0) >> 32);
}

/// The third word of a BTH or TCP header, and the identification of IPv4.
inline std::uint64_t marks_of(const std::byte* header, std::uint32_t identification) {
    return std::uint64_t{base::load_be32(header + 8)} << 32 | identification;
}

/// The interface that a frame crossed: in a capture of `any` the cooked header names it.
std::uint64_t interface_of(const wire::Frame& frame);

/// Whether the packet has a BTH or a TCP header, and addresses.
inline bool has_print(const PacketSummary& seen) {
    return (seen.kind == PacketSummary::Kind::bth || seen.kind == PacketSummary::Kind::tcp) &&
           seen.source.family != wire::AddressFamily::none;
}

/// Of a packet that has one.
FramePrint print_of(const PacketSummary& seen, const wire::Frame& frame);

}  // namespace metrics::measure::hosts
