#include "dissect/tcp/framer.h"

#include <algorithm>
#include <cstring>

#include "wire/mpa.h"

namespace dissect::tcp {

namespace {

constexpr auto start_size = static_cast<std::uint32_t>(wire::size_of<wire::MpaRequest>);

std::uint32_t marker_before(const Flow& flow, std::uint32_t sequence) {
    return flow.markers && (sequence - flow.marker_origin) % wire::mpa_marker_interval == 0 ? wire::mpa_marker_size : 0;
}

LayerId start_layer(const Connection& connection, unsigned side, base::Bytes octets) {
    switch (wire::mpa_start_kind(octets)) {
        case wire::MpaStartKind::request: return LayerId::mpa_request;
        case wire::MpaStartKind::reply: return LayerId::mpa_reply;
        case wire::MpaStartKind::none: break;
    }
    // The snap length cut the key before its two forms differ.
    return static_cast<unsigned>(connection.client) == 1 - side ? LayerId::mpa_reply : LayerId::mpa_request;
}

/// What the start frames agree on, as far as their flags were captured. RFC 5044 section 7.1.1.
bool negotiate(Connection& connection, unsigned side, bool request, base::Bytes octets) {
    connection.mpa = true;
    connection.client = static_cast<std::int8_t>(request ? side : 1 - side);
    if (octets.size() < start_size) return false;
    const auto start = *wire::parse<wire::MpaRequest>(octets);
    (request ? connection.request_seen : connection.reply_seen) = true;
    connection.crc_wanted = connection.crc_wanted || start.crc;
    connection.sides[1 - side].markers_wanted = start.marker ? 2 : 1;
    const CrcMode mode = connection.crc_mode();
    for (auto& each : connection.sides)
        if (mode != CrcMode::unknown && each.flow != nullptr) each.flow->crc = mode;
    const bool unusable = start.private_length > wire::mpa_private_max || start.revision == 0 || start.revision > 2;
    return unusable || (!request && start.rejected);
}

}  // namespace

bool dropped_by_receiver(const Side& side, const Arrival& arrival) {
    return side.checksums == ChecksumVerdict::right &&
           verify_tcp_checksum(arrival.dissection, arrival.bytes) == ChecksumVerdict::wrong;
}

Framer::Measure Framer::measure_start(const Piece& at) const {
    Measure m;
    m.impossible = !wire::mpa_start_possible(at.bytes);
    m.need = start_size;
    if (m.impossible) return m;
    if (at.bytes.size() >= start_size) {
        const std::uint32_t private_length = base::load_be16(at.bytes.data() + 18);
        m.total = start_size + (private_length > wire::mpa_private_max ? 0 : private_length);
    } else if (at.bytes.size() >= 8 && at.bytes.size() < at.wire_length && at.wire_length >= start_size) {
        // Cut by the snap length; a start frame is alone in its segment, for nothing may follow it unasked.
        m.total = std::min(at.wire_length, start_size + wire::mpa_private_max);
    }
    return m;
}

/// The first FPDU of a stream with markers begins with a marker that points nowhere; no FPDU begins with such a word.
void Framer::decide_markers(const Side& side, Flow& flow, const Piece& at) const {
    const std::uint32_t word = base::load_be32(at.bytes.data());
    flow.markers = side.markers_wanted == 0 ? word == 0 : side.markers_wanted == 2 && (word & 0xffff) == 0;
    flow.markers_known = true;
    flow.marker_origin = at.sequence;
    flow.first_fpdu = false;
}

/// How long the unit is that begins at the piece.
Framer::Measure Framer::measure(const Connection& connection, unsigned side, Flow& flow, const Piece& at) const {
    if (flow.expect == Expect::start_frame) return measure_start(at);
    Measure m;
    if (flow.first_fpdu) [[unlikely]] {
        m.need = 4;
        if (at.bytes.size() < 4) return m;
        decide_markers(connection.sides[side], flow, at);
    }
    const std::uint32_t lead = marker_before(flow, at.sequence);
    m.need = lead + 2;
    if (at.bytes.size() < m.need) return m;
    const std::uint32_t fpdu = wire::mpa_fpdu_size(base::load_be16(at.bytes.data() + lead));
    m.total = fpdu;
    if (flow.markers)
        m.total += wire::mpa_marker_size *
                   wire::mpa_markers(fpdu, (at.sequence - flow.marker_origin) % wire::mpa_marker_interval);
    return m;
}

Framer::Next Framer::complete_start(const Arrival& arrival, Connection& connection, unsigned side, RawUnit raw) {
    Flow& flow = *connection.sides[side].flow;
    raw.id = start_layer(connection, side, raw.octets);
    const bool leaves = negotiate(connection, side, raw.id == LayerId::mpa_request, raw.octets);
    delivery_.deliver(arrival, connection, side, flow, raw);
    flow.expect = Expect::fpdu;
    flow.first_fpdu = true;
    flow.was_in_step = true;
    return leaves ? Next::ended : Next::go_on;
}

/// Whether FPDUs, of few found so far and without markers, break off as they do where there are some.
bool Framer::has_markers_after_all(Flow& flow, const RawUnit& raw) const {
    constexpr std::uint8_t heads_that_decide = 3;  // a marker further on, where chance makes a head once in 8192 bytes
    const std::uint32_t held = raw.sequence - flow.marker_origin;  // FPDUs follow each other so far
    if (held > 2 * wire::mpa_longest) {
        flow.markers_known = true;  // by those that were passed over
        return false;
    }
    FpduHead head;
    if (raw.octets.size() < FpduHead::longest)
        return raw.octets.size() >= FpduHead::shortest && !can_be_fpdu(raw.octets.data());
    if (read_head(raw.octets.data(), FpduHead::longest, head) == 0) return true;
    const bool whole = raw.octets.size() == raw.stream_length;
    if (flow.crc == CrcMode::on && whole && !UnitDelivery::crc_right(flow, raw)) return true;
    if (held >= wire::mpa_marker_interval) flow.markers_known = ++flow.heads_without_markers == heads_that_decide;
    return false;
}

/// `direct`: the unit lies wholly in the piece at hand, so that the piece can still be taken back.
Framer::Next Framer::complete(const Arrival& arrival, Connection& connection, unsigned side, const RawUnit& raw,
                              bool direct) {
    Flow& flow = *connection.sides[side].flow;
    if (flow.expect == Expect::start_frame) [[unlikely]]
        return complete_start(arrival, connection, side, raw);
    if (!flow.markers_known && has_markers_after_all(flow, raw)) [[unlikely]]
        return Next::lost;
    const std::uint32_t lead = marker_before(flow, raw.sequence);
    const bool readable = raw.octets.size() >= lead + FpduHead::shortest;
    if (readable && !can_be_fpdu(raw.octets.data() + lead)) [[unlikely]] {
        const bool real = flow.crc != CrcMode::off && UnitDelivery::crc_right(flow, raw);
        if (!real && flow.suspicious++ != 0 && direct) return Next::lost;
    } else {
        flow.suspicious = 0;
    }
    const auto verdict = delivery_.deliver(arrival, connection, side, flow, raw);
    const bool doubtful = verdict.crc == CrcStatus::bad || verdict.marker_wrong || flow.suspicious != 0;
    if (doubtful && direct && dropped_by_receiver(connection.sides[side], arrival)) [[unlikely]] {
        flow.suspicious = 0;
        return Next::discarded;
    }
    return Next::go_on;
}

void Framer::begin_partial(Flow& flow, const Piece& piece) const {
    flow.partial = true;
    flow.holed = false;
    flow.lost_octets = false;
    flow.unit_sequence = piece.sequence;
    flow.have = 0;
    flow.kept = 0;
    flow.total = 0;
    flow.first_frame = piece.frame;
    flow.passed_ns = piece.time_ns;
}

RawUnit Framer::partial_unit(const Flow& flow) const {
    const std::byte* first = flow.buffer.data != nullptr ? flow.buffer.data : flow.head.data();
    return {LayerId::mpa_fpdu, {first, flow.kept}, flow.total,      flow.unit_sequence,
            flow.first_frame,  flow.passed_ns,     flow.lost_octets};
}

void Framer::drop_partial(Flow& flow) {
    pool_.release(flow.buffer);
    flow.buffer = {};
    flow.partial = false;
}

/// Takes bytes of a unit that spans pieces. False where its length is unknown from here on.
bool Framer::absorb(const Connection& connection, unsigned side, Flow& flow, Piece& piece) {
    if (piece.frame != 0) flow.passed_ns = std::max(flow.passed_ns, piece.time_ns);
    while (flow.total == 0) {
        const Piece known{flow.unit_sequence, flow.have, {flow.head.data(), flow.kept}, flow.first_frame};
        const Measure m = measure(connection, side, flow, known);
        if (m.impossible) return false;
        if (m.total != 0) {
            flow.total = m.total;
            if (m.total <= flow.head.size()) break;
            flow.buffer = pool_.acquire(m.total);
            if (flow.buffer.data != nullptr)
                std::memcpy(flow.buffer.data, flow.head.data(), flow.kept);
            else
                flow.holed = true;
            break;
        }
        if (piece.wire_length == 0) return true;
        const std::uint32_t count = std::min(m.need - flow.have, piece.wire_length);
        if (piece.bytes.size() < count) return false;
        std::memcpy(flow.head.data() + flow.have, piece.bytes.data(), count);
        flow.have += count;
        flow.kept += count;
        piece.drop(count);
    }
    const std::uint32_t count = std::min(flow.total - flow.have, piece.wire_length);
    if (!flow.holed) {
        const auto captured = static_cast<std::uint32_t>(std::min<std::size_t>(count, piece.bytes.size()));
        std::byte* to = flow.buffer.data != nullptr ? flow.buffer.data : flow.head.data();
        if (captured != 0) std::memcpy(to + flow.kept, piece.bytes.data(), captured);
        flow.kept += captured;
        flow.holed = captured < count;
        flow.lost_octets = flow.holed && piece.bytes.empty() && piece.frame == 0;
    }
    flow.have += count;
    piece.drop(count);
    return true;
}

Framer::Result Framer::feed(const Arrival& arrival, Connection& connection, unsigned side, Piece piece, bool live) {
    Flow& flow = *connection.sides[side].flow;
    if (flow.partial && live && dropped_by_receiver(connection.sides[side], arrival)) [[unlikely]]
        return {Outcome::discarded, piece};
    const auto stopped = [&](Next next) {
        return Result{next == Next::lost    ? Outcome::lost
                      : next == Next::ended ? Outcome::ended
                                            : Outcome::discarded,
                      piece};
    };
    while (piece.wire_length != 0) {
        if (!flow.partial) {
            const Measure m = measure(connection, side, flow, piece);
            if (m.impossible) [[unlikely]]
                return {Outcome::not_mpa, piece};
            if (m.total != 0 && m.total <= piece.wire_length) [[likely]] {
                const base::Bytes octets = piece.bytes.first(std::min<std::size_t>(m.total, piece.bytes.size()));
                const Next next = complete(
                    arrival, connection, side,
                    {LayerId::mpa_fpdu, octets, m.total, piece.sequence, piece.frame, piece.time_ns, false}, true);
                if (next == Next::discarded || next == Next::lost) [[unlikely]]
                    return stopped(next);
                piece.drop(m.total);
                if (next == Next::ended) [[unlikely]]
                    return stopped(next);
                continue;
            }
            if (m.total == 0 && piece.bytes.size() < std::min(piece.wire_length, m.need)) return {Outcome::lost, piece};
            if (live && dropped_by_receiver(connection.sides[side], arrival)) return {Outcome::discarded, piece};
            // Nothing that is no FPDU may swallow what follows.
            const std::uint32_t lead = marker_before(flow, piece.sequence);
            const bool readable = flow.expect == Expect::fpdu && piece.bytes.size() >= lead + FpduHead::shortest;
            if (readable && !can_be_fpdu(piece.bytes.data() + lead)) return {Outcome::lost, piece};
            begin_partial(flow, piece);
        }
        if (!absorb(connection, side, flow, piece)) {
            const bool start = flow.expect == Expect::start_frame;
            drop_partial(flow);
            return {start ? Outcome::not_mpa : Outcome::lost, piece};
        }
        if (flow.total == 0 || flow.have < flow.total) continue;
        const Next next = complete(arrival, connection, side, partial_unit(flow), false);
        drop_partial(flow);
        if (next != Next::go_on) [[unlikely]]
            return stopped(next);
    }
    return {};
}

void Framer::abandon(const Arrival& arrival, Connection& connection, unsigned side) {
    Flow& flow = *connection.sides[side].flow;
    if (!flow.partial) return;
    flow.lost_octets = true;
    if (flow.total != 0 && flow.kept != 0 && flow.expect == Expect::fpdu &&
        flow.kept >= marker_before(flow, flow.unit_sequence) + 2)
        complete(arrival, connection, side, partial_unit(flow), false);
    drop_partial(flow);
}

}  // namespace dissect::tcp
