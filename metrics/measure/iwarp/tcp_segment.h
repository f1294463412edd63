#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "dissect/dissection.h"
#include "dissect/plain_segment.h"
#include "dissect/tcp_flags.h"
#include "metrics/measure/account/frame_context.h"
#include "wire/frame.h"

namespace metrics::inline measure::iwarp {

using dissect::TcpFlag;
using enum dissect::TcpFlag;

/// The TCP options that the measurement reads. RFC 9293, 3.2; RFC 7323; RFC 2018.
struct TcpOptions {
    std::optional<std::uint16_t> mss;
    std::optional<std::uint8_t> window_scale;  ///< at most 14
    std::optional<std::uint32_t> timestamp;    ///< TSval
    std::uint32_t sack_top = 0;                ///< highest right edge of the blocks
    std::uint32_t sack_newest_left = 0;        ///< of the first block. RFC 2018, 4
    std::uint32_t sack_newest_right = 0;
    std::uint8_t sack_blocks = 0;  ///< D-SACK's among them
    bool sack_permitted = false;
    bool sack_above = false;  ///< a block lies above the acknowledgement: bytes below it are missing. RFC 2883
};

/// One TCP segment of a frame.
struct Segment {
    const wire::Frame& frame;
    const dissect::Dissection& dissection;
    const FrameContext& context;

    const dissect::TcpSummary& tcp() const { return dissection.tcp; }
    bool has(TcpFlag flag) const { return (dissection.tcp.flags & flag) != 0; }
    std::int64_t now_ns() const { return frame.time_ns; }
    /// The bytes captured of the payload.
    base::Bytes payload() const {
        const dissect::TcpSummary& tcp = dissection.tcp;
        if (tcp.payload_offset > frame.bytes.size()) return {};
        const base::Bytes rest = frame.bytes.subspan(tcp.payload_offset);
        return rest.first(std::min<std::size_t>(rest.size(), tcp.payload_captured));
    }
    TcpOptions options() const {
        const dissect::LayerRef* layer = find(dissect::LayerId::tcp, 1);
        if (layer == nullptr) return {};
        const std::size_t begin = std::size_t{layer->offset} + 20;
        const std::size_t end = std::min<std::size_t>(dissection.tcp.payload_offset, frame.bytes.size());
        if (begin >= end) return {};
        return read_options(frame.bytes.subspan(begin, end - begin));
    }
    /// TSval. RFC 7323, 3.2.
    std::optional<std::uint32_t> timestamp() const {
        if (header_bytes() == 20) return std::nullopt;
        return has_aligned_timestamps() ? base::load_be32(header() + 24) : options().timestamp;
    }
    /// Bytes of the frame, as it was before a mirror cut it.
    std::uint32_t wire_length() const { return frame.wire_length + dissection.cut_octets; }
    /// Whether there may be options other than timestamps in the usual place.
    bool has_other_options() const { return header_bytes() != 20 && !has_aligned_timestamps(); }
    /// TCP's checksum; 0 if it was not captured.
    std::uint16_t checksum() const {
        constexpr std::size_t checksum_at = 16;
        const dissect::LayerRef* layer = find(dissect::LayerId::tcp, 1);
        if (layer == nullptr || layer->offset + checksum_at + 2 > frame.bytes.size()) return 0;
        return base::load_be16(frame.bytes.data() + layer->offset + checksum_at);
    }
    /// IPv4's identification; absent on IPv6.
    std::optional<std::uint16_t> identification() const {
        constexpr std::size_t identification_at = 4;
        if (dissection.network.family != wire::AddressFamily::ipv4) return std::nullopt;
        const dissect::LayerRef* layer = find(dissect::LayerId::ipv4, 2);
        if (layer == nullptr || layer->offset + identification_at + 2 > frame.bytes.size()) return std::nullopt;
        return base::load_be16(frame.bytes.data() + layer->offset + identification_at);
    }

    /// What the headers have in addition to TcpSummary if everything lies in its usual place.
    struct Plain {
        std::uint32_t timestamp = 0;  ///< TSval, if there is one
        std::uint16_t identification = 0;
        std::uint16_t checksum = 0;
        bool has_timestamp = false;
    };
    /// False unless the frame is_plain_segment() of IPv4, without options other than timestamps.
    bool read_plain(Plain& out) const {
        if (!context.plain_segment) return false;
        const std::byte* const tcp = frame.bytes.data() + dissect::plain_tcp_offset;
        const std::uint32_t bytes = dissection.tcp.payload_offset - dissect::plain_tcp_offset;
        out.has_timestamp = bytes == 32 && base::load_be32(tcp + 20) == aligned_timestamps;
        if (bytes != 20 && !out.has_timestamp) return false;
        out.timestamp = out.has_timestamp ? base::load_be32(tcp + 24) : 0;
        out.identification = base::load_be16(tcp - 16);
        out.checksum = base::load_be16(tcp + 16);
        return true;
    }

private:
    static constexpr std::uint32_t aligned_timestamps = 0x0101080a;  ///< RFC 7323, appendix A: nearly every segment

    const std::byte* header() const { return frame.bytes.data() + find(dissect::LayerId::tcp, 1)->offset; }
    /// The captured bytes of the header; 20 if absent.
    std::size_t header_bytes() const {
        const dissect::LayerRef* layer = find(dissect::LayerId::tcp, 1);
        if (layer == nullptr) return 20;
        const std::size_t end = std::min<std::size_t>(dissection.tcp.payload_offset, frame.bytes.size());
        return end > std::size_t{layer->offset} + 20 ? end - layer->offset : 20;
    }
    bool has_aligned_timestamps() const {
        return header_bytes() == 32 && base::load_be32(header() + 20) == aligned_timestamps;
    }
    TcpOptions read_options(base::Bytes bytes) const;
    /// The innermost layer of that kind. Nearly always it has this distance from the end.
    const dissect::LayerRef* find(dissect::LayerId id, unsigned from_end) const {
        if (dissection.layer_count >= from_end) {
            const dissect::LayerRef& layer = dissection.layers[dissection.layer_count - from_end];
            if (layer.id == id) [[likely]]
                return &layer;
        }
        return dissection.find(id);
    }
};

using base::elapsed;

inline void keep_least(std::uint32_t& least, std::uint64_t value) {
    if (value < least) least = static_cast<std::uint32_t>(std::max<std::uint64_t>(value, 1));
}

/// How far a sequence number lies ahead of a position; negative if it lies before the position. RFC 9293, 3.4.
inline std::int32_t ahead_of(std::uint64_t position, std::uint32_t sequence) {
    return static_cast<std::int32_t>(sequence - static_cast<std::uint32_t>(position));
}
/// The position that a sequence number near `reference` has.
inline std::uint64_t position_of(std::uint64_t reference, std::uint32_t sequence) {
    return reference + static_cast<std::uint64_t>(static_cast<std::int64_t>(ahead_of(reference, sequence)));
}

}  // namespace metrics::measure::iwarp
