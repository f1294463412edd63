#pragma once
#include <cstdint>

namespace wire {

/// What carries a message: RoCEv2 (UDP), RoCEv1 (EtherType 0x8915), InfiniBand (LRH), iWARP (TCP).
enum class Transport : std::uint8_t { roce2, roce1, infiniband, iwarp };

/// What an address of the network layer is: a LID, an IP address, or the GID of a GRH.
enum class AddressFamily : std::uint8_t { none, lid, ipv4, ipv6, gid };

/// Bytes of an address on the wire; 0 for none.
constexpr std::uint32_t address_length(AddressFamily family) {
    switch (family) {
        case AddressFamily::none: return 0;
        case AddressFamily::lid: return 2;
        case AddressFamily::ipv4: return 4;
        case AddressFamily::ipv6:
        case AddressFamily::gid: break;
    }
    return 16;
}

}  // namespace wire
