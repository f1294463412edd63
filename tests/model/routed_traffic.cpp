#include "tests/model/routed_traffic.h"

#include <algorithm>

#include "wire/aeth.h"

namespace model {
namespace {

constexpr std::int64_t epoch_ns = 1'700'000'000'000'000'000;
constexpr std::int64_t answer_ns = 400;  // packet -> ACK
constexpr std::int64_t answer_delay_ns = 5000;
constexpr std::uint32_t requester_qpn = 0x001000;
constexpr std::uint32_t responder_qpn = 0x800000;
constexpr std::uint8_t sequence_nak = 3 << 5 | static_cast<std::uint8_t>(wire::NakCode::psn_sequence_error);
constexpr std::uint16_t first_port = 0xc000;
/// Between two losses of one episode.
constexpr std::uint64_t episode_psns = 16;

std::uint64_t mix(std::uint64_t value) { return Random(value).next(); }

}  // namespace

RoutedTraffic::RoutedTraffic(const RoutePlan& plan, Tap tap, bool checked)
    : plan_(plan), tap_(std::move(tap)), checked_(checked), random_(mix(plan.seed)) {
    requesters_.resize(plan_.pairs.size());
    responders_.resize(plan_.pairs.size());
    for (auto& lanes : lanes_) lanes.resize(plan_.routes.size());
    truth_.route_packets.resize(plan_.routes.size());
}

RouteTruth RoutedTraffic::run() {
    for (std::uint32_t i = 0; i < plan_.pairs.size(); ++i)
        wake(i, static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(plan_.pairs[i].gap_ns))));
    while (!events_.empty()) {
        const Event event = events_.top();
        events_.pop();
        now_ = event.time;
        happen(event);
    }
    for (std::size_t i = 0; i < requesters_.size(); ++i)
        truth_.undelivered += plan_.pairs[i].packets - requesters_[i].acknowledged;
    truth_.end_ns = now_;
    return std::move(truth_);
}

void RoutedTraffic::at(std::int64_t time, Event event) {
    event.time = time;
    event.order = order_++;
    events_.push(event);
}

void RoutedTraffic::happen(const Event& event) {
    switch (event.what) {
        case What::send: send(event); break;
        case What::arrive: arrive(event); break;
        case What::answer: {
            if (plan_.pairs[event.pair].from_b != plan_.tap_after) observe(event, false);
            Event back = event;
            back.what = What::answered;
            at(now_ + answer_delay_ns, back);
            break;
        }
        case What::answered: on_answer(event); break;
        case What::timer: on_timer(event); break;
        case What::impatient: on_impatience(event); break;
    }
}

// --- the network ----------------------------------------------------------------------------------------------------

Entropy RoutedTraffic::entropy_of(const Event& event, bool from_b) const {
    const RoutedPair& pair = plan_.pairs[event.pair];
    Entropy entropy{from_b, event.port, pair.label, 0};
    // The tunnel's end hashes the inner headers.
    if (plan_.tunnelled) entropy.outer_port = static_cast<std::uint16_t>(first_port | (mix(event.port) & 0x3fff));
    return entropy;
}

std::uint32_t RoutedTraffic::route_of(const Event& event, bool from_b) {
    const std::size_t routes = plan_.routes.size();
    if (plan_.spread == Spread::by_network) return static_cast<std::uint32_t>(random_.below(routes));
    const bool rerouted = plan_.reroute.at_ns != 0 && now_ >= plan_.reroute.at_ns;
    if (!rerouted) return hashed_route(event, from_b, routes);
    const std::uint32_t route = hashed_route(event, from_b, routes - 1);
    return route >= plan_.reroute.without ? route + 1 : route;
}

bool RoutedTraffic::is_dark(std::uint32_t route) const {
    const Reroute& reroute = plan_.reroute;
    return route == reroute.without && now_ < reroute.at_ns && now_ >= reroute.at_ns - reroute.dark_ns;
}

std::uint32_t RoutedTraffic::hashed_route(const Event& event, bool from_b, std::size_t routes) const {
    if (plan_.one_each && plan_.spread == Spread::by_flow) return static_cast<std::uint32_t>(event.pair % routes);
    const Entropy entropy = entropy_of(event, from_b);
    const std::uint64_t key = std::uint64_t{entropy.port} << 32 | std::uint64_t{entropy.label} << 1 | (from_b ? 1 : 0);
    return static_cast<std::uint32_t>(mix(key ^ mix(plan_.seed ^ entropy.outer_port)) % routes);
}

/// Two states: in one all packets pass, in the other none does. In the long run the share `loss` is lost, in runs of
/// the mean length `burst`.
bool RoutedTraffic::is_lost(Lane& lane, const Route& route) {
    if (route.loss == 0) return false;
    constexpr double all = 1'000'000;
    const double leaving = 1.0 / route.burst;
    const double loss = route.loss / all;
    const double entering = loss / (1 - loss) * leaving;
    lane.bad = lane.bad ? random_.below(1'000'000) >= static_cast<std::uint64_t>(leaving * all)
                        : random_.below(1'000'000'000) < static_cast<std::uint64_t>(entering * all * 1000);
    return lane.bad;
}

std::int64_t RoutedTraffic::arrival(const Route& route, Lane& lane) {
    const auto jitter = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(route.jitter_ns) + 1));
    lane.last_ns = std::max(lane.last_ns + 1, now_ + route.delay_ns + jitter);
    return lane.last_ns;
}

Packet RoutedTraffic::packet_of(const Event& event, bool request) const {
    const RoutedPair& pair = plan_.pairs[event.pair];
    const bool from_b = pair.from_b == request;
    Packet packet;
    packet.source_host = from_b ? 1 : 0;
    packet.destination_host = from_b ? 0 : 1;
    packet.destination_qp = (request ? responder_qpn : requester_qpn) + event.pair;
    packet.source_port = event.port;
    packet.flow_label = pair.label;
    packet.wire_psn = static_cast<std::uint32_t>(event.psn + 1000 * event.pair) & 0xffffff;
    packet.ecn = event.marked ? 3 : 2;
    packet.hop_limit = static_cast<std::uint8_t>(packet.hop_limit - event.hops);
    if (plan_.counts) packet.identification = event.identification;
    if (!request) {
        packet.opcode = opcode_acknowledge;
        packet.syndrome = event.nak ? sequence_nak : wire::no_credit_limit;
        packet.msn = static_cast<std::uint32_t>((event.psn + (event.nak ? 0 : 1)) / plan_.message);
        return packet;
    }
    const std::uint64_t index = event.psn % plan_.message;
    const std::uint64_t left = pair.packets - (event.psn - index);
    const std::uint64_t packets = std::min<std::uint64_t>(plan_.message, left);
    packet.opcode = opcode_of(metrics::Operation::write, index, packets);
    packet.payload = plan_.payload;
    packet.virtual_address = 0x7f0000000000 + event.psn * plan_.payload;
    packet.dma_length = static_cast<std::uint32_t>(packets) * plan_.payload;
    packet.ack_request = event.again || asks(event.pair, event.psn);
    return packet;
}

void RoutedTraffic::observe(const Event& event, bool request) {
    const Packet packet = packet_of(event, request);
    const bool from_b = packet.source_host == 1;
    const Entropy entropy = entropy_of(event, from_b);
    support::KeptFrame frame = emit(packet, plan_.framing, epoch_ns + now_, checked_);
    if (plan_.tunnelled) frame = wrap_in_vxlan(frame, packet, entropy.outer_port);
    EntropyTruth& truth = truth_.entropies[entropy];
    ++truth.packets;
    truth.octets += frame.wire_length;
    truth.marked += event.marked ? 1 : 0;
    tap_(std::move(frame));
}

void RoutedTraffic::note_loss(const Event& event, EntropyTruth& truth) {
    ++truth.lost;
    Loss& loss = losses_[{event.pair, entropy_of(event, plan_.pairs[event.pair].from_b)}];
    if (event.psn < loss.top) return;  // the repeat of a packet whose loss is known, or of a later one
    const bool near = loss.last != 0 && event.psn - (loss.last - 1) <= episode_psns + 1;
    truth.episodes += near ? 0 : 1;
    loss.last = event.psn + 1;
    loss.top = event.psn + 1;
}

// --- requesters -----------------------------------------------------------------------------------------------------

bool RoutedTraffic::asks(std::uint32_t pair, std::uint64_t psn) const {
    return psn % plan_.message == plan_.message - 1 || psn + 1 == plan_.pairs[pair].packets;
}

void RoutedTraffic::wake(std::uint32_t pair, std::int64_t time) {
    Requester& requester = requesters_[pair];
    if (requester.awake) return;
    requester.awake = true;
    Event event;
    event.what = What::send;
    event.pair = pair;
    at(time, event);
}

/// False if there is nothing to send now.
bool RoutedTraffic::choose(Requester& requester, const RoutedPair& pair, Event& packet) const {
    if (!requester.again.empty()) {
        packet.psn = *requester.again.begin();
        requester.again.erase(requester.again.begin());
    } else if (requester.next < pair.packets && requester.next - requester.acknowledged < plan_.window) {
        packet.psn = requester.next++;
    } else {
        return false;
    }
    packet.again = packet.psn < requester.top;
    requester.top = std::max(requester.top, packet.psn + 1);
    return true;
}

void RoutedTraffic::send(const Event& event) {
    const RoutedPair& pair = plan_.pairs[event.pair];
    Requester& requester = requesters_[event.pair];
    requester.awake = false;
    Event packet = event;
    if (!choose(requester, pair, packet)) return;
    wake(event.pair, now_ + pair.gap_ns);
    if (!requester.timed) {
        requester.timed = true;
        requester.deadline = now_ + plan_.timeout_ns;
        Event timer = event;
        timer.what = What::timer;
        at(requester.deadline, timer);
    }
    packet.what = What::arrive;
    packet.port = pair.port;
    if (plan_.spread == Spread::by_adapter)
        packet.port = static_cast<std::uint16_t>(pair.port + requester.sent % plan_.ports);
    packet.identification = static_cast<std::uint16_t>(++requester.sent);
    const std::uint32_t number = route_of(packet, pair.from_b);
    const Route& route = plan_.routes[number];
    EntropyTruth& truth = truth_.entropies[entropy_of(packet, pair.from_b)];
    truth.route = number;
    ++truth.sent;
    truth.repeats += packet.again ? 1 : 0;
    ++truth_.route_packets[number];
    if (pair.from_b == plan_.tap_after) observe(packet, true);
    Lane& lane = lanes_[pair.from_b ? 1 : 0][number];
    if (is_lost(lane, route) || is_dark(number)) return note_loss(packet, truth);
    packet.hops = route.hops;
    packet.marked = random_.hit(route.marks);
    at(arrival(route, lane), packet);
}

void RoutedTraffic::on_answer(const Event& event) {
    if (plan_.pairs[event.pair].from_b == plan_.tap_after) observe(event, false);
    Requester& requester = requesters_[event.pair];
    const std::uint64_t below = event.nak ? event.psn : event.psn + 1;
    if (below > requester.acknowledged) {
        requester.acknowledged = below;
        requester.deadline = now_ + plan_.timeout_ns;
        requester.again.erase(requester.again.begin(), requester.again.lower_bound(below));
        if (plan_.order == Order::placing && below < requester.repair_end) requester.again.insert(below);
    }
    requester.next = std::max(requester.next, requester.acknowledged);
    if (event.nak && event.psn >= requester.acknowledged && event.psn < requester.top) {
        if (plan_.order == Order::in_order)
            requester.next = event.psn;
        else
            requester.again.insert(event.psn);
    }
    wake(event.pair, now_ + plan_.pairs[event.pair].gap_ns);
}

void RoutedTraffic::on_timer(const Event& event) {
    Requester& requester = requesters_[event.pair];
    if (requester.acknowledged == plan_.pairs[event.pair].packets) return;
    if (now_ >= requester.deadline) {
        ++truth_.timeouts;
        requester.deadline = now_ + plan_.timeout_ns;
        requester.repair_end = requester.top;
        if (plan_.order == Order::in_order)
            requester.next = requester.acknowledged;
        else
            requester.again.insert(requester.acknowledged);
        wake(event.pair, now_);
    }
    at(requester.deadline, event);
}

// --- responders -----------------------------------------------------------------------------------------------------

void RoutedTraffic::answer(std::uint32_t pair, std::uint64_t psn, bool nak) {
    Event event;
    event.what = What::answer;
    event.pair = pair;
    event.psn = psn;
    event.nak = nak;
    event.port = plan_.pairs[pair].port;
    event.identification = static_cast<std::uint16_t>(++responders_[pair].answers);
    truth_.naks += nak ? 1 : 0;
    at(now_ + answer_ns, event);
}

void RoutedTraffic::arrive(const Event& event) {
    if (plan_.pairs[event.pair].from_b != plan_.tap_after) observe(event, true);
    Responder& responder = responders_[event.pair];
    if (event.psn < responder.top && !event.again) ++truth_.late;
    responder.top = std::max(responder.top, event.psn + 1);
    if (plan_.order == Order::in_order)
        arrive_in_order(event, responder);
    else
        arrive_in_any_order(event, responder);
}

void RoutedTraffic::arrive_in_order(const Event& event, Responder& responder) {
    if (event.psn > responder.expected) {
        if (!responder.complained) answer(event.pair, responder.expected, true);
        responder.complained = true;
        return;
    }
    if (event.psn == responder.expected) {
        ++responder.expected;
        responder.complained = false;
    }
    if (event.again || asks(event.pair, event.psn)) answer(event.pair, responder.expected - 1, false);
}

void RoutedTraffic::arrive_in_any_order(const Event& event, Responder& responder) {
    bool asked = event.again;
    if (event.psn > responder.expected) {
        responder.kept.insert(event.psn);
    } else if (event.psn == responder.expected) {
        std::uint64_t last = responder.expected++;
        while (!responder.kept.empty() && *responder.kept.begin() == responder.expected) {
            asked = asked || asks(event.pair, last);
            last = responder.expected++;
            responder.kept.erase(responder.kept.begin());
        }
        asked = asked || asks(event.pair, last);
    }
    if (asked && responder.expected > 0) answer(event.pair, responder.expected - 1, false);
    watch(event, responder);
}

/// A hole that stays for longer than the receiver's patience gets a NAK.
void RoutedTraffic::watch(const Event& event, Responder& responder) {
    if (plan_.order != Order::selective || responder.kept.empty()) return;
    if (responder.waits_for == responder.expected + 1) return;
    responder.waits_for = responder.expected + 1;
    Event watching = event;
    watching.what = What::impatient;
    watching.psn = responder.expected;
    at(now_ + plan_.patience_ns, watching);
}

void RoutedTraffic::on_impatience(const Event& event) {
    Responder& responder = responders_[event.pair];
    if (responder.expected == event.psn) answer(event.pair, event.psn, true);
}

}  // namespace model
