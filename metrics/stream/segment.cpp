#include "metrics/stream/segment.h"

#include "wire/tcp.h"

namespace metrics::stream {

using dissect::LayerId;

wire::Bytes Segment::payload() const {
    const dissect::TcpSummary& tcp = dissection.tcp;
    if (tcp.payload_offset > frame.bytes.size()) return {};
    const wire::Bytes rest = frame.bytes.subspan(tcp.payload_offset);
    return rest.first(std::min<std::size_t>(rest.size(), tcp.payload_captured));
}

TcpOptions Segment::options() const {
    constexpr std::uint32_t aligned_timestamps = 0x0101080a;  // RFC 7323, appendix A: nearly every segment
    TcpOptions out;
    const dissect::LayerRef* layer = dissection.find(LayerId::tcp);
    if (layer == nullptr) return out;
    const std::size_t begin = std::size_t{layer->offset} + 20;
    const std::size_t end = std::min<std::size_t>(dissection.tcp.payload_offset, frame.bytes.size());
    if (begin >= end) return out;
    wire::Bytes rest = frame.bytes.subspan(begin, end - begin);
    if (rest.size() == 12 && wire::load_be32(rest.data()) == aligned_timestamps) {
        out.timestamp = wire::load_be32(rest.data() + 4);
        return out;
    }
    while (rest.size() >= 2) {
        const std::uint8_t kind = wire::load_u8(rest.data());
        if (kind == wire::tcp_option::end) break;
        if (kind == wire::tcp_option::no_operation) {
            rest = rest.subspan(1);
            continue;
        }
        const std::size_t length = wire::load_u8(rest.data() + 1);
        if (length < 2 || length > rest.size()) break;
        const std::byte* value = rest.data() + 2;
        if (kind == wire::tcp_option::mss && length == 4) out.mss = wire::load_be16(value);
        if (kind == wire::tcp_option::window_scale && length == 3)
            out.window_scale = std::min<std::uint8_t>(wire::load_u8(value), 14);  // RFC 7323, 2.3
        if (kind == wire::tcp_option::sack_permitted) out.sack_permitted = true;
        if (kind == wire::tcp_option::timestamp && length == 10) out.timestamp = wire::load_be32(value);
        if (kind == wire::tcp_option::sack) {
            for (std::size_t at = 2; at + 8 <= length; at += 8) {
                const std::uint32_t right = wire::load_be32(rest.data() + at + 4);
                ++out.sack_blocks;
                if (static_cast<std::int32_t>(right - dissection.tcp.acknowledgment) <= 0) continue;
                if (!out.sack_above || static_cast<std::int32_t>(right - out.sack_top) > 0) out.sack_top = right;
                out.sack_above = true;
            }
        }
        rest = rest.subspan(length);
    }
    return out;
}

std::uint16_t Segment::checksum() const {
    constexpr std::size_t checksum_at = 16;
    const dissect::LayerRef* layer = dissection.find(LayerId::tcp);
    if (layer == nullptr || layer->offset + checksum_at + 2 > frame.bytes.size()) return 0;
    return wire::load_be16(frame.bytes.data() + layer->offset + checksum_at);
}

std::optional<std::uint16_t> Segment::identification() const {
    constexpr std::size_t identification_at = 4;
    const dissect::LayerRef* layer = dissection.find(LayerId::ipv4);
    if (layer == nullptr || dissection.network.family != dissect::Network::Family::ipv4) return std::nullopt;
    if (layer->offset + identification_at + 2 > frame.bytes.size()) return std::nullopt;
    return wire::load_be16(frame.bytes.data() + layer->offset + identification_at);
}

}  // namespace metrics::stream
