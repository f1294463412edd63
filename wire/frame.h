#pragma once
#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace wire {

/// What a frame's first octet belongs to: the LINKTYPE_ registry of pcap and pcapng, as far as it carries RDMA. Other
/// values are kept: an unknown link type is reported by its number.
enum class LinkType : std::uint16_t {
    null = 0,
    ethernet = 1,
    raw = 101,
    loop = 108,
    linux_sll = 113,
    ppi = 192,
    erf = 197,
    ipv4 = 228,
    ipv6 = 229,
    nflog = 239,
    ipoib = 242,
    infiniband = 247,
    linux_sll2 = 276,
};

/// Which way a frame crossed the interface, where the capture says so.
enum class Direction : std::uint8_t { unknown, inbound, outbound };

/// One captured frame, seen in place. `bytes` and `comment` are valid until the source is asked for the next frame.
struct Frame {
    base::Bytes bytes;                          ///< the octets captured: at most `wire_length` of them
    std::uint32_t wire_length = 0;        ///< octets the frame had on the wire
    LinkType link_type = LinkType::ethernet;
    Direction direction = Direction::unknown;
    std::uint32_t interface = 0;          ///< index into the interfaces of the source
    std::int64_t time_ns = 0;             ///< nanoseconds since 1970-01-01 00:00 UTC
    std::uint64_t number = 0;             ///< 1 for the first frame of the source
    std::string_view comment = {};        ///< of pcapng packet blocks; several: see comments.h
};

}  // namespace wire
