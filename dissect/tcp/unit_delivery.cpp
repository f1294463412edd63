#include "dissect/tcp/unit_delivery.h"

#include <algorithm>
#include <cstring>

#include "wire/crc32c.h"
#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/rdmap.h"

namespace dissect::tcp {

namespace {

constexpr std::uint8_t misses_that_decide = 16;

std::uint32_t stream_phase(const Flow& flow, std::uint32_t sequence) {
    return flow.markers ? (sequence - flow.marker_origin) % wire::mpa_marker_interval : wire::mpa_marker_interval;
}

}  // namespace

PlainFpdu::PlainFpdu() {
    for (Dissection* const each : {&tagged_, &untagged_}) {
        const bool tagged = each == &tagged_;
        const auto header = static_cast<std::uint32_t>(tagged ? wire::ddp_tagged_size : wire::ddp_untagged_size);
        const auto add = [each](LayerId id, std::uint32_t offset, std::uint32_t length) {
            each->layers[each->layer_count] = {id, 0, each->layer_count, offset, length, length};
            ++each->layer_count;
            each->present.insert(id);
        };
        add(LayerId::mpa_fpdu, 0, 0);
        add(tagged ? LayerId::ddp_tagged : LayerId::ddp_untagged, 2, header);
        add(LayerId::rdmap, 3, tagged ? 1 : 5);
        add(LayerId::ulp_payload, 2 + header, 0);
        each->ddp = {};
        each->ddp.tagged = tagged;
        each->ddp.payload_offset = 2 + header;
    }
}

[[gnu::always_inline]] inline Dissection* PlainFpdu::describe(base::Bytes octets) {
    // DDP's and RDMAP's control bytes: reserved bits are zero, and versions are known. RFC 5041, 4.1; RFC 5040, 4.1.
    constexpr unsigned fixed = 0x3fb0;
    constexpr unsigned fixed_value = 0x0100;
    if (octets.size() < FpduHead::longest) return nullptr;
    const std::byte* const p = octets.data();
    const std::uint32_t length = base::load_be16(p);
    const unsigned control = base::load_be16(p + 2);
    const auto opcode = static_cast<std::uint8_t>(control & 15);
    const bool tagged = (control & 0x8000) != 0;
    const auto header = static_cast<std::uint32_t>(tagged ? wire::ddp_tagged_size : wire::ddp_untagged_size);
    const std::uint32_t size = wire::mpa_fpdu_size(length);
    if ((control & fixed) != fixed_value || size > octets.size() || length <= header || length > wire::mpa_ulpdu_max)
        return nullptr;
    Dissection& out = tagged ? tagged_ : untagged_;
    DdpSummary& ddp = out.ddp;
    if (tagged) {
        if (opcode != 0 && opcode != 2) return nullptr;
        ddp.stag = base::load_be32(p + 4);
        ddp.tagged_offset = base::load_be64(p + 8);
    } else {
        if ((opcode != 3 && opcode != 5) || base::load_be32(p + 4) != 0 ||
            base::load_be32(p + 8) != wire::rdmap_queue(opcode))
            return nullptr;
        ddp.msn = base::load_be32(p + 12);
        ddp.message_offset = base::load_be32(p + 16);
    }
    ddp.last = (control & 0x4000) != 0;
    ddp.opcode = opcode;
    ddp.payload_length = length - header;
    ddp.crc = CrcStatus::unchecked;
    out.layers[0].length = out.layers[0].wire_length = size;
    out.layers[3].length = out.layers[3].wire_length = length - header;
    return &out;
}

UnitDelivery::UnitDelivery(const ParseOptions& options, DissectorCounters& counters)
    : options_(options),
      counters_(counters),
      scratch_(std::make_unique_for_overwrite<std::byte[]>(wire::mpa_longest)) {}

/// RFC 5044 section 4.3. The length field must have been captured.
UnitDelivery::Stripped UnitDelivery::strip_markers(const Flow& flow, const RawUnit& raw) {
    const std::uint32_t phase = stream_phase(flow, raw.sequence);
    const std::uint32_t lead = phase == 0 ? wire::mpa_marker_size : 0;
    Stripped out;
    out.length = wire::mpa_fpdu_size(base::load_be16(raw.octets.data() + lead));
    out.markers = wire::mpa_markers(out.length, phase);
    out.bytes = raw.octets;
    if (out.markers == 0) return out;
    const bool complete = raw.octets.size() == raw.stream_length;
    std::uint32_t marker_at = phase == 0 ? 0 : wire::mpa_marker_interval - phase;
    std::uint32_t filled = 0;
    std::uint32_t markers_at = out.length;
    for (std::size_t from = 0; from < raw.octets.size();) {
        if (from == marker_at) {
            const base::Bytes marker = raw.octets.subspan(from, std::min<std::size_t>(4, raw.octets.size() - from));
            if (complete) {
                std::memcpy(scratch_.get() + markers_at, marker.data(), 4);
                markers_at += 4;
            }
            const std::uint32_t pointer = marker_at == 0 ? 0 : marker_at - lead;
            out.wrong = out.wrong || (marker.size() == 4 && (base::load_be32(marker.data()) & 0xffff) != pointer);
            from += marker.size();
            marker_at += wire::mpa_marker_interval;
            continue;
        }
        const std::size_t count = std::min<std::size_t>(marker_at, raw.octets.size()) - from;
        std::memcpy(scratch_.get() + filled, raw.octets.data() + from, count);
        filled += static_cast<std::uint32_t>(count);
        from += count;
    }
    out.bytes = {scratch_.get(), complete ? markers_at : filled};
    return out;
}

/// Inlined twice: what it is given would pass through memory.
[[gnu::always_inline]] inline void UnitDelivery::hand_over(const Arrival& arrival, const Connection& connection,
                                                           unsigned side, const RawUnit& raw,
                                                           const Dissection& dissection, base::Bytes bytes,
                                                           std::uint32_t markers) {
    Unit out{arrival.frame, arrival.dissection, dissection, bytes, false, Transport::iwarp, raw.first_frame};
    out.stream = connection.number;
    out.from_client = connection.client < 0 ? connection.ends[side].port > connection.ends[1 - side].port
                                            : side == static_cast<unsigned>(connection.client);
    out.sequence = raw.sequence;
    out.stream_length = raw.stream_length;
    out.markers = markers;
    out.mss = connection.sides[1 - side].mss;
    out.passed_ns = raw.passed_ns;
    out.holed = raw.lost_octets;
    arrival.sink.on_unit(out);
}

std::uint32_t UnitDelivery::deliver_plain(const Arrival& arrival, const Connection& connection, unsigned side,
                                          Flow& flow, std::uint32_t sequence, base::Bytes octets) {
    const bool verify = flow.crc != CrcMode::off && options_.verify_crc;
    if (verify && flow.crc == CrcMode::unknown) return 0;
    std::uint32_t taken = 0;
    while (Dissection* const unit = plain_.describe(octets.subspan(taken))) {
        const std::uint32_t size = unit->layers[0].length;
        const RawUnit raw{LayerId::mpa_fpdu, octets.subspan(taken, size), size,
                          sequence + taken,  arrival.frame.number,        arrival.frame.time_ns};
        if (verify) {
            if (!crc_right(flow, raw)) break;
            unit->ddp.crc = CrcStatus::good;
        }
        flow.suspicious = 0;
        flow.last_head.keep(raw.octets);
        ++counters_.units;
        hand_over(arrival, connection, side, raw, *unit, raw.octets, 0);
        taken += size;
    }
    return taken;
}

bool UnitDelivery::crc_right(const Flow& flow, const RawUnit& raw) {
    if (raw.octets.size() < 8 || raw.octets.size() != raw.stream_length) return false;
    const std::size_t body = raw.octets.size() - wire::mpa_crc_size;
    wire::Crc32c crc;
    // The capture may begin right after a marker between FPDUs: all zero, and covered by the CRC.
    if (stream_phase(flow, raw.sequence) == wire::mpa_marker_size) crc.update(std::array<std::byte, 4>{});
    crc.update(raw.octets.first(body));
    return crc.value() == wire::load_crc32c(raw.octets.data() + body);
}

CrcStatus UnitDelivery::check_crc(Flow& flow, const RawUnit& raw) const {
    if (flow.crc == CrcMode::off || !options_.verify_crc) return CrcStatus::unchecked;
    const bool right = crc_right(flow, raw);
    if (flow.crc == CrcMode::on) return right ? CrcStatus::good : CrcStatus::bad;
    if (right) {
        flow.crc = CrcMode::on;
        return CrcStatus::good;
    }
    if (++flow.crc_misses == misses_that_decide) flow.crc = CrcMode::off;
    return CrcStatus::unchecked;
}

void UnitDelivery::count(const Dissection& dissection) {
    ++counters_.units;
    switch (dissection.stop.outcome) {
        case Outcome::complete:
        case Outcome::odd: break;
        case Outcome::truncated:
            counters_.truncated += dissection.stop.reason != Reason::stream_gap;
            counters_.headers_cut += cuts_headers(dissection.stop);
            break;
        case Outcome::malformed: ++counters_.malformed; break;
        case Outcome::unsupported: ++counters_.unsupported; break;
    }
    if (dissection.odd_count != 0) ++counters_.odd;
}

UnitDelivery::Verdict UnitDelivery::deliver(const Arrival& arrival, const Connection& connection, unsigned side,
                                            Flow& flow, const RawUnit& raw) {
    Verdict verdict;
    Stripped unit{raw.octets, raw.stream_length, 0, false};
    if (flow.markers && raw.id == LayerId::mpa_fpdu) [[unlikely]]
        unit = strip_markers(flow, raw);
    dissect_unit(raw.id, unit.bytes, unit.length, options_, dissection_);
    if (raw.id == LayerId::mpa_fpdu) {
        if (raw.octets.size() == raw.stream_length) dissection_.ddp.crc = check_crc(flow, raw);
        verdict = {dissection_.ddp.crc, unit.wrong};
        if (dissection_.has(LayerId::rdmap)) flow.last_head.keep(unit.bytes);
        if (unit.markers != 0) {
            LayerRef& layer = dissection_.layers[0];
            if (unit.bytes.size() > unit.length)
                layer.variant = static_cast<std::uint8_t>(std::min(unit.markers, 255u));
            if (unit.wrong && dissection_.stop.outcome == Outcome::complete)
                dissection_.stop = {Outcome::malformed, Reason::marker_mismatch, LayerId::mpa_fpdu, 0, 0, 0};
        }
    }
    if (raw.lost_octets && dissection_.stop.reason == Reason::snapped) dissection_.stop.reason = Reason::stream_gap;
    count(dissection_);
    hand_over(arrival, connection, side, raw, dissection_, unit.bytes, unit.markers);
    return verdict;
}

}  // namespace dissect::tcp
