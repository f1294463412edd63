#include "capture/live/mpa_connections.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/hash.h"
#include "wire/layout.h"
#include "wire/mpa.h"

namespace capture::inline live {
namespace {

constexpr std::size_t handshake_places = 1024;
constexpr std::size_t connection_sets = 4096;
constexpr std::size_t connections_a_set = 4;
constexpr std::uint32_t proven_window = 64U << 20;
constexpr std::uint32_t unproven_window = 16U << 20;
constexpr std::uint8_t proofs_enough = 4;
constexpr int least_fpdus = 2;
constexpr std::size_t start_frame_header = wire::size_of<wire::MpaRequest>;

constexpr std::uint8_t marker_flag = 0x80;  ///< RFC 5044 section 7.1.1, in the byte after the key

}  // namespace

/// `way`: 0 if the segment comes from the lesser end, 1 otherwise.
MpaConnections::Ends MpaConnections::ends_of(const SegmentView& segment, std::size_t& way) {
    constexpr std::size_t end_octets = 18;
    std::array<std::array<std::byte, end_octets>, 2> ends{};
    const std::size_t address_octets = segment.addresses.size() / 2;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const std::uint16_t port = i == 0 ? segment.source : segment.destination;
        std::copy_n(segment.addresses.data() + i * address_octets, address_octets, ends[i].data());
        ends[i][16] = static_cast<std::byte>(port >> 8);
        ends[i][17] = static_cast<std::byte>(port & 0xff);
    }
    way = ends[1] < ends[0] ? 1 : 0;
    if (way == 1) std::swap(ends[0], ends[1]);
    Ends both;
    std::copy(ends[0].begin(), ends[0].end(), both.octets.begin());
    std::copy(ends[1].begin(), ends[1].end(), both.octets.begin() + end_octets);
    return both;
}

MpaConnections::Connection* MpaConnections::find(const Ends& ends) {
    if (connections_.empty()) return nullptr;
    const std::size_t set = base::fnv(base::fnv_begin, ends.octets) % connection_sets * connections_a_set;
    for (Connection& each : std::span(connections_).subspan(set, connections_a_set))
        if (each.is_used && each.ends == ends) return &each;
    return nullptr;
}

/// In the place of the same ends, else of the connection of the set that was seen least recently.
MpaConnections::Connection& MpaConnections::make(const Ends& ends, std::int64_t now_ns) {
    if (connections_.empty()) connections_.resize(connection_sets * connections_a_set);
    Connection* place = find(ends);
    if (place == nullptr) {
        const std::size_t set = base::fnv(base::fnv_begin, ends.octets) % connection_sets * connections_a_set;
        const auto places = std::span(connections_).subspan(set, connections_a_set);
        place = &*std::min_element(places.begin(), places.end(), [](const Connection& a, const Connection& b) {
            return a.is_used != b.is_used ? !a.is_used : a.seen_ns < b.seen_ns;
        });
    }
    *place = {.ends = ends, .seen_ns = now_ns, .is_used = true};
    return *place;
}

bool MpaConnections::recognises(const SegmentView& segment, std::int64_t now_ns) {
    std::size_t direction = 0;
    const Ends ends = ends_of(segment, direction);
    if (Connection* const known = find(ends)) {
        Way& way = known->ways[direction];
        const std::uint32_t window = known->is_proven ? proven_window : unproven_window;
        const bool is_near = !way.has_end || segment.sequence - (way.end - window) < 2 * window;
        if (is_near && known->is_closed && (segment.flags & SegmentView::syn) != 0) {
            known->is_used = false;  // the next connection of these ports
        } else if (is_near) {
            known->seen_ns = now_ns;
            return is_continued(segment, *known, way);
        }
    }
    if ((segment.flags & SegmentView::syn) != 0)
        return served_ports_.test(segment.source) || served_ports_.test(segment.destination);
    if (segment.payload.empty()) return false;
    if (wire::mpa_start_kind(segment.payload) != wire::MpaStartKind::none) {
        note_start(segment, ends, direction, now_ns);
        return true;
    }
    return starts_by_fpdus(segment, ends, direction, now_ns);
}

/// Remembers a start frame. If the other end's start frame fits, the connection speaks MPA.
void MpaConnections::note_start(const SegmentView& segment, const Ends& ends, std::size_t way, std::int64_t now_ns) {
    if (segment.payload.size() < start_frame_header || (segment.flags & SegmentView::ack) == 0) return;
    if (handshakes_.empty()) handshakes_.resize(handshake_places);
    Handshake& handshake = handshakes_[base::fnv(base::fnv_begin, ends.octets) % handshake_places];
    if (handshake.ends != ends) handshake = {.ends = ends};
    const std::uint32_t private_length = base::load_be16(segment.payload.data() + wire::mpa_key_size + 2);
    const bool is_request = wire::mpa_start_kind(segment.payload) == wire::MpaStartKind::request;
    (is_request ? handshake.request : handshake.reply) = {
        .way = way,
        .begin = segment.sequence,
        .end = segment.sequence + static_cast<std::uint32_t>(start_frame_header) + private_length,
        .acknowledged = segment.acknowledged,
        .has_markers = (base::load_u8(segment.payload.data() + wire::mpa_key_size) & marker_flag) != 0,
        .is_set = true};
    const Start& request = handshake.request;
    const Start& reply = handshake.reply;
    if (!request.is_set || !reply.is_set || request.way == reply.way) return;
    if (reply.begin != request.acknowledged || reply.acknowledged != request.end) return;
    Connection& connection = make(ends, now_ns);
    connection.server_port = is_request ? segment.destination : segment.source;
    connection.has_markers = request.has_markers || reply.has_markers;
    for (const Start* const start : {&request, &reply})
        connection.ways[start->way] = {.begin = start->begin,
                                       .next = start->end,
                                       .end = start->end,
                                       .has_begin = true,
                                       .has_next = true,
                                       .is_sure = true,
                                       .has_end = true};
}

bool MpaConnections::starts_by_fpdus(const SegmentView& segment, const Ends& ends, std::size_t way,
                                     std::int64_t now_ns) {
    const auto next = chains_.follow(segment, least_fpdus);
    if (!next) return false;
    Connection& connection = make(ends, now_ns);
    connection.server_port = std::min(segment.source, segment.destination);  // a guess
    connection.ways[way].next = *next;
    connection.ways[way].has_next = true;
    connection.ways[way].is_sure = true;
    if ((segment.flags & SegmentView::ack) != 0) {
        connection.ways[1 - way].end = segment.acknowledged;
        connection.ways[1 - way].has_end = true;
    }
    return is_continued(segment, connection, connection.ways[way]);
}

/// Whether the segment belongs to the connection. A segment that cannot belong to the connection ends it.
bool MpaConnections::is_continued(const SegmentView& segment, Connection& connection, Way& way) {
    const Fit fit = fit_of(segment, connection, way);
    if (fit == Fit::foreign) connection.is_used = false;
    return fit == Fit::belongs;
}

MpaConnections::Fit MpaConnections::fit_of(const SegmentView& segment, Connection& connection, Way& way) {
    const std::uint32_t end = segment.sequence + static_cast<std::uint32_t>(segment.payload_on_wire);
    const bool is_old = way.has_end && static_cast<std::int32_t>(segment.sequence - way.end) < 0;
    if (!way.has_end || static_cast<std::int32_t>(end - way.end) > 0) way.end = end;
    way.has_end = true;
    if ((segment.flags & (SegmentView::fin | SegmentView::rst)) != 0) connection.is_closed = true;
    if (connection.is_proven || connection.has_markers) return Fit::belongs;
    if (segment.payload.empty()) return way.has_begin ? Fit::belongs : Fit::unclear;
    if (wire::mpa_start_possible(segment.payload)) return Fit::belongs;
    if (way.has_begin && static_cast<std::int32_t>(segment.sequence - way.begin) <= 0) return Fit::foreign;
    return follow_fpdus(segment, connection, way, is_old);
}

/// If the place of the next FPDU is unknown, after a loss, the segment's beginning is tried, and nothing follows from a
/// failure.
MpaConnections::Fit MpaConnections::follow_fpdus(const SegmentView& segment, Connection& connection, Way& way,
                                                 bool is_old) {
    const Fit unknown = way.has_begin ? Fit::belongs : Fit::unclear;
    const auto ahead = static_cast<std::int32_t>(way.next - segment.sequence);
    const bool is_placed = way.has_next && ahead >= 0 && ahead < std::int32_t{wire::mpa_longest};
    bool is_sure = is_placed && way.is_sure;
    std::size_t at = is_placed ? static_cast<std::size_t>(ahead) : 0;
    if (at >= segment.payload_on_wire) return is_old ? unknown : Fit::belongs;  // inside an FPDU
    way.has_next = false;
    for (bool is_predicted = is_placed; at < segment.payload_on_wire; is_predicted = true) {
        if (at + fpdu_shortest > segment.payload.size()) return is_predicted ? Fit::belongs : unknown;  // it is cut
        const auto sign = read_fpdu_sign(segment.payload.subspan(at));
        if (!sign) return is_sure ? Fit::foreign : unknown;
        is_sure = is_sure || is_predicted;
        if (is_sure && ++connection.proofs == proofs_enough) {
            connection.is_proven = true;
            served_ports_.set(connection.server_port);
        }
        at += sign->size;
    }
    way.next = segment.sequence + static_cast<std::uint32_t>(at);
    way.has_next = true;
    way.is_sure = is_sure;
    return Fit::belongs;
}

}  // namespace capture::live
