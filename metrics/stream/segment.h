#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "dissect/dissection.h"
#include "metrics/frame_context.h"
#include "wire/frame.h"

namespace metrics::stream {

/// TCP's flags as TcpSummary has them.
enum TcpFlag : std::uint8_t {
    tcp_fin = 0x01,
    tcp_syn = 0x02,
    tcp_rst = 0x04,
    tcp_ack = 0x10,
    tcp_ece = 0x40,
    tcp_cwr = 0x80
};

/// The options that matter here. RFC 9293, 3.2; RFC 7323; RFC 2018.
struct TcpOptions {
    std::optional<std::uint16_t> mss;
    std::optional<std::uint8_t> window_scale;  ///< at most 14
    std::optional<std::uint32_t> timestamp;    ///< TSval
    std::uint32_t sack_top = 0;                ///< highest right edge of the blocks
    std::uint8_t sack_blocks = 0;              ///< D-SACK's among them
    bool sack_permitted = false;
    bool sack_above = false;  ///< a block lies above the acknowledgement: octets below it are missing. RFC 2883
};

/// One TCP segment of a frame.
struct Segment {
    const wire::Frame& frame;
    const dissect::Dissection& dissection;
    const FrameContext& context;

    const dissect::TcpSummary& tcp() const { return dissection.tcp; }
    bool has(TcpFlag flag) const { return (dissection.tcp.flags & flag) != 0; }
    std::int64_t now_ns() const { return frame.time_ns; }
    /// The octets captured of the payload.
    wire::Bytes payload() const;
    TcpOptions options() const;
    /// TCP's checksum; 0 where it was not captured.
    std::uint16_t checksum() const;
    /// IPv4's identification; absent on IPv6.
    std::optional<std::uint16_t> identification() const;
};

inline std::uint64_t elapsed(std::int64_t from_ns, std::int64_t to_ns) {
    return to_ns > from_ns ? static_cast<std::uint64_t>(to_ns) - static_cast<std::uint64_t>(from_ns) : 0;
}

inline void keep_least(std::uint32_t& least, std::uint64_t value) {
    if (value < least) least = static_cast<std::uint32_t>(std::max<std::uint64_t>(value, 1));
}

/// How far a sequence number lies ahead of a position, behind being negative. RFC 9293, 3.4.
inline std::int32_t ahead_of(std::uint64_t position, std::uint32_t sequence) {
    return static_cast<std::int32_t>(sequence - static_cast<std::uint32_t>(position));
}
/// The position that a sequence number near `reference` has.
inline std::uint64_t position_of(std::uint64_t reference, std::uint32_t sequence) {
    return reference + static_cast<std::uint64_t>(static_cast<std::int64_t>(ahead_of(reference, sequence)));
}

}  // namespace metrics::stream
