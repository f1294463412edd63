#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "dissect/dissection.h"

namespace dissect {

/// Both ends of an IPv4 segment or datagram, as they lie in its frame: for code that only asks whether a frame
/// continues the conversation of the previous one.
struct Ipv4Ends {
    std::uint64_t addresses = 0;  ///< source, destination, in the frame's order
    std::uint32_t ports = 0;      ///< source in the upper half
    bool known = false;           ///< false for other networks: then the frame belongs to no connection

    Ipv4Ends() = default;
    Ipv4Ends(const Dissection& dissection, base::Bytes bytes) {
        const Network& network = dissection.network;
        known = network.family == Network::Family::ipv4 && network.destination_offset == network.source_offset + 4 &&
                network.source_offset + 8 <= bytes.size();
        if (!known) return;
        std::memcpy(&addresses, bytes.data() + network.source_offset, sizeof addresses);
        ports = std::uint32_t{dissection.source_port} << 16 | dissection.destination_port;
    }

    bool same(const Ipv4Ends& other) const {
        return known && other.known && addresses == other.addresses && ports == other.ports;
    }
    /// Whether the other has the opposite direction between the same ends.
    bool opposite(const Ipv4Ends& other) const {
        return known && other.known && addresses == std::rotl(other.addresses, 32) &&
               ports == std::rotl(other.ports, 16);
    }
};

}  // namespace dissect
