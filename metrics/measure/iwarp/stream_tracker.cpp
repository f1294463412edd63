#include "metrics/measure/iwarp/stream_tracker.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/prefetch.h"
#include "dissect/ends_hints.h"
#include "dissect/plain_segment.h"
#include "dissect/tcp/successor.h"
#include "dissect/tcp/tcp_checksum.h"
#include "metrics/measure/iwarp/handshake_table.h"
#include "metrics/measure/iwarp/messages_inline.h"
#include "metrics/measure/iwarp/segment_tracker_inline.h"
#include "metrics/measure/packet/packet_addresses.h"
#include "metrics/measure/packet/packet_record.h"

namespace metrics::inline measure::iwarp {

using dissect::EndsHints;
using dissect::Ipv4Ends;
using dissect::LayerId;
using iwarp::Direction;
using iwarp::Half;
using iwarp::Handshake;
using iwarp::Segment;

namespace {

FlowKey key_of(const dissect::Dissection& dissection, base::Bytes bytes) {
    FlowKey key;
    key.source = source_address(dissection, bytes);
    key.destination = destination_address(dissection, bytes);
    key.selector = std::uint32_t{dissection.source_port} << 16 | dissection.destination_port;
    key.transport = wire::Transport::iwarp;
    key.service = Service::rc;
    return key;
}

bool addressed(const FlowKey& key) {
    return key.source.family != wire::AddressFamily::none && key.destination.family != wire::AddressFamily::none;
}

std::uint32_t bounded_size(std::size_t value) {
    return static_cast<std::uint32_t>(std::min<std::size_t>(value, 0xfffffffe));
}

/// The flow of a recently seen direction, by its ends: found without making a key. The place may belong to another flow
/// by now, so the flow must be checked there.
class FlowHints {
public:
    FlowIndex find(const Ipv4Ends& ends, const FlowTable& table) const {
        const FlowIndex index = guess(ends);
        if (index == no_flow || !ends.known) return no_flow;
        const Flow& flow = table[index];
        std::uint32_t source = 0;
        std::uint32_t destination = 0;
        std::memcpy(&source, flow.key.source.octets.data(), sizeof source);
        std::memcpy(&destination, flow.key.destination.octets.data(), sizeof destination);
        const bool same = source == static_cast<std::uint32_t>(ends.addresses) &&
                          destination == static_cast<std::uint32_t>(ends.addresses >> 32) &&
                          flow.key.selector == ends.ports && flow.key.transport == wire::Transport::iwarp &&
                          flow.key.source.family == wire::AddressFamily::ipv4 &&
                          flow.key.destination.family == wire::AddressFamily::ipv4;
        return same && flow.live && !flow.finished ? index : no_flow;
    }
    /// What find() would look at, right or not: for prefetching.
    FlowIndex guess(const Ipv4Ends& ends) const { return places_.find(EndsHints::hash_of(ends)); }
    void prefetch(const Ipv4Ends& ends) const { places_.prefetch(EndsHints::hash_of(ends)); }
    /// `flows`: how many there are.
    void note(const Ipv4Ends& ends, FlowIndex index, std::size_t flows) {
        if (ends.known) places_.note(EndsHints::hash_of(ends), index, flows);
    }

private:
    static_assert(no_flow == EndsHints::none);
    EndsHints places_;
};

/// The connection of the last segment: they come in trains.
struct Train {
    Ipv4Ends ends;  ///< of the last one
    Half half;      ///< its direction
    Half back;      ///< the other one, where that is known

    /// Whether a segment between these ends continues it, in either direction; if so, it is the last one now.
    bool takes(const Ipv4Ends& next) {
        if (next.same(ends)) return true;
        if (!back || !next.opposite(ends)) return false;
        std::swap(half, back);
        ends = next;
        return true;
    }
};

dissect::tcp::SequenceExtent extent(const Half& half) {
    dissect::tcp::SequenceExtent out;
    if (!half) return out;
    if (half.sent().sequence_known) out.begin = half.sent().initial_sequence;
    if (half.request().next != 0) out.end = static_cast<std::uint32_t>(half.request().next);
    out.finished = half.sent().fin_sent;
    return out;
}

}  // namespace

struct StreamTracker::State {
    State(StreamTracker& owner, FlowStore& flows)
        : tracker(owner),
          store(flows),
          directions(bounded_size(flows.options.max_flows)),
          handshakes(flows.options.max_flows),
          segments(flows),
          messages(flows, segments.receiver()) {}

    Half half_of(FlowIndex index) {
        Half half;
        if (index == no_flow) return half;
        half.index = index;
        half.flow = &store.table[index];
        if (half.flow->stream() != Flow::no_block) half.direction = &directions[half.flow->stream()];
        return half;
    }
    FlowIndex find(const FlowKey& key) const { return store.table.find(key, hash_of(key)); }
    Half back_of(const Half& half) { return half_of(half.flow->reverse); }

    Half open(const FlowKey& key, const wire::Frame& frame);
    Half find_or_open(const dissect::Unit& unit, const FrameContext& context, bool whole);
    void set_up(const Half& half, const FlowKey& key);
    bool opens_anew(FlowIndex index, const Segment& segment);
    void end(FlowIndex index);
    bool begins_unseen(const Half& half, const Half& back, const Segment& segment);
    void other_segment(const Ipv4Ends& ends, const Segment& segment);
    void take(const Half& half, const Half& back, const Segment& segment);
    void begin_train(const Ipv4Ends& ends, const Half& half) {
        train = {ends, half, half ? back_of(half) : Half{}};
        last_in_train = true;
    }
    void end_train() {
        train = {};
        last_in_train = false;
    }
    void count(Flow& flow, const Segment& segment);
    void found(const Half& half, const dissect::Unit& unit);

    StreamTracker& tracker;
    FlowStore& store;
    Slab<Direction> directions;
    FlowHints hints;
    iwarp::HandshakeTable handshakes;
    iwarp::SegmentTracker segments;
    iwarp::Messages messages;
    std::uint64_t last_segment = 0;  ///< number of the frame last given to on_segment
    const dissect::Dissection* last_dissection = nullptr;
    bool last_in_train = false;  ///< it belongs to `train`: its units do, too
    Train train;
};

StreamTracker::StreamTracker(FlowStore& store) : state_(std::make_unique<State>(*this, store)) {}
StreamTracker::~StreamTracker() = default;

/// A direction of a connection that is known to carry RDMA, seen for the first time since.
Half StreamTracker::State::open(const FlowKey& key, const wire::Frame& frame) {
    const FlowIndex index = store.obtain(key, hash_of(key), frame.number, frame.time_ns);
    Flow& flow = store.table[index];
    if (flow.stream() == Flow::no_block) {
        flow.transport_block = directions.take();
        if (flow.stream() == Slab<Direction>::none) flow.transport_block = Flow::no_block;
    }
    const Half half = half_of(index);
    if (!half) return half;
    half.direction->message.watched = flow.request.watched;
    half.direction->read = flow.upper == UpperLayer::read;
    flow.interface = static_cast<std::uint16_t>(std::min(frame.interface, 0xffffu));
    set_up(half, key);
    const FlowIndex other = find(key.reversed());
    if (other != no_flow) store.pair(index, other, PairingMethod::tcp, 1);
    end_train();
    return half;
}

/// What the SYNs said of this direction.
void StreamTracker::State::set_up(const Half& half, const FlowKey& key) {
    bool by_client = false;
    const Handshake* handshake = handshakes.take(key, by_client);
    if (handshake == nullptr) return;
    Direction& direction = *half.direction;
    const Handshake::Side& own = by_client ? handshake->client : handshake->server;
    const Handshake::Side& receiver = by_client ? handshake->server : handshake->client;
    direction.sent.sequence_known = own.seen;
    direction.sent.initial_sequence = own.initial_sequence;
    direction.received.mss = receiver.mss.value_or(0);
    direction.received.window.set_scale(handshake->scale_of(!by_client));
    if (!handshake->acknowledged || !handshake->client.seen || !handshake->server.seen) return;
    direction.handshake_ns = iwarp::elapsed(handshake->syn_ns, handshake->ack_ns);
    if (handshake->client.again || handshake->server.again) return;
    const std::uint64_t to_server = iwarp::elapsed(handshake->syn_ns, handshake->syn_ack_ns);
    const std::uint64_t to_client = iwarp::elapsed(handshake->syn_ack_ns, handshake->ack_ns);
    iwarp::keep_least(half.request().round_trip_min_ns, by_client ? to_server : to_client);
    iwarp::keep_least(half.request().reaction_min_ns, by_client ? to_client : to_server);
}

/// A SYN on the ports of a connection that is known: true where it begins another one.
bool StreamTracker::State::opens_anew(FlowIndex index, const Segment& segment) {
    const Half half = half_of(index);
    if (!half || !half.sent().sequence_known || half.direction->closed) return true;
    return half.sent().initial_sequence != segment.tcp().sequence;
}

void StreamTracker::State::end(FlowIndex index) {
    const Half half = half_of(index);
    if (half) {
        segments.forget(*half.direction);
        messages.forget(*half.direction);
    }
    store.retire(index);
    end_train();
}

/// A segment on the ports of a connection that is over: true where it is of another one, which these flows are not.
[[gnu::noinline]] bool StreamTracker::State::begins_unseen(const Half& half, const Half& back, const Segment& segment) {
    using dissect::tcp::ChecksumVerdict;
    if (!dissect::tcp::is_of_successor(segment.tcp(), extent(half), extent(back))) return false;
    if (half.sent().checksums == ChecksumVerdict::right &&
        dissect::tcp::verify_tcp_checksum(segment.dissection, segment.frame.bytes) == ChecksumVerdict::wrong)
        return false;
    const FlowKey& key = half.flow->key;
    handshakes.forget(key);
    if (tracker.on_reuse) tracker.on_reuse(key, segment.frame.number);
    for (const FlowIndex ended : {half.index, back.index})
        if (ended != no_flow) end(ended);
    return true;
}

void StreamTracker::State::count(Flow& flow, const Segment& segment) {
    PacketCounts& counts = flow.counts;
    const wire::Frame& frame = segment.frame;
    ++counts.packets;
    counts.wire_bytes += segment.wire_length();
    counts.last_ns = std::max(counts.last_ns, frame.time_ns);
    flow.request.own_bytes_since += segment.wire_length() + ethernet_overhead;
    const unsigned ecn = segment.dissection.network.ecn();
    if (ecn != 0) {
        flow.count_ecn_capable(true);
        if (ecn == 3) {
            flow.count_ce();
            store.show(flow, EventKind::ce_mark, frame.number);
        }
    }
    if (counts.packets == 1) flow.traffic_class = segment.dissection.network.traffic_class;
    // The kernel answers a SYN, and resets, before a program can choose the class.
    const PacketClass packet_class = packet_class_of(segment.dissection, frame);
    if (packet_class != store.class_of(flow) && !segment.has(iwarp::tcp_syn) && !segment.has(iwarp::tcp_rst))
        [[unlikely]]
        store.note_class(flow, {packet_class, segment.dissection.network.traffic_class, frame.number, frame.time_ns,
                                segment.wire_length()});
    if (frame.direction != wire::Direction::unknown) flow.note_direction(frame.direction == wire::Direction::inbound);
}

[[gnu::always_inline]] inline void StreamTracker::State::take(const Half& half, const Half& back,
                                                              const Segment& segment) {
    if (half && (half.direction->closed || half.direction->read)) [[unlikely]] {
        if (half.direction->closed && begins_unseen(half, back, segment)) return;
        if (half.direction->read && tracker.on_read_segment) tracker.on_read_segment(segment.frame);
    }
    store.observe([&](ObservedFlows& observed) { observed.packet(*half.flow, half.index, segment.frame.number); });
    count(*half.flow, segment);
    if (!half) return;
    segments.segment(half, back, segment);
}

void StreamTracker::set_upper(FlowIndex index, bool read) {
    const Half half = state_->half_of(index);
    if (!half) return;
    half.direction->read = read;
    half.direction->message.watched = read;
}

void StreamTracker::on_segment(const wire::Frame& frame, const dissect::Dissection& dissection,
                               const FrameContext& context) {
    State& state = *state_;
    state.last_segment = frame.number;
    state.last_dissection = &dissection;
    const Segment segment{frame, dissection, context};
    const Ipv4Ends ends =
        context.plain_segment ? dissect::plain_segment_ends(frame.bytes) : Ipv4Ends(dissection, frame.bytes);
    state.last_in_train = !segment.has(iwarp::tcp_syn) && state.train.takes(ends);
    if (state.last_in_train) [[likely]]
        state.take(state.train.half, state.train.back, segment);
    else
        state.other_segment(ends, segment);
}

void StreamTracker::fetch(std::span<const Ipv4Ends> ends, unsigned pass) {
    State& state = *state_;
    const auto ask = [&](const Flow& flow) {
        flow.ledger.prefetch();
        if (flow.stream() == Flow::no_block) return;
        const Direction* const direction = &state.directions[flow.stream()];
        base::prefetch(direction, 0, offsetof(Direction, responses));
        base::prefetch(direction, offsetof(Direction, level), sizeof *direction);
    };
    for (const Ipv4Ends& one : ends) {
        if (pass == 0) {
            state.hints.prefetch(one);
            continue;
        }
        const FlowIndex index = state.hints.guess(one);
        if (index == no_flow) continue;
        const Flow& flow = state.store.table[index];
        if (pass == 1) {
            base::prefetch(&flow, 0, sizeof flow);
            continue;
        }
        if (pass == 2) ask(flow);
        if (flow.reverse == no_flow) continue;
        const Flow& reverse = state.store.table[flow.reverse];
        if (pass == 2)
            base::prefetch(&reverse, 0, sizeof reverse);
        else
            ask(reverse);
    }
}

/// A segment that does not go on with the last one's connection.
[[gnu::noinline]] void StreamTracker::State::other_segment(const Ipv4Ends& ends, const Segment& segment) {
    if (const FlowIndex met = hints.find(ends, store.table); met != no_flow && !segment.has(iwarp::tcp_syn)) {
        begin_train(ends, half_of(met));
        return take(train.half, train.back, segment);
    }
    const FlowKey key = key_of(segment.dissection, segment.frame.bytes);
    if (!addressed(key)) return;
    const FlowIndex index = find(key);
    const FlowIndex reverse = index != no_flow ? store.table[index].reverse : find(key.reversed());
    if (segment.has(iwarp::tcp_syn)) {
        handshakes.segment(key, segment);
        const bool known = index != no_flow || reverse != no_flow;
        if (known && (index == no_flow || opens_anew(index, segment))) {
            // The direction that has no flow yet may still send its SYN ACK again.
            if (index == no_flow && segment.has(iwarp::tcp_ack)) return;
            for (const FlowIndex ended : {index, reverse})
                if (ended != no_flow) end(ended);
            return;
        }
    }
    if (index == no_flow && reverse == no_flow) {
        if (!segment.has(iwarp::tcp_syn)) handshakes.segment(key, segment);
        return;
    }
    const Half half = index != no_flow ? half_of(index) : open(key, segment.frame);
    hints.note(ends, half.index, store.table.live());
    begin_train(ends, half);
    take(train.half, train.back, segment);
}

/// The direction of a unit: where it is not known yet, this unit makes it, and its segment is the first of it.
Half StreamTracker::State::find_or_open(const dissect::Unit& unit, const FrameContext& context, bool whole) {
    const FlowKey key = key_of(unit.frame_dissection, unit.frame.bytes);
    if (!addressed(key)) return {};
    const FlowIndex index = find(key);
    if (index != no_flow) return half_of(index);
    const Half half = open(key, unit.frame);
    if (!half || !whole) return half;
    // Bytes of the unit that came in earlier segments passed before they could be recognised.
    half.sent().sequence_known = half.sent().sequence_known && unit.first_frame == unit.frame.number;
    take(half, back_of(half), Segment{unit.frame, unit.frame_dissection, context});
    return half;
}

/// An FPDU at a place where none was expected, or one of a flow whose upper layer is read.
[[gnu::noinline]] void StreamTracker::State::found(const Half& half, const dissect::Unit& unit) {
    Direction& direction = *half.direction;
    if (direction.message.watched && tracker.on_watched && unit.dissection.ddp.crc != dissect::CrcStatus::bad)
        tracker.on_watched(half.index, unit);
    if (!direction.message.awaited) return;
    direction.message.awaited = false;
    // Not even a start frame came before it: what did was not captured.
    if (direction.fpdu_bytes == unit.stream_length) direction.message.cut = true;
    if (tracker.on_fpdus) tracker.on_fpdus(half.flow->key);
}

void StreamTracker::on_unit(const dissect::Unit& unit, const FrameContext& context) {
    State& state = *state_;
    if (unit.transport != wire::Transport::iwarp) return;
    const dissect::Dissection& carrier = unit.frame_dissection;
    const auto is_last = [&] { return state.last_dissection == &carrier && state.last_segment == unit.frame.number; };
    const bool in_train = is_last() && state.last_in_train;
    Half half = in_train ? state.train.half : Half{};
    if (half.index == no_flow) [[unlikely]] {
        const bool whole = carrier.find(LayerId::tcp) != nullptr;  // else it only stands for one of this direction
        // A datagram put together from fragments is no frame of its own.
        if (whole && state.last_segment != unit.frame.number) on_segment(unit.frame, carrier, context);
        if (is_last() && state.last_in_train) half = state.train.half;
        if (half.index == no_flow) half = state.find_or_open(unit, context, whole);
    }
    if (!half) return;
    RequestState& request = half.request();
    if (request.next == 0) {
        request.next = iwarp::first_position + unit.sequence + unit.stream_length;
        request.acknowledged = iwarp::first_position + unit.sequence;
    }
    half.direction->fpdu_bytes += unit.stream_length;
    const dissect::DdpSummary& ddp = unit.dissection.ddp;
    const std::uint64_t end = iwarp::position_of(request.next, unit.sequence) + unit.stream_length;
    if (!unit.dissection.has(LayerId::rdmap)) {
        half.direction->message.awaited = true;
        return;
    }
    const MessageState& message = half.direction->message;
    if (message.awaited || message.watched) [[unlikely]]
        state.found(half, unit);
    half.direction->fpdu_bytes_max = std::max(half.direction->fpdu_bytes_max, unit.stream_length);
    half.direction->walk.unit(end, ddp, unit.markers != 0);
    half.flow->counts.last_ns = std::max(half.flow->counts.last_ns, unit.frame.time_ns);
    if (ddp.crc == dissect::CrcStatus::bad) {
        // Its receiver ends the stream, and nothing in it can be trusted. RFC 5044, 8.
        const bool right =
            carrier.find(LayerId::tcp) != nullptr &&
            dissect::tcp::verify_tcp_checksum(carrier, unit.frame.bytes) == dissect::tcp::ChecksumVerdict::right;
        state.segments.dropped(half, unit.frame.number, right);
        return;
    }
    state.messages.unit(half, in_train ? state.train.back : state.back_of(half), unit, end);
}

void StreamTracker::on_notice(const dissect::Notice& notice, const FrameContext&) {
    using Kind = dissect::Notice::Kind;
    State& state = *state_;
    const bool repeats = notice.kind == Kind::tcp_retransmission && state.store.is_observed();
    const bool at_end = notice.kind == Kind::stream_unread;
    const bool unread = at_end || notice.kind == Kind::stream_skipped || notice.kind == Kind::stream_not_rdma;
    if (notice.kind != Kind::stream_gap && !unread && notice.kind != Kind::tcp_checksum_wrong && !repeats) return;
    const FlowKey key = key_of(notice.frame_dissection, notice.frame.bytes);
    const Half half = state.half_of(state.find(key));
    if (!half) return;
    // Before the first FPDU that is the search for it, of a connection met midway.
    if (unread && !at_end && half.direction->fpdu_bytes == 0) return;
    if (unread) half.direction->skipped_bytes += notice.octets;
    if (repeats)
        state.store.observed->observer.repeats(half.flow->id, notice.frame.number, notice.related_frame);
    else if (unread || notice.kind == Kind::stream_gap)
        state.messages.gap(half, state.back_of(half), notice.octets, notice.frame.time_ns);
    else
        state.segments.dropped(half, notice.frame.number, false);
}

void StreamTracker::describe(FlowIndex index, FlowSnapshot& out) const {
    const Flow& flow = state_->store.table[index];
    if (flow.stream() == Flow::no_block) return;
    const Direction& direction = state_->directions[flow.stream()];
    const std::int64_t now_ns = flow.counts.last_ns;
    TcpFigures tcp;
    tcp.segments = flow.counts.packets;
    tcp.retransmitted_segments = flow.request.repeated;
    tcp.retransmitted_bytes = direction.sent.retransmitted_bytes;
    tcp.out_of_order_segments = direction.sent.out_of_order;
    tcp.duplicate_acks = direction.received.losses.duplicate_acks();
    tcp.sack_blocks = direction.received.losses.sack_blocks();
    tcp.zero_windows = direction.received.window.zero_windows();
    tcp.ece_acks = direction.received.ece_acks;
    tcp.cwr_segments = direction.sent.cwr;
    tcp.round_trip_ns = state_->store.unpack(flow, FlowHistogram::round_trip);
    if (direction.handshake_ns != 0) tcp.handshake_ns = direction.handshake_ns;
    if (direction.received.mss != 0) tcp.mss = direction.received.mss;
    if (const auto window = direction.received.window.range()) {
        tcp.receive_window_min = window->min;
        tcp.receive_window_max = window->max;
    }
    tcp.fpdu_bytes_max = direction.fpdu_bytes_max;
    tcp.window_limited_ns = direction.received.window.limited_ns(now_ns);
    const auto add_read = [&](const Direction& each) {
        tcp.connection_bytes += each.sent.new_bytes;
        tcp.unread_bytes += each.unread_bytes();
    };
    add_read(direction);
    if (const Half back = state_->half_of(flow.reverse)) add_read(*back.direction);
    out.tcp = std::move(tcp);

    // As long as no Immediate Data has come, it is a Write's.
    if (const auto& latency_ns = direction.message.write_latency_ns)
        out.operations[index_of(Operation::write)].latency_ns.record(*latency_ns);
    out.finished = out.finished || direction.closed;
    const auto wall_ns = static_cast<double>(iwarp::elapsed(flow.counts.first_ns, now_ns));
    if (wall_ns > 0) {
        // The last acknowledgement comes after the flow's last packet: a mean is not greater than the maximum.
        const Wide messages = flow.ledger.message_ns(now_ns) + direction.responses.message_ns(now_ns);
        const Wide bytes = flow.ledger.byte_ns(now_ns) + direction.responses.byte_ns(now_ns);
        out.messages_mean =
            std::min(static_cast<double>(messages) / wall_ns, static_cast<double>(direction.level.messages_max));
        out.bytes_mean = std::min(static_cast<double>(bytes) / wall_ns, static_cast<double>(direction.level.bytes_max));
    }
    out.messages_max = direction.level.messages_max;
    out.bytes_max = direction.level.bytes_max;
    out.responses_max = direction.responses.responses_max();
    out.at_max_ns = direction.level.at_max(now_ns);
    out.merged_messages = std::uint64_t{flow.ledger.merged()} + direction.responses.merged();
}

const Ledger* StreamTracker::responses_of(const Flow& flow) const {
    return flow.stream() == Flow::no_block ? nullptr : &state_->directions[flow.stream()].responses;
}

void StreamTracker::forget(FlowIndex index) {
    Flow& flow = state_->store.table[index];
    if (state_->train.half.index == index || state_->train.back.index == index) state_->end_train();
    if (flow.stream() == Flow::no_block) return;
    state_->segments.forget(state_->directions[flow.stream()]);
    state_->messages.forget(state_->directions[flow.stream()]);
    state_->directions.give_back(flow.stream());
    flow.transport_block = Flow::no_block;
}

std::size_t StreamTracker::octets() const {
    return state_->directions.octets() + state_->handshakes.octets() + state_->segments.octets() +
           state_->messages.octets();
}

}  // namespace metrics::measure::iwarp
