#include "replay/frames/checksums.h"

#include <algorithm>
#include <optional>

#include "wire/bth.h"
#include "wire/icrc.h"
#include "wire/ip_protocol.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace replay::inline frames {
namespace {

using dissect::Dissection;
using dissect::LayerId;
using dissect::LayerRef;

constexpr std::uint32_t udp_checksum = 6;
constexpr std::uint32_t tcp_checksum = 16;
constexpr std::uint32_t ipv4_checksum = 10;

std::uint64_t sum_of(base::Bytes octets) {
    std::uint64_t sum = 0;
    std::size_t i = 0;
    for (; i + 1 < octets.size(); i += 2) sum += base::load_be16(octets.data() + i);
    if (i < octets.size()) sum += std::uint64_t{base::load_u8(octets.data() + i)} << 8;
    return sum;
}
std::uint16_t folded(std::uint64_t sum) {
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(sum);
}

/// What an ICRC covers, by the layers; nothing where it is not whole in this frame.
std::optional<wire::IcrcPieces> pieces_of(base::Bytes frame, const Dissection& dissection, const LayerRef& crc) {
    unsigned i = crc.depth;
    while (i > 0 && dissection.layers[i].id != LayerId::bth) --i;
    if (i == 0) return std::nullopt;
    wire::IcrcPieces pieces;
    const std::uint32_t bth = dissection.layers[i].offset;
    pieces.transport = frame.subspan(bth, crc.offset - bth);
    const LayerRef& below = dissection.layers[--i];
    if (below.id == LayerId::lrh) {
        pieces.lrh = frame.subspan(below.offset, below.length);
        return pieces;
    }
    if (below.id == LayerId::grh) {
        pieces.network = frame.subspan(below.offset, below.length);
        return pieces;
    }
    if (below.id != LayerId::udp) return std::nullopt;
    pieces.udp = frame.subspan(below.offset, below.length);
    while (i-- > 0) {
        const LayerRef& network = dissection.layers[i];
        if (network.id != LayerId::ipv4 && network.id != LayerId::ipv6) continue;
        pieces.network = frame.subspan(network.offset, below.offset - network.offset);
        return pieces;
    }
    return std::nullopt;
}

/// The CRC is linear: the difference between what stands there and what is right stays the same.
bool mend_icrc(base::Bytes before, base::MutableBytes after, const Dissection& dissection) {
    const LayerRef* crc = dissection.find(LayerId::icrc);
    if (crc == nullptr || dissection.fragmented || crc->offset + wire::icrc_octets > after.size()) return false;
    const auto old_pieces = pieces_of(before, dissection, *crc);
    const auto new_pieces = pieces_of(after, dissection, *crc);
    if (!old_pieces || !new_pieces) return false;
    std::byte* const place = after.data() + crc->offset;
    base::store_be32(place, base::load_be32(place) ^ wire::icrc(*old_pieces) ^ wire::icrc(*new_pieces));
    return true;
}

/// A TCP or UDP segment, the IP header that its pseudo-header is of, and where its data ends.
struct Segment {
    LayerRef header = {};
    LayerRef network = {};
    std::uint32_t end = 0;
    bool whole = false;
    std::uint32_t checksum = 0;  ///< where it stands
    bool udp = false;
};

std::optional<Segment> segment_at(base::Bytes frame, const Dissection& dissection, unsigned index) {
    Segment segment{.header = dissection.layers[index]};
    segment.udp = segment.header.id == LayerId::udp;
    unsigned i = index;
    while (i-- > 0) {
        segment.network = dissection.layers[i];
        if (segment.network.id == LayerId::ipv4 || segment.network.id == LayerId::ipv6) break;
        if (i == 0) return std::nullopt;
    }
    const std::byte* const ip = frame.data() + segment.network.offset;
    bool fragment = false;
    std::uint32_t end = 0;
    if (segment.network.id == LayerId::ipv4) {
        end = segment.network.offset + base::load_be16(ip + 2);
        fragment = (base::load_be16(ip + 6) & 0x3fff) != 0;
    } else {
        end = segment.network.offset + static_cast<std::uint32_t>(wire::size_of<wire::Ipv6>) + base::load_be16(ip + 4);
        for (unsigned between = i + 1; between < index; ++between)
            fragment = fragment || dissection.layers[between].id == LayerId::ipv6_fragment;
    }
    segment.checksum = segment.header.offset + (segment.udp ? udp_checksum : tcp_checksum);
    segment.whole = !fragment && end <= frame.size() && end >= segment.checksum + 2;
    segment.end = std::min(end, static_cast<std::uint32_t>(frame.size()));
    if (segment.checksum + 2 > segment.end) return std::nullopt;
    return segment;
}

std::uint64_t pseudo_sum(base::Bytes frame, const Segment& segment) {
    const base::Bytes ip = frame.subspan(segment.network.offset);
    const base::Bytes addresses = segment.network.id == LayerId::ipv4 ? ip.subspan(12, 8) : ip.subspan(8, 32);
    return sum_of(addresses) + (segment.udp ? wire::ip_protocol::udp : wire::ip_protocol::tcp) +
           (segment.end - segment.header.offset);
}
std::uint64_t segment_sum(base::Bytes frame, const Segment& segment) {
    return pseudo_sum(frame, segment) +
           sum_of(frame.subspan(segment.header.offset, segment.end - segment.header.offset));
}

void mend_segment(base::Bytes before, base::MutableBytes after, const Segment& segment) {
    std::byte* const place = after.data() + segment.checksum;
    const std::uint16_t stored = base::load_be16(before.data() + segment.checksum);
    if (segment.udp && stored == 0) return;
    const bool right = segment.whole && folded(segment_sum(before, segment)) == 0xffff;
    const bool unfinished = segment.whole && !right && stored == folded(pseudo_sum(before, segment));
    std::uint16_t checksum = 0;
    if (right || unfinished) {
        base::store_be16(place, 0);
        checksum = static_cast<std::uint16_t>(~folded(segment_sum(after, segment)));
    } else {
        // RFC 1624, equation 3, over all that the segment has here. The checksum itself is in both sums.
        const std::uint16_t gone = folded(segment_sum(before, segment));
        const std::uint16_t come = folded(segment_sum(after, segment));
        checksum = static_cast<std::uint16_t>(
            ~folded(std::uint64_t{static_cast<std::uint16_t>(~stored)} + static_cast<std::uint16_t>(~gone) + come));
    }
    base::store_be16(place, segment.udp && checksum == 0 ? std::uint16_t{0xffff} : checksum);
}

void mend_ipv4(base::Bytes before, base::MutableBytes after, const LayerRef& header) {
    if (header.length < wire::size_of<wire::Ipv4>) return;
    const auto gone = sum_of(before.subspan(header.offset, header.length));
    const auto come = sum_of(base::Bytes{after}.subspan(header.offset, header.length));
    std::byte* const place = after.data() + header.offset + ipv4_checksum;
    const std::uint16_t stored = base::load_be16(place);
    base::store_be16(place, static_cast<std::uint16_t>(~folded(std::uint64_t{static_cast<std::uint16_t>(~stored)} +
                                                               static_cast<std::uint16_t>(~folded(gone)) + come)));
}

}  // namespace

bool mend_checksums(base::Bytes before, base::MutableBytes after, const Dissection& dissection) {
    const bool covered = dissection.has(LayerId::bth) || dissection.fragmented;
    const bool icrc = !covered || mend_icrc(before, after, dissection);
    for (unsigned i = dissection.own_layer_count(); i-- > 0;) {
        const LayerRef& layer = dissection.layers[i];
        if (layer.id == LayerId::ipv4) mend_ipv4(before, after, layer);
        if (layer.id != LayerId::udp && layer.id != LayerId::tcp) continue;
        if (const auto segment = segment_at(before, dissection, i)) mend_segment(before, after, *segment);
    }
    return icrc;
}

}  // namespace replay::frames
