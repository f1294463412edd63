#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "wire/frame.h"

namespace capture::inline live {

/// A TCP segment of a frame without tunnels, as far as MPA is looked for in it.
struct SegmentView {
    static constexpr std::uint8_t fin = 0x01;
    static constexpr std::uint8_t syn = 0x02;
    static constexpr std::uint8_t rst = 0x04;
    static constexpr std::uint8_t ack = 0x10;

    std::uint16_t source = 0;
    std::uint16_t destination = 0;
    std::uint32_t sequence = 0;
    std::uint32_t acknowledged = 0;
    std::uint8_t flags = 0;
    std::uint64_t flow = 0;           ///< a hash of addresses and ports in this direction; 0 without payload
    base::Bytes addresses = {};       ///< source and destination
    base::Bytes payload = {};         ///< what was captured of it
    std::size_t payload_on_wire = 0;  ///< in bytes
};

/// Absent if the frame is not TCP, is a later piece of a datagram, or is cut within the TCP header.
std::optional<SegmentView> parse_segment(const wire::Frame& frame);

/// Whether the frame's packet is TCP, without tunnels; not for later pieces of a datagram.
bool is_tcp(const wire::Frame& frame);

}  // namespace capture::live
