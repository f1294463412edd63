#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "dissect/dissection.h"

namespace dissect {

/// Settings that a parser may need.
struct ParseOptions {
    bool verify_crc = true;  ///< compute ICRC, VCRC and MPA CRC and compare
};

/// The state of one dissection, passed from layer to layer. `end` is where the enclosing layer says that its data ends
/// on the wire. With a short snap length it lies beyond the captured bytes; that difference distinguishes truncated
/// from malformed.
class Context {
public:
    Context(base::Bytes described, std::uint32_t wire_length, const ParseOptions& settings, Dissection& result)
        : out(result), options(settings), end(wire_length), bytes_(described) {}

    Dissection& out;
    const ParseOptions& options;
    std::uint32_t offset = 0;  ///< of the next byte to read
    std::uint32_t end;         ///< where the data ends on the wire; never below `offset`
    bool quoted = false;       ///< the present packet is quoted by an ICMP error

    base::Bytes bytes() const { return bytes_; }
    const std::byte* at(std::uint32_t position) const { return bytes_.data() + position; }
    std::uint32_t captured() const { return static_cast<std::uint32_t>(bytes_.size()); }

    /// Bytes from `offset` on that were captured and belong to the enclosing layer.
    std::uint32_t available() const { return std::min(captured(), end) - std::min(offset, std::min(captured(), end)); }
    /// Bytes from `offset` on that the enclosing layer has on the wire.
    std::uint32_t remaining() const { return end - std::min(offset, end); }

    /// Ends the enclosing layer's data at `position`, as a length field says. Returns false and does nothing if the
    /// position lies beyond the known end: then the length field contradicts the layers below.
    bool end_at(std::uint32_t position) {
        if (position > end) [[unlikely]]
            return false;
        end = position;
        return true;
    }
    /// The packet continued where the bytes end now: the first fragment of a datagram, or a frame that a mirror or a
    /// tap has cut. From here on `why` is the reason of missing bytes: snapped and fragment_pending make the packet
    /// truncated, bad_total_length malformed.
    void cut(Reason why) {
        bytes_ = bytes_.first(std::min(captured(), end));
        end = unknown_end;
        missing_ = why;
    }
    /// Whether a mirror has cut the frame, according to a header so far.
    bool cut_by_mirror() const { return end_unknown() && missing_ == Reason::snapped; }
    /// Whether no header so far has said where the data ends on the wire.
    bool end_unknown() const { return end == unknown_end; }
    /// Ends a packet without further layers: incomplete if it is a fragment or contradicts itself.
    LayerId stop_after(LayerId id) {
        if (missing_ != Reason::snapped) [[unlikely]]
            stop(missing_outcome(), missing_, id, offset, 0);
        return LayerId::none;
    }

    /// Claims the next `size` bytes for a layer: records it, advances, returns its first byte. If bytes are missing,
    /// records why and returns nullptr.
    const std::byte* take(LayerId id, std::uint32_t size) {
        if (available() < size) [[unlikely]] {
            stop_short(id, size);
            return nullptr;
        }
        const std::byte* first = at(offset);
        record(id, offset, size, size);
        offset += size;
        return first;
    }

    /// Records a layer whose extent its parser has found itself.
    LayerRef& record(LayerId id, std::uint32_t at_offset, std::uint32_t length, std::uint32_t wire_length) {
        if (out.layer_count == Dissection::max_layers) [[unlikely]] {
            stop(Outcome::malformed, Reason::too_many_layers, id, at_offset, 0);
            return out.layers[Dissection::max_layers - 1];
        }
        LayerRef& layer = out.layers[out.layer_count];
        layer = {id, 0, out.layer_count, at_offset, length, wire_length};
        ++out.layer_count;
        out.present.insert(id);
        return layer;
    }

    /// Ends the dissection because bytes are missing: truncated if the capture is short, malformed if the packet is.
    LayerId stop_short(LayerId id, std::uint32_t size) {
        const bool snapped = remaining() >= size;
        return stop(snapped ? missing_outcome() : Outcome::malformed, snapped ? missing_ : Reason::too_short, id,
                    offset, size);
    }
    /// Ends the dissection; the first reason is kept. Returns LayerId::none, which a parser returns in turn.
    LayerId stop(Outcome outcome, Reason reason, LayerId id, std::uint32_t at_offset, std::uint32_t needed) {
        if (out.stop.outcome == Outcome::complete) out.stop = {outcome, reason, id, at_offset, needed, available()};
        return LayerId::none;
    }
    /// Records something odd and continues.
    void odd(Reason reason, LayerId id, std::uint32_t at_offset) {
        if (out.odd_count == 0) out.odd = {Outcome::odd, reason, id, at_offset, 0, 0};
        if (out.odd_count != 255) ++out.odd_count;
    }

    /// Records that the packet continues with something that is not read; the first is kept.
    void leave_unread(wire::CarrierKind kind, std::uint16_t number) {
        if (!out.unread) out.unread = {kind, number};
    }

    /// Enters an IP header. If the header of a tunnel around it is marked, its receiver sees the mark on this one,
    /// unless this one is not ECN-capable: then the tunnel's end drops the packet. RFC 6040, 4.2.
    void enter_network(const Network& inner) {
        const bool marked = out.network.ecn() == 3 && (inner.traffic_class & 3) != 0 && !mirrored_;
        out.network = inner;
        out.network.marked_outside = marked;
        mirrored_ = false;
    }
    /// What follows is a copy from a mirror: marks on the mirror's own path are not those of the packet.
    void enter_mirror() { mirrored_ = true; }

    /// Layers that an earlier layer has announced (a BTH names the extended headers that follow it).
    void announce(LayerId id) {
        if (announced_end_ < announced_.size()) announced_[announced_end_++] = id;
    }
    LayerId next_announced() {
        return announced_next_ < announced_end_ ? announced_[announced_next_++] : LayerId::none;
    }

private:
    static constexpr std::uint32_t unknown_end = 0x7fffffff;
    Outcome missing_outcome() const {
        return missing_ == Reason::bad_total_length ? Outcome::malformed : Outcome::truncated;
    }

    base::Bytes bytes_;
    Reason missing_ = Reason::snapped;
    bool mirrored_ = false;
    std::array<LayerId, 8> announced_;
    std::uint8_t announced_next_ = 0;
    std::uint8_t announced_end_ = 0;
};

}  // namespace dissect
