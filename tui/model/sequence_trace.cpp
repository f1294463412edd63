#include "tui/model/sequence_trace.h"

#include <algorithm>
#include <optional>

#include "dissect/dissector.h"
#include "metrics/figures/address.h"
#include "wire/aeth.h"
#include "wire/bth_opcode.h"

namespace tui::inline model {

namespace {

using Kind = SequencePoint::Kind;

constexpr std::uint8_t tcp_fin = 0x01;
constexpr std::uint8_t tcp_syn = 0x02;
constexpr std::uint8_t tcp_rst = 0x04;
constexpr std::uint8_t tcp_ack = 0x10;

/// Sequence numbers of some width, counted on beyond it: what is less than half the circle away is near.
class Unwrapped {
public:
    Unwrapped(unsigned bits, bool from_zero) : bits_(bits), from_zero_(from_zero) {}

    /// The highest so far is what others are near to.
    std::int64_t at(std::uint32_t number) {
        if (!known_) {
            known_ = true;
            number_ = number;
            count_ = from_zero_ ? 0 : number;
            return count_;
        }
        const std::uint64_t circle = std::uint64_t{1} << bits_;
        const std::uint64_t ahead = (std::uint64_t{number} - number_) & (circle - 1);
        if (ahead >= circle / 2) return count_ + static_cast<std::int64_t>(ahead) - static_cast<std::int64_t>(circle);
        number_ = number;
        count_ += static_cast<std::int64_t>(ahead);
        return count_;
    }

private:
    unsigned bits_;
    bool from_zero_;
    bool known_ = false;
    std::uint32_t number_ = 0;
    std::int64_t count_ = 0;
};

/// The numbers of one direction, and how far it has come.
struct Space {
    Unwrapped numbers;
    std::optional<std::int64_t> next = {};           ///< one more than the highest that was sent
    std::optional<std::int64_t> next_response = {};  ///< RoCE: one more than the highest READ response
    std::optional<std::int64_t> acknowledged = {};   ///< iWARP: by the highest acknowledgement
    std::uint16_t window = 0;                        ///< iWARP: of the last acknowledgement
    std::uint32_t response_octets = 0;               ///< RoCE: a READ response's payload, where it is full
};

std::optional<std::int64_t> later(std::optional<std::int64_t> one, std::int64_t other) {
    return one ? std::max(*one, other) : other;
}

}  // namespace

struct SequenceTrace::State {
    explicit State(std::size_t most) : max_points(std::max<std::size_t>(most, 1)) {}

    void take(const wire::Frame& frame);
    void packet(const wire::Frame& frame, bool forward);
    void request(const wire::Frame& frame, Space& space, bool reverse, bool repeats);
    void response(const wire::Frame& frame, Space& space, bool reverse);
    void answer(const wire::Frame& frame, Space& space, bool reverse);
    void segment(const wire::Frame& frame, bool forward);
    void octets(const wire::Frame& frame, Space& space, bool reverse);
    void acknowledgement(const wire::Frame& frame, Space& space, bool reverse);
    void add(const wire::Frame& frame, Kind kind, bool reverse, std::int64_t sequence, std::uint32_t length);
    void restart();

    std::size_t max_points;
    std::uint64_t flow = 0;
    metrics::Endpoint source = {};
    metrics::Endpoint destination = {};
    wire::Transport transport{};
    metrics::Service service{};
    std::optional<std::uint32_t> path_mtu = {};

    std::uint64_t first_frame = 0;  ///< before it, the same ends were another flow's
    std::uint64_t next_frame = 1;
    Space forward_space{Unwrapped(24, false)};
    Space reverse_space{Unwrapped(24, false)};
    dissect::Dissection dissection = {};
    std::deque<SequencePoint> points = {};
};

void SequenceTrace::State::restart() {
    const bool iwarp = transport == wire::Transport::iwarp;
    points.clear();
    next_frame = 1;
    forward_space = Space{Unwrapped(iwarp ? 32 : 24, iwarp)};
    reverse_space = Space{Unwrapped(iwarp ? 32 : 24, iwarp)};
}

void SequenceTrace::State::add(const wire::Frame& frame, Kind kind, bool reverse, std::int64_t sequence,
                               std::uint32_t length) {
    points.push_back({kind, reverse, frame.time_ns, sequence, length, frame.number});
    if (points.size() > max_points) points.pop_front();
}

void SequenceTrace::State::take(const wire::Frame& frame) {
    const bool iwarp = transport == wire::Transport::iwarp;
    if (!iwarp && frame.number < first_frame) return;
    static constexpr dissect::ParseOptions options{false};
    dissect::dissect_frame(frame, options, dissection);
    if (!dissection.has(iwarp ? dissect::LayerId::tcp : dissect::LayerId::bth)) return;
    const dissect::Network& network = dissection.network;
    const metrics::Address from = metrics::address_at(network.family, network.source_offset, frame.bytes);
    const metrics::Address to = metrics::address_at(network.family, network.destination_offset, frame.bytes);
    const bool forward = from == source.address && to == destination.address;
    const bool backward = from == destination.address && to == source.address;
    if (!forward && !backward) return;
    // Both, where a host talks to itself: then the QPN or the ports tell.
    if (iwarp) {
        const bool ports_forward =
            dissection.source_port == source.port && dissection.destination_port == destination.port;
        const bool ports_backward =
            dissection.source_port == destination.port && dissection.destination_port == source.port;
        if (forward && ports_forward)
            segment(frame, true);
        else if (backward && ports_backward)
            segment(frame, false);
        return;
    }
    if (forward && dissection.bth.destination_qp == destination.qpn)
        packet(frame, true);
    else if (backward && source.qpn && dissection.bth.destination_qp == source.qpn)
        packet(frame, false);
}

// ---- RoCE and InfiniBand ----

void SequenceTrace::State::packet(const wire::Frame& frame, bool forward) {
    const wire::BthOpcode& opcode = wire::bth_opcode(dissection.bth.opcode);
    if (!opcode.known()) return;
    // Answers carry the PSNs of the requests, which the other side has counted.
    Space& own = forward ? forward_space : reverse_space;
    Space& asked = forward ? reverse_space : forward_space;
    switch (opcode.role) {
        case wire::BthRole::request: {
            const bool repeats = opcode.service == wire::BthService::rc || opcode.service == wire::BthService::xrc ||
                                 opcode.service == wire::BthService::rd;
            return request(frame, own, !forward, repeats);
        }
        case wire::BthRole::response:
            if (opcode.operation == wire::BthOperation::atomic_acknowledge) return answer(frame, asked, forward);
            return response(frame, asked, forward);
        case wire::BthRole::acknowledgement: return answer(frame, asked, forward);
        case wire::BthRole::notification: return;
    }
}

/// A READ request takes as many PSNs as its response will have packets. IBTA vol. 1, 9.4.4.
void SequenceTrace::State::request(const wire::Frame& frame, Space& space, bool reverse, bool repeats) {
    const dissect::BthSummary& bth = dissection.bth;
    const bool read = wire::bth_opcode(bth.opcode).operation == wire::BthOperation::read_request;
    const std::uint32_t mtu = path_mtu.value_or(space.response_octets);
    std::uint32_t length = 1;
    if (read && mtu != 0 && dissection.has(dissect::LayerId::reth))
        length = std::max<std::uint32_t>((bth.dma_length + mtu - 1) / mtu, 1);
    const std::int64_t sequence = space.numbers.at(bth.psn);
    const bool again = repeats && space.next && sequence < *space.next;
    add(frame, again ? Kind::repeated : Kind::data, reverse, sequence, length);
    space.next = later(space.next, sequence + length);
}

void SequenceTrace::State::response(const wire::Frame& frame, Space& space, bool reverse) {
    const dissect::BthSummary& bth = dissection.bth;
    const wire::BthOpcode& opcode = wire::bth_opcode(bth.opcode);
    if (!opcode.ends_message()) space.response_octets = std::max(space.response_octets, bth.payload_length);
    const std::int64_t sequence = space.numbers.at(bth.psn);
    const bool again = space.next_response && sequence < *space.next_response;
    add(frame, again ? Kind::repeated : Kind::response, reverse, sequence, 1);
    space.next_response = later(space.next_response, sequence + 1);
    space.next = later(space.next, sequence + 1);
}

/// An ACK is for all up to its PSN; NAK and RNR NAK name the PSN that they want. IBTA vol. 1, 9.7.5.1.
void SequenceTrace::State::answer(const wire::Frame& frame, Space& space, bool reverse) {
    const std::int64_t sequence = space.numbers.at(dissection.bth.psn);
    // If the snap length cut the AETH, its meaning is unknown.
    if (!dissection.has(dissect::LayerId::aeth)) return;
    const wire::AethKind kind = wire::kind_of_syndrome(dissection.bth.syndrome);
    const bool negative = kind == wire::AethKind::nak || kind == wire::AethKind::rnr_nak;
    add(frame, negative ? Kind::nak : Kind::ack, reverse, negative ? sequence : sequence + 1, 0);
}

// ---- iWARP ----

void SequenceTrace::State::segment(const wire::Frame& frame, bool forward) {
    Space& own = forward ? forward_space : reverse_space;
    Space& other = forward ? reverse_space : forward_space;
    if ((dissection.tcp.flags & tcp_rst) != 0) return;
    octets(frame, own, !forward);
    if ((dissection.tcp.flags & tcp_ack) != 0) acknowledgement(frame, other, forward);
}

/// SYN and FIN take a number each. RFC 9293, 3.4.
void SequenceTrace::State::octets(const wire::Frame& frame, Space& space, bool reverse) {
    const dissect::TcpSummary& tcp = dissection.tcp;
    const bool syn = (tcp.flags & tcp_syn) != 0;
    const std::int64_t sequence = space.numbers.at(tcp.sequence) + (syn ? 1 : 0);
    const std::int64_t end = sequence + tcp.payload_length;
    if (tcp.payload_length != 0) {
        const bool again = space.next && sequence < *space.next;
        add(frame, again ? Kind::repeated : Kind::data, reverse, sequence, tcp.payload_length);
    }
    space.next = later(space.next, end + ((tcp.flags & tcp_fin) != 0 ? 1 : 0));
}

/// Only news: what acknowledges more than before, and duplicates as RFC 5681, 2, has them.
void SequenceTrace::State::acknowledgement(const wire::Frame& frame, Space& space, bool reverse) {
    const dissect::TcpSummary& tcp = dissection.tcp;
    const std::int64_t sequence = space.numbers.at(tcp.acknowledgment);
    const bool bare = tcp.payload_length == 0 && (tcp.flags & (tcp_syn | tcp_fin)) == 0;
    const bool outstanding = space.next && sequence < *space.next;
    if (!space.acknowledged || sequence > *space.acknowledged) {
        add(frame, Kind::ack, reverse, sequence, 0);
        space.acknowledged = sequence;
    } else if (sequence == *space.acknowledged && bare && outstanding && tcp.window == space.window) {
        add(frame, Kind::nak, reverse, sequence, 0);
    }
    space.window = tcp.window;
}

// ---- the interface ----

SequenceTrace::SequenceTrace(std::size_t max_points) : state_(std::make_unique<State>(max_points)) {}
SequenceTrace::~SequenceTrace() = default;

void SequenceTrace::follow(const metrics::FlowSnapshot& flow) {
    State& state = *state_;
    state.flow = flow.id;
    state.first_frame = metrics::first_frame_of(std::min(flow.id, flow.reverse.value_or(flow.id)));
    state.source = flow.source;
    state.destination = flow.destination;
    state.transport = flow.transport;
    state.service = flow.service;
    state.path_mtu = flow.connection->path_mtu;
    state.restart();
}

bool SequenceTrace::follows(const metrics::FlowSnapshot& flow) const {
    return state_->flow == flow.id && state_->source.qpn == flow.source.qpn;
}

void SequenceTrace::clear() {
    state_->flow = 0;
    state_->restart();
}

bool SequenceTrace::advance(Feed& feed, std::size_t most) {
    State& state = *state_;
    const FeedStatus status = feed.status();
    if (state.flow == 0 || !status.has_packets || status.first_packet == 0 || most == 0) return false;
    if (status.last_packet + 1 < state.next_frame) state.restart();  // a jump back in time
    const std::uint64_t from = std::max(state.next_frame, status.first_packet);
    if (from > status.last_packet) return false;
    feed.packets(from, most, [&state](const wire::Frame& frame) {
        state.next_frame = frame.number + 1;
        state.take(frame);
        return true;
    });
    return state.next_frame <= status.last_packet;
}

const std::deque<SequencePoint>& SequenceTrace::points() const { return state_->points; }
std::uint64_t SequenceTrace::flow() const { return state_->flow; }

}  // namespace tui::model
