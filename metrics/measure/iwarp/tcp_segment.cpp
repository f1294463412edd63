#include "metrics/measure/iwarp/tcp_segment.h"

#include "wire/tcp.h"

namespace metrics::inline measure::iwarp {

TcpOptions Segment::read_options(base::Bytes rest) const {
    TcpOptions out;
    if (rest.size() == 12 && base::load_be32(rest.data()) == aligned_timestamps) {
        out.timestamp = base::load_be32(rest.data() + 4);
        return out;
    }
    while (rest.size() >= 2) {
        const std::uint8_t kind = base::load_u8(rest.data());
        if (kind == wire::tcp_option::end) break;
        if (kind == wire::tcp_option::no_operation) {
            rest = rest.subspan(1);
            continue;
        }
        const std::size_t length = base::load_u8(rest.data() + 1);
        if (length < 2 || length > rest.size()) break;
        const std::byte* value = rest.data() + 2;
        if (kind == wire::tcp_option::mss && length == 4) out.mss = base::load_be16(value);
        if (kind == wire::tcp_option::window_scale && length == 3)
            out.window_scale = std::min<std::uint8_t>(base::load_u8(value), 14);  // RFC 7323, 2.3
        if (kind == wire::tcp_option::sack_permitted) out.sack_permitted = true;
        if (kind == wire::tcp_option::timestamp && length == 10) out.timestamp = base::load_be32(value);
        if (kind == wire::tcp_option::sack) {
            for (std::size_t at = 2; at + 8 <= length; at += 8) {
                const std::uint32_t right = base::load_be32(rest.data() + at + 4);
                if (out.sack_blocks++ == 0) {
                    out.sack_newest_left = base::load_be32(rest.data() + at);
                    out.sack_newest_right = right;
                }
                if (static_cast<std::int32_t>(right - dissection.tcp.acknowledgment) <= 0) continue;
                if (!out.sack_above || static_cast<std::int32_t>(right - out.sack_top) > 0) out.sack_top = right;
                out.sack_above = true;
            }
        }
        rest = rest.subspan(length);
    }
    return out;
}

}  // namespace metrics::measure::iwarp
