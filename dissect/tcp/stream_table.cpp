#include "dissect/tcp/stream_table.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/prefetch.h"
#include "dissect/tcp/stand_in.h"
#include "dissect/tcp/stray_reset.h"
#include "dissect/tcp/successor.h"
#include "dissect/tcp_flags.h"
#include "wire/mpa.h"
#include "wire/tcp.h"

namespace dissect::tcp {

namespace {

constexpr std::uint32_t most_waiting_segments = 4096;  // after a gap: a resent one is put among them by their order
constexpr std::uint64_t no_frame = 0;                  // of bytes that were never captured
constexpr std::size_t key_that_convinces = 8;          // "MPA ID R"

Endpoint endpoint(const Network& network, base::Bytes bytes, std::uint32_t offset, std::uint16_t port) {
    const std::byte* p = bytes.data() + offset;
    if (network.family == Network::Family::ipv4) return {0, std::uint64_t{4} << 32 | base::load_be32(p), port};
    return {base::load_be64(p), base::load_be64(p + 8), port};
}

/// One past the highest byte seen of a direction, as far as it is followed.
std::optional<std::uint32_t> seen_end(const Side& side) {
    if (side.flow == nullptr) return side.state == SideState::start ? std::optional{side.first_sequence} : std::nullopt;
    if (const SegmentStore::Segment* const last = side.flow->store.tail()) return last->end();
    return side.state == SideState::hunting ? side.flow->hunter.scanned() : side.flow->next_sequence;
}

/// What the other side has acknowledged was sent, seen or not.
SequenceExtent extent(const Side& side, const Side& other) {
    SequenceExtent out{std::nullopt, seen_end(side), side.fin_seen};
    if (side.syn_seen) out.begin = side.initial_sequence;
    if (side.fin_seen)
        out.end = side.fin_end;
    else if (other.ack_seen && (!out.end || distance(other.acknowledged, *out.end) > 0))
        out.end = other.acknowledged;
    return out;
}

bool begins_with_key(base::Bytes bytes) {
    return bytes.size() >= key_that_convinces && wire::mpa_start_possible(bytes);
}

}  // namespace

/// The other direction, for what this one's arrival makes due there.
struct StreamTable::Opposite {
    explicit Opposite(const Work& cause)
        : stand_in(cause.arrival.frame, cause.connection.ends[1 - cause.index], cause.connection.ends[cause.index]),
          arrival{stand_in.frame, stand_in.dissection, stand_in.frame.bytes, cause.arrival.sink},
          work{arrival, cause.connection, 1 - cause.index} {}

    StandIn stand_in;
    Arrival arrival;
    Work work;
};

StreamTable::StreamTable(const DissectorOptions& options, DissectorCounters& counters)
    : options_(options),
      counters_(counters),
      pool_(options.max_total_bytes),
      most_flows_(std::max<std::size_t>(options.max_total_bytes / flow_size / 8 * 7, 1)),
      most_ended_(std::clamp<std::size_t>(std::min(options.max_streams / 64, most_flows_ / 16), 1, 1024)),
      table_(options.follow_streams ? options.max_streams : 1),
      delivery_(options.parse, counters),
      framer_(delivery_, pool_) {
    pool_.on_shortage = [this] { return reclaim(); };
}
StreamTable::~StreamTable() = default;

void StreamTable::segment(const wire::Frame& frame, const Dissection& dissection, base::Bytes bytes,
                          const Ipv4Ends& ends, Sink& sink) {
    const TcpSummary& tcp = dissection.tcp;
    const Network& network = dissection.network;
    if (network.address_length() < 4) return;
    const Arrival arrival{frame, dissection, bytes, sink};
    arrival_ = &arrival;
    last_frame_.link_type = frame.link_type;
    last_frame_.direction = frame.direction;
    last_frame_.interface = frame.interface;
    last_frame_.time_ns = frame.time_ns;
    last_frame_.number = frame.number;
    ConnectionTable::Lookup found = table_.find(ends);
    if (found.connection == nullptr) {
        found = find_or_add(arrival, ends);
        if (found.connection == nullptr) return;
    }
    Work work{arrival, *found.connection, found.side};
    Side& side = work.side();
    const base::Bytes octets = bytes.subspan(tcp.payload_offset, tcp.payload_captured);
    const bool plain = (tcp.flags & (tcp_syn | tcp_fin | tcp_rst)) == 0;
    if (plain && side.state == SideState::in_step && side.flow->store.empty() &&
        tcp.sequence == side.flow->next_sequence && side.checksums != ChecksumVerdict::unknown) [[likely]] {
        if (tcp.payload_length != 0) in_step(work, octets);
    } else {
        if ((tcp.flags & tcp_rst) != 0 && tcp.stray_reset) return;
        const std::uint32_t sequence = tcp.sequence + ((tcp.flags & tcp_syn) != 0 ? 1u : 0u);
        slow_segment(work, {sequence, tcp.payload_length, octets, frame.number, frame.time_ns});
    }
    if ((tcp.flags & tcp_ack) == 0) return;
    if (!side.ack_seen || distance(tcp.acknowledgment, side.acknowledged) > 0) {
        side.acknowledged = tcp.acknowledgment;
        side.ack_seen = true;
    }
    const Flow* answered = work.other().flow;
    if (answered != nullptr && !answered->store.empty()) [[unlikely]] {
        Opposite opposite{work};
        settle(opposite.work, false);
        reconsider(work.connection);
    }
}

void StreamTable::fetch(std::span<const Ipv4Ends> ends, unsigned pass) {
    for (const Ipv4Ends& one : ends) {
        if (pass == 0) {
            table_.prefetch_hint(one);
            continue;
        }
        const Connection* const connection = table_.guess(one);
        if (connection == nullptr) continue;
        if (pass == 1) {
            base::prefetch(connection, 0, sizeof *connection);
            continue;
        }
        for (const Side& side : connection->sides)
            if (side.flow != nullptr && side.state == SideState::in_step) side.flow->prefetch(pass == 2);
    }
}

/// nullptr where the connection is not known, and the segment does not make it so.
ConnectionTable::Lookup StreamTable::find_or_add(const Arrival& arrival, const Ipv4Ends& ends) {
    const Dissection& dissection = arrival.dissection;
    const Network& network = dissection.network;
    const Endpoint source = endpoint(network, arrival.bytes, network.source_offset, dissection.source_port);
    const Endpoint destination =
        endpoint(network, arrival.bytes, network.destination_offset, dissection.destination_port);
    ConnectionTable::Lookup found = table_.find(source, destination);
    if (found.connection != nullptr) {
        table_.hint(ends);
        return found;
    }
    if (dissection.tcp.payload_length == 0 && (dissection.tcp.flags & tcp_syn) == 0) return {};
    if (table_.full()) make_place();
    found = table_.add(source, destination, ends);
    found.connection->number = next_number_++;
    return found;
}

/// The next bytes of a stream in step, as they come: those of the segment.
inline void StreamTable::in_step(Work& work, base::Bytes octets) {
    Flow& flow = work.flow();
    const TcpSummary& tcp = work.tcp();
    const wire::Frame& frame = work.arrival.frame;
    flow.history.note(tcp.sequence, frame.number);
    const std::uint32_t taken =
        framer_.feed_plain(work.arrival, work.connection, work.index, flow, tcp.sequence, octets);
    flow.next_sequence = tcp.sequence + taken;
    if (taken == tcp.payload_length) [[likely]]
        return;
    feed(work, {flow.next_sequence, tcp.payload_length - taken, octets.subspan(taken), frame.number, frame.time_ns},
         true);
}

bool StreamTable::drops_reset(const Dissection& dissection, base::Bytes bytes) {
    const Network& network = dissection.network;
    if (network.address_length() < 4) return false;
    const Endpoint source = endpoint(network, bytes, network.source_offset, dissection.source_port);
    const Endpoint destination = endpoint(network, bytes, network.destination_offset, dissection.destination_port);
    const ConnectionTable::Lookup found = table_.find(source, destination);
    if (found.connection == nullptr) return false;
    const Side& sender = found.connection->sides[found.side];
    const Side& receiver = found.connection->sides[1 - found.side];
    ResetBounds known{seen_end(sender), std::nullopt, seen_end(receiver)};
    if (receiver.ack_seen) known.acknowledged = receiver.acknowledged;
    return is_stray_reset(dissection.tcp, known);
}

std::optional<std::uint32_t> StreamTable::quoted_stream(const Dissection& dissection, base::Bytes bytes) {
    const Network& network = dissection.quoted_network;
    if (network.address_length() < 4) return std::nullopt;
    const Endpoint source = endpoint(network, bytes, network.source_offset, dissection.source_port);
    const Endpoint destination = endpoint(network, bytes, network.destination_offset, dissection.destination_port);
    const ConnectionTable::Lookup found = table_.find(source, destination);
    if (found.connection == nullptr || !found.connection->mpa) return std::nullopt;
    return found.connection->number;
}

void StreamTable::slow_segment(Work& work, const Piece& payload) {
    const TcpSummary& tcp = work.tcp();
    Side& side = work.side();
    if (work.connection.over() && is_of_successor(tcp, extent(side, work.other()), extent(work.other(), side)) &&
        !dropped_by_receiver(side, work.arrival)) [[unlikely]]
        restart(work);
    if ((tcp.flags & tcp_syn) == 0 && side.state == SideState::ignored) {
        if (!begins_with_key(payload.bytes)) return;
        side.state = SideState::unseen;
    }
    learn_checksums(work);
    if ((tcp.flags & (tcp_syn | tcp_fin | tcp_rst)) != 0 && dropped_by_receiver(side, work.arrival))
        return notice(work, Notice::Kind::tcp_checksum_wrong, payload.wire_length);
    if ((tcp.flags & tcp_syn) != 0) open(work);
    if (payload.wire_length != 0) take_payload(work, payload);
    if ((tcp.flags & tcp_rst) != 0) {
        work.connection.reset = true;
        Opposite opposite{work};
        flush(opposite.work);
        flush(work);
    }
    if ((tcp.flags & tcp_fin) != 0) {
        work.side().fin_seen = true;
        work.side().fin_end = payload.end() + 1;
    }
    work.connection.active_ns = work.arrival.frame.time_ns;
    if (reconsider(work.connection)) tidy();
}

void StreamTable::learn_checksums(Work& work) const {
    constexpr std::uint8_t wrong_that_decide = 3;
    Side& side = work.side();
    if (side.checksums != ChecksumVerdict::unknown || work.tcp().payload_length == 0) return;
    if (side.flow == nullptr && side.state != SideState::start && side.state != SideState::unseen) return;
    const ChecksumVerdict verdict = verify_tcp_checksum(work.arrival.dissection, work.arrival.bytes);
    if (verdict == ChecksumVerdict::right) side.checksums = verdict;
    // Snapped, or filled in by the adapter after the capture: they show nothing.
    const bool undecided = verdict == ChecksumVerdict::wrong && ++side.wrong_checksums < wrong_that_decide;
    if (verdict != ChecksumVerdict::right && !undecided) side.checksums = ChecksumVerdict::wrong;
}

/// SYN, with or without ACK: the bytes that follow are the stream's first.
namespace {
/// The MSS option of a SYN, 0 where it has none. RFC 9293, 3.2.
std::uint16_t announced_mss(const Arrival& arrival) {
    const LayerRef* const layer = arrival.dissection.find(LayerId::tcp);
    const std::size_t end = std::min<std::size_t>(arrival.dissection.tcp.payload_offset, arrival.bytes.size());
    if (layer == nullptr) return 0;
    for (std::size_t at = layer->offset + wire::size_of<wire::Tcp>; at < end;) {
        const std::uint8_t kind = base::load_u8(arrival.bytes.data() + at);
        if (kind == wire::tcp_option::end) return 0;
        if (kind == wire::tcp_option::no_operation) {
            ++at;
            continue;
        }
        if (at + 4 > end) return 0;
        const std::uint8_t length = base::load_u8(arrival.bytes.data() + at + 1);
        if (kind == wire::tcp_option::mss && length == 4) return base::load_be16(arrival.bytes.data() + at + 2);
        if (length < 2) return 0;
        at += length;
    }
    return 0;
}
}  // namespace

void StreamTable::open(Work& work) {
    const TcpSummary& tcp = work.tcp();
    const bool answer = (tcp.flags & tcp_ack) != 0;
    const bool used = work.side().state != SideState::unseen;
    if (used && !work.connection.over() && work.side().syn_seen && work.side().initial_sequence == tcp.sequence) return;
    if (used || (!answer && work.other().state != SideState::unseen)) restart(work);
    Side& side = work.side();
    side.syn_seen = true;
    side.initial_sequence = tcp.sequence;
    side.mss = announced_mss(work.arrival);
    side.first_sequence = tcp.sequence + 1;
    side.state = SideState::start;
    work.connection.client = static_cast<std::int8_t>(answer ? 1 - work.index : work.index);
    if (answer && work.other().state == SideState::unseen) {
        work.other().state = SideState::start;
        work.other().first_sequence = tcp.acknowledgment;
    }
}

/// The five-tuple is used for a new connection.
void StreamTable::restart(Work& work) {
    Opposite opposite{work};
    // An answer to the SYN just seen does not end what that began.
    const bool keep_other = (work.tcp().flags & (tcp_syn | tcp_ack)) == (tcp_syn | tcp_ack) &&
                            work.other().state == SideState::start && work.other().flow == nullptr;
    const Side other = work.other();
    flush(opposite.work);
    flush(work);
    release_flow(work.side());
    release_flow(work.other());
    Connection& c = work.connection;
    c.sides = {};
    if (keep_other) c.sides[1 - work.index] = other;
    c.client = -1;
    c.reset = c.mpa = c.request_seen = c.reply_seen = c.crc_wanted = false;
    c.number = next_number_++;
}

void StreamTable::begin_flow(Work& work, std::uint32_t sequence, Expect expect) {
    Side& side = work.side();
    while (flows_ >= most_flows_ && displace()) {
    }
    BufferPool::Buffer buffer;
    if (flows_ < most_flows_) buffer = pool_.acquire(sizeof(Flow));
    while (buffer.data == nullptr && displace()) buffer = pool_.acquire(sizeof(Flow));
    if (buffer.data == nullptr) {
        side.state = SideState::ignored;
        if (expect == Expect::start_frame || work.connection.mpa) ++counters_.streams_evicted;
        return notice(work, Notice::Kind::stream_evicted, 0);
    }
    ++flows_;
    side.flow = new (buffer.data) Flow;
    side.flow->home = buffer;
    side.flow->expect = expect;
    side.flow->next_sequence = sequence;
    side.flow->crc = work.connection.crc_mode();
    side.state = SideState::in_step;
}

void StreamTable::release_flow(Side& side) {
    if (side.flow == nullptr) return;
    framer_.drop_partial(*side.flow);
    side.flow->store.clear(pool_);
    pool_.release(side.flow->home);
    side.flow = nullptr;
    --flows_;
}

/// Decides what a direction is, from the first payload seen of it.
void StreamTable::first_payload(Work& work, const Piece& piece) {
    Side& side = work.side();
    const bool from_start = side.state == SideState::start;
    const bool at_start = !from_start || piece.sequence == side.first_sequence;
    if (begins_with_key(piece.bytes) && at_start) return begin_flow(work, piece.sequence, Expect::start_frame);
    if (!from_start) return begin_hunt(work, piece.sequence);
    if (distance(piece.sequence, side.first_sequence) > 0)
        return begin_flow(work, side.first_sequence, Expect::start_frame);
    const bool cut = piece.bytes.size() < key_that_convinces && piece.bytes.size() < piece.wire_length;
    if (cut) return begin_hunt(work, piece.sequence);
    if (wire::mpa_start_possible(piece.bytes)) return begin_flow(work, side.first_sequence, Expect::start_frame);
    if (work.connection.mpa) return begin_hunt(work, piece.sequence);
    side.state = SideState::ignored;
}

void StreamTable::take_payload(Work& work, Piece piece) {
    Side& side = work.side();
    if (side.flow == nullptr) first_payload(work, piece);
    if (side.flow == nullptr) return;
    if (moves(work, piece)) [[unlikely]]
        return move(work, piece);
    if (side.state == SideState::hunting) return hunt_in(work, piece);
    if (drop_known(work, piece)) return;
    if (piece.sequence == work.flow().next_sequence) {
        in_order(work, piece, true);
        if (side.flow != nullptr && !side.flow->store.empty()) settle(work, false);
    } else {
        ahead(work, piece);
    }
}

/// Takes away what has been seen before, and says so. True where nothing is left.
bool StreamTable::drop_known(Work& work, Piece& piece) {
    Flow& flow = work.flow();
    const std::int32_t ahead_by = distance(piece.sequence, flow.next_sequence);
    if (ahead_by >= 0) return ahead_by > largest_window;
    if (-static_cast<std::int64_t>(ahead_by) > largest_window) return true;
    const std::uint32_t known = std::min(piece.wire_length, flow.next_sequence - piece.sequence);
    // A keep-alive repeats the last byte. RFC 9293 section 3.8.4.
    const bool keep_alive = piece.wire_length <= 1 && piece.end() == flow.next_sequence;
    if (!keep_alive) notice(work, Notice::Kind::tcp_retransmission, known, flow.history.find(piece.sequence));
    piece.drop(known);
    return piece.wire_length == 0;
}

void StreamTable::in_order(Work& work, const Piece& piece, bool live) {
    if (live) work.flow().history.note(piece.sequence, piece.frame);
    feed(work, piece, live);
}

void StreamTable::feed(Work& work, const Piece& piece, bool live) {
    Flow& flow = work.flow();
    const Framer::Result result = framer_.feed(work.arrival, work.connection, work.index, piece, live);
    switch (result.outcome) {
        case Framer::Outcome::done: flow.next_sequence = piece.end(); return;
        case Framer::Outcome::discarded:
            flow.next_sequence = result.rest.sequence;
            return notice(work, Notice::Kind::tcp_checksum_wrong, result.rest.wire_length);
        case Framer::Outcome::ended: {
            give_up(work);
            Work turned = work.turned();
            return give_up(turned);
        }
        case Framer::Outcome::not_mpa:
            if (!work.connection.mpa) return give_up(work);
            [[fallthrough]];
        case Framer::Outcome::lost:
            flow.markers_likely = !flow.markers_known && !result.rest.bytes.empty();
            begin_hunt(work, result.rest.sequence);
            if (piece.frame == no_frame) flow.hunt_lost = result.rest.wire_length;
            if (result.rest.wire_length != 0) keep(work, result.rest);
            // From the store, settling goes on by itself.
            if (live) settle(work, false);
            return;
    }
}

/// A segment beyond a gap.
void StreamTable::ahead(Work& work, const Piece& piece) {
    if (dropped_by_receiver(work.side(), work.arrival))
        return notice(work, Notice::Kind::tcp_checksum_wrong, piece.wire_length);
    Flow& flow = work.flow();
    const auto stored = flow.store.insert(pool_, piece);
    if (!stored.any && !stored.full)
        return notice(work, Notice::Kind::tcp_retransmission, piece.wire_length, stored.known);
    notice(work, Notice::Kind::tcp_out_of_order, piece.wire_length);
    settle(work, stored.full);
    if (stored.full && work.side().flow != nullptr) keep(work, piece);
}

/// Stores a piece; where there is no room, what waits is given up first.
void StreamTable::keep(Work& work, const Piece& piece) {
    Flow& flow = work.flow();
    if (!flow.store.insert(pool_, piece).full) return;
    counters_.stream_octets_lost += flow.store.octets();
    flow.store.clear(pool_);
    if (work.side().state == SideState::hunting && !work.connection.mpa) return give_up(work);
    flow.store.insert(pool_, piece);
    if (work.side().state == SideState::hunting) flow.hunter.begin(piece.sequence);
}

/// Once the receiver has acknowledged it, it will not come. Until then it may come a window later: resent, or by
/// another processor's queue. A short wait must do where no acknowledgements come (one direction was captured), and
/// while a boundary is looked for: what waits then is what may hold it.
bool StreamTable::gap_is_lost(const Work& work, std::uint32_t gap_end) const {
    const Side& receiver = work.other();
    const SegmentStore& store = work.flow().store;
    if (receiver.ack_seen && distance(receiver.acknowledged, gap_end) >= 0) return true;
    if (!receiver.ack_seen || work.side().state == SideState::hunting) return store.held_bytes() > short_wait_bytes();
    return store.held_bytes() > options_.max_stream_bytes || store.segments() > most_waiting_segments;
}

/// Goes on with what is stored, as far as that is possible now. `forced`: nothing more will come, or there is no room
/// to wait.
void StreamTable::settle(Work& work, bool forced) {
    for (;;) {
        Side& side = work.side();
        if (side.flow == nullptr || side.flow->store.empty()) return;
        const bool moved = side.state == SideState::hunting ? settle_hunt(work, forced) : settle_in_step(work, forced);
        if (!moved) return;
    }
}

bool StreamTable::settle_in_step(Work& work, bool forced) {
    Flow& flow = work.flow();
    const std::uint32_t head = flow.store.head()->sequence;
    const std::int32_t gap = distance(head, flow.next_sequence);
    if (gap > 0) {
        if (!forced && !gap_is_lost(work, head)) return false;
        const auto octets = static_cast<std::uint32_t>(gap);
        counters_.stream_octets_lost += octets;
        notice(work, Notice::Kind::stream_gap, octets);
        flow.history.note_lost(flow.next_sequence);
        in_order(work, {flow.next_sequence, octets, {}, no_frame}, false);
        return true;
    }
    SegmentStore::Segment* segment = flow.store.pop();
    Piece piece = segment->piece();
    const auto known = static_cast<std::uint32_t>(-gap);
    if (known < piece.wire_length) {
        piece.drop(known);
        flow.history.note(piece.sequence, piece.frame);
        in_order(work, piece, false);
    }
    SegmentStore::release(pool_, segment);
    return true;
}

/// Leaves a direction alone: it is not, or no longer, RDMA.
void StreamTable::give_up(Work& work) {
    release_flow(work.side());
    work.side().state = SideState::ignored;
    reconsider(work.connection);
}

/// Delivers what waits, gaps or not.
void StreamTable::flush(Work& work) {
    if (work.side().flow == nullptr) return;
    settle(work, true);
    if (work.side().flow == nullptr) return;
    if (work.side().state == SideState::in_step) framer_.abandon(work.arrival, work.connection, work.index);
    if (work.side().state == SideState::hunting) leave_unread(work);
}

void StreamTable::finish(Sink& sink) {
    for (Connection* c = table_.idlest(); c != nullptr; c = table_.idlest()) {
        retiring_ = c;
        for (unsigned side = 0; side < 2; ++side) {
            const StandIn stand_in{last_frame_, c->ends[side], c->ends[1 - side]};
            const Arrival arrival{stand_in.frame, stand_in.dissection, stand_in.frame.bytes, sink};
            arrival_ = &arrival;
            Work work{arrival, *c, side};
            flush(work);
        }
        remove(*c);
    }
    arrival_ = nullptr;
    retiring_ = nullptr;
}

/// Only of connections that carry RDMA: others are not reported.
void StreamTable::notice(const Work& work, Notice::Kind kind, std::uint64_t octets, std::uint64_t related) const {
    if (!work.connection.mpa) return;
    work.arrival.sink.on_notice(
        {kind, work.arrival.frame, work.arrival.dissection, work.connection.number, octets, related});
}

}  // namespace dissect::tcp
