#pragma once
#include <cstdint>

#include "base/bytes.h"

namespace wire {

/// The octets that an invariant CRC covers, as views of the packet. A part that the packet does not have is empty.
struct IcrcPieces {
    base::Bytes lrh;        ///< InfiniBand's own links: 8 octets
    base::Bytes network;    ///< IPv4 header with its options, IPv6 header with its extension headers, or GRH
    base::Bytes udp;        ///< RoCEv2: 8 octets
    base::Bytes transport;  ///< from the BTH's first octet up to the one before the ICRC, pad octets included
};

/// The invariant CRC as it stands in the packet, read as a big-endian number (the way Wireshark prints it). Fields that
/// routers and switches may change count as ones; for RoCE and for global packets the whole LRH does. IBTA vol. 1,
/// 7.8.1, Annexes A16 and A17.
///
/// `transport` holds a BTH at least; `network` a whole header of the version that its first octet names.
std::uint32_t icrc(const IcrcPieces& pieces);

}  // namespace wire
