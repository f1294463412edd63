#include "metrics/measure/notes/sequence_points.h"

#include <algorithm>
#include <optional>

#include "metrics/figures/address.h"
#include "wire/aeth.h"
#include "wire/bth_opcode.h"

namespace metrics::inline measure::inline notes {

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

struct SequencePoints::State {
    void take(const wire::Frame& frame);
    void packet(const wire::Frame& frame, bool forward);
    void request(const wire::Frame& frame, Space& space, bool reverse, bool repeats);
    void response(const wire::Frame& frame, Space& space, bool reverse);
    void answer(const wire::Frame& frame, Space& space, bool reverse);
    void notification(const wire::Frame& frame, const Space& space, bool reverse);
    void segment(const wire::Frame& frame, bool forward);
    void octets(const wire::Frame& frame, Space& space, bool reverse);
    void acknowledgement(const wire::Frame& frame, Space& space, bool reverse);
    void add(const wire::Frame& frame, Kind kind, bool reverse, std::int64_t sequence, std::uint32_t length);
    void restart();

    Endpoint source = {};
    Endpoint destination = {};
    wire::Transport transport{};
    std::optional<std::uint32_t> path_mtu = {};

    std::uint64_t first_frame = 0;  ///< before it, the same ends were another flow's
    Space forward_space{Unwrapped(24, false)};
    Space reverse_space{Unwrapped(24, false)};
    const dissect::Dissection* dissection = nullptr;  ///< of the present frame
    std::vector<SequencePoint>* points = nullptr;     ///< that the present frame gets
};

void SequencePoints::State::restart() {
    const bool iwarp = transport == wire::Transport::iwarp;
    forward_space = Space{Unwrapped(iwarp ? 32 : 24, iwarp)};
    reverse_space = Space{Unwrapped(iwarp ? 32 : 24, iwarp)};
}

void SequencePoints::State::add(const wire::Frame& frame, Kind kind, bool reverse, std::int64_t sequence,
                                std::uint32_t length) {
    SequencePoint point{kind, reverse, frame.time_ns, sequence, length, frame.number};
    if (transport != wire::Transport::iwarp) {
        point.opcode = dissection->bth.opcode;
        if (dissection->has(dissect::LayerId::aeth)) point.syndrome = dissection->bth.syndrome;
    }
    points->push_back(point);
}

void SequencePoints::State::take(const wire::Frame& frame) {
    const bool iwarp = transport == wire::Transport::iwarp;
    if (!iwarp && frame.number < first_frame) return;
    if (!dissection->has(iwarp ? dissect::LayerId::tcp : dissect::LayerId::bth)) return;
    const dissect::Network& network = dissection->network;
    const Address from = address_at(network.family, network.source_offset, frame.bytes);
    const Address to = address_at(network.family, network.destination_offset, frame.bytes);
    const bool forward = from == source.address && to == destination.address;
    const bool backward = from == destination.address && to == source.address;
    if (!forward && !backward) return;
    // Both, where a host talks to itself: then the QPN or the ports tell.
    if (iwarp) {
        const bool ports_forward =
            dissection->source_port == source.port && dissection->destination_port == destination.port;
        const bool ports_backward =
            dissection->source_port == destination.port && dissection->destination_port == source.port;
        if (forward && ports_forward)
            segment(frame, true);
        else if (backward && ports_backward)
            segment(frame, false);
        return;
    }
    if (forward && dissection->bth.destination_qp == destination.qpn)
        packet(frame, true);
    else if (backward && source.qpn && dissection->bth.destination_qp == source.qpn)
        packet(frame, false);
}

// ---- RoCE and InfiniBand ----

void SequencePoints::State::packet(const wire::Frame& frame, bool forward) {
    const wire::BthOpcode& opcode = wire::bth_opcode(dissection->bth.opcode);
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
        case wire::BthRole::notification: return notification(frame, asked, forward);
    }
}

/// A READ request takes as many PSNs as its response will have packets. IBTA vol. 1, 9.4.4.
void SequencePoints::State::request(const wire::Frame& frame, Space& space, bool reverse, bool repeats) {
    const dissect::BthSummary& bth = dissection->bth;
    const bool read = wire::bth_opcode(bth.opcode).operation == wire::BthOperation::read_request;
    const std::uint32_t mtu = path_mtu.value_or(space.response_octets);
    std::uint32_t length = 1;
    if (read && mtu != 0 && dissection->has(dissect::LayerId::reth))
        length = std::max<std::uint32_t>((bth.dma_length + mtu - 1) / mtu, 1);
    const std::int64_t sequence = space.numbers.at(bth.psn);
    const bool again = repeats && space.next && sequence < *space.next;
    add(frame, again ? Kind::repeated : Kind::data, reverse, sequence, length);
    space.next = later(space.next, sequence + length);
}

void SequencePoints::State::response(const wire::Frame& frame, Space& space, bool reverse) {
    const dissect::BthSummary& bth = dissection->bth;
    const wire::BthOpcode& opcode = wire::bth_opcode(bth.opcode);
    if (!opcode.ends_message()) space.response_octets = std::max(space.response_octets, bth.payload_length);
    const std::int64_t sequence = space.numbers.at(bth.psn);
    const bool again = space.next_response && sequence < *space.next_response;
    add(frame, again ? Kind::repeated : Kind::response, reverse, sequence, 1);
    space.next_response = later(space.next_response, sequence + 1);
    space.next = later(space.next, sequence + 1);
}

/// An ACK is for all up to its PSN; NAK and RNR NAK name the PSN that they want. IBTA vol. 1, 9.7.5.1.
void SequencePoints::State::answer(const wire::Frame& frame, Space& space, bool reverse) {
    const std::int64_t sequence = space.numbers.at(dissection->bth.psn);
    // If the snap length cut the AETH, its meaning is unknown.
    if (!dissection->has(dissect::LayerId::aeth)) return;
    const wire::AethKind kind = wire::kind_of_syndrome(dissection->bth.syndrome);
    const bool negative = kind == wire::AethKind::nak || kind == wire::AethKind::rnr_nak;
    add(frame, negative ? Kind::nak : Kind::ack, reverse, negative ? sequence : sequence + 1, 0);
}

/// A CNP has no PSN: it is for all that the sender has sent so far. IBTA vol. 1, annex A17.
void SequencePoints::State::notification(const wire::Frame& frame, const Space& space, bool reverse) {
    if (space.next) add(frame, Kind::cnp, reverse, *space.next, 0);
}

// ---- iWARP ----

void SequencePoints::State::segment(const wire::Frame& frame, bool forward) {
    Space& own = forward ? forward_space : reverse_space;
    Space& other = forward ? reverse_space : forward_space;
    if ((dissection->tcp.flags & tcp_rst) != 0) return;
    octets(frame, own, !forward);
    if ((dissection->tcp.flags & tcp_ack) != 0) acknowledgement(frame, other, forward);
}

/// SYN and FIN take a number each. RFC 9293, 3.4.
void SequencePoints::State::octets(const wire::Frame& frame, Space& space, bool reverse) {
    const dissect::TcpSummary& tcp = dissection->tcp;
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
void SequencePoints::State::acknowledgement(const wire::Frame& frame, Space& space, bool reverse) {
    const dissect::TcpSummary& tcp = dissection->tcp;
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

SequencePoints::SequencePoints() : state_(std::make_unique<State>()) {}
SequencePoints::~SequencePoints() = default;
SequencePoints::SequencePoints(SequencePoints&&) noexcept = default;
SequencePoints& SequencePoints::operator=(SequencePoints&&) noexcept = default;

void SequencePoints::follow(const FlowSnapshot& flow) {
    State& state = *state_;
    state.first_frame = first_frame_of(std::min(flow.id, flow.reverse.value_or(flow.id)));
    state.source = flow.source;
    state.destination = flow.destination;
    state.transport = flow.transport;
    state.path_mtu = flow.connection->path_mtu;
    state.restart();
}

void SequencePoints::restart() { state_->restart(); }

void SequencePoints::take(const wire::Frame& frame, const dissect::Dissection& dissection,
                          std::vector<SequencePoint>& out) {
    state_->dissection = &dissection;
    state_->points = &out;
    state_->take(frame);
}

}  // namespace metrics::measure::notes
