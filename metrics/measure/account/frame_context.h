#pragma once
#include <cstdint>

#include "metrics/figures/snapshot.h"

namespace metrics::inline measure::inline account {

/// A frame's place among all frames of the capture, for any worker: counted in the order of the capture, before frames
/// are dealt to workers. Flows learn from it about their siblings and about pauses without reading each other.
/// Therefore results do not depend on the number of workers.
struct FrameContext {
    std::uint64_t source_wire_bytes =
        0;  ///< that the frame's source host had put on the wire before it, overhead included
    std::uint64_t source_bits_per_sec = 0;   ///< of its link: given, or learnt so far; 0 = unknown
    std::uint64_t destination_requests = 0;  ///< request packets towards the frame's destination host before it
    std::uint32_t source_pauses = 0;         ///< pause frames that held on the source's interface before it
    std::uint32_t shard_hash = 0;            ///< of the unordered pair of addresses; equal for both directions
    /// Where the BTH of a RoCEv2 packet of the plainest shape begins, which needs no dissector; 0 = take the frame
    /// apart.
    std::uint16_t plain_bth = 0;
    bool plain_segment = false;  ///< the frame is_plain_segment() of TCP, which is read without a dissector
    bool seen_twice = false;     ///< a copy of a frame met before: no flow counts it again
};

/// Bytes that every Ethernet frame takes beyond those captured: preamble 8, FCS 4, gap 12. IEEE 802.3, 3.1.1, 4.4.2.
inline constexpr std::uint32_t ethernet_overhead = link_overhead_bytes;

}  // namespace metrics::measure::account
