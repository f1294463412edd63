#include "tests/model/fabric.h"

#include <algorithm>

namespace model {
namespace {

/// How long octets occupy a link; rounded up.
std::int64_t on_link_ns(std::uint64_t octets, std::uint64_t bits_per_sec) {
    return static_cast<std::int64_t>((octets * 8 * 1'000'000'000 + bits_per_sec - 1) / bits_per_sec);
}

bool named(const Loss& loss, const Packet& packet) {
    return packet.side == loss.connection * 2 + (loss.from_b ? 1 : 0) && packet.psn == loss.psn &&
           loss.acknowledgement != packet.request() && !packet.notification();
}

}  // namespace

Fabric::Fabric(const Plan& plan) {
    out_.plan = plan;
    ports_.resize(plan.hosts.size());
    sides_.reserve(plan.connections.size() * 2);
    out_.sides.resize(plan.connections.size() * 2);
    losses_seen_[0].resize(plan.network.losses_before.size());
    losses_seen_[1].resize(plan.network.losses_behind.size());
    for (const Connection& connection : out_.plan.connections) {
        for (const bool b : {false, true}) {
            Side& side = sides_.emplace_back(connection.seed * 2 + (b ? 1 : 0));
            side.number = static_cast<std::uint32_t>(sides_.size() - 1);
            side.end = b ? &connection.b : &connection.a;
            side.peer = b ? &connection.a : &connection.b;
            side.receives = side.end->adapter.receives;
            if (side.peer->adapter.credits) side.credit_limit = side.peer->adapter.receives;
            out_.sides[side.number].stretches.push_back({0, idle_reason(side)});
            if (side.end->application.messages != 0) at(side.end->application.start_ns, What::post, side.number);
        }
    }
    for (std::uint32_t host = 0; host < plan.hosts.size(); ++host)
        for (const Pause& each : plan.hosts[host].pauses) {
            Packet packet;
            packet.pause = true;
            packet.pause_quanta = each.quanta;
            at(each.at_ns, What::pause, host, packet);
        }
}

History Fabric::run() {
    while (!events_.empty()) {
        const Event event = events_.top();
        events_.pop();
        now_ = event.time;
        happen(event);
    }
    out_.end_ns = now_;
    return std::move(out_);
}

void Fabric::at(std::int64_t time, What what, std::uint32_t index, const Packet& packet) {
    events_.push({time, order_++, what, index, packet});
}

void Fabric::happen(const Event& event) {
    switch (event.what) {
        case What::post: post(sides_[event.index]); break;
        case What::wake: touch(sides_[event.index]); break;
        case What::link_free: link_free(event.index, event.packet); break;
        case What::at_switch: at_switch(event.packet); break;
        case What::arrive: arrive(event.packet); break;
        case What::timer: on_timer(sides_[event.index]); break;
        case What::ack: acknowledge_due(sides_[event.index]); break;
        case What::answer: control(event.packet); break;
        case What::repost: answer_due(sides_[event.index]); break;
        case What::pause: pause(event.index, event.packet.pause_quanta); break;
        case What::go_on: kick(event.index); break;
        case What::speed: speed_up(sides_[event.index]); break;
    }
}

void Fabric::control(Packet packet) {
    ports_[packet.source_host].control.push_back(packet);
    kick(packet.source_host);
}

/// The link of a host takes the next packet: answers first, then QPs in turn.
void Fabric::kick(std::uint32_t host) {
    Port& port = ports_[host];
    if (port.busy || port.paused_until > now_) return;
    if (!port.control.empty()) {
        const Packet packet = port.control.front();
        port.control.pop_front();
        return start(host, packet, UINT32_MAX);
    }
    while (!port.turns.empty()) {
        Side& side = sides_[port.turns.front()];
        port.turns.pop_front();
        side.queued = false;
        std::int64_t wake = never_ns;
        if (blocked(side, wake)) {
            touch(side);
            continue;
        }
        const Packet packet = next_packet(side);
        return start(host, packet, packet.data() ? side.number : UINT32_MAX);
    }
}

void Fabric::start(std::uint32_t host, const Packet& packet, std::uint32_t sender) {
    Port& port = ports_[host];
    port.busy = true;
    port.sender = sender;
    const std::int64_t end =
        now_ + on_link_ns(link_octets(packet, out_.plan.framing), out_.plan.hosts[host].bits_per_sec);
    at(end, What::link_free, host, packet);
    if (sender == UINT32_MAX) return;
    Side& side = sides_[sender];
    side.transmitting = true;
    if (side.end->adapter.stall_every != 0 && packet.request() && !packet.meaning().ends_message() &&
        ++side.mid_packets % side.end->adapter.stall_every == 0)
        side.stall_until = end + side.end->adapter.stall_ns;
    if (side.rate != 0) side.allowed_ns = now_ + on_link_ns(link_octets(packet, out_.plan.framing), side.rate);
}

void Fabric::link_free(std::uint32_t host, const Packet& packet) {
    Port& port = ports_[host];
    port.busy = false;
    out_.passages.push_back({now_, Place::leaving, packet});
    if (lost(packet, false))
        out_.lost.push_back({now_, false, packet});
    else
        at(now_ + out_.plan.hosts[host].delay_ns, What::at_switch, 0, packet);
    if (port.sender != UINT32_MAX) {
        Side& side = sides_[port.sender];
        port.sender = UINT32_MAX;
        side.transmitting = false;
        side.gap_since = now_;
        touch(side);
    } else if (!packet.pause) {
        touch(sides_[packet.side]);
    }
    kick(host);
}

bool Fabric::lost(const Packet& packet, bool behind) {
    const Network& network = out_.plan.network;
    const std::vector<Loss>& names = behind ? network.losses_behind : network.losses_before;
    bool by_name = false;
    for (std::size_t i = 0; i < names.size(); ++i)
        by_name |= named(names[i], packet) && ++losses_seen_[behind ? 1 : 0][i] == names[i].nth;
    return by_name || sides_[packet.side].random.hit(behind ? network.loss_behind : network.loss_before);
}

/// One queue towards each host, first in, first out.
void Fabric::at_switch(Packet packet) {
    const Network& network = out_.plan.network;
    const Host& host = out_.plan.hosts[packet.destination_host];
    Port& port = ports_[packet.destination_host];
    out_.passages.push_back({now_, Place::middle, packet});
    const std::int64_t waiting = std::max<std::int64_t>(port.down_free - now_, 0);
    const auto queued =
        static_cast<std::uint64_t>(static_cast<double>(waiting) * static_cast<double>(host.down_bits_per_sec) / 8e9);
    if (lost(packet, true) || queued > network.queue_octets) {
        out_.lost.push_back({now_, true, packet});
        return;
    }
    if (network.mark_octets != 0 && queued >= network.mark_octets && packet.ecn != 0) packet.ecn = 3;
    port.down_free = now_ + waiting + on_link_ns(link_octets(packet, out_.plan.framing), host.down_bits_per_sec);
    Random& random = sides_[packet.side].random;
    if (random.hit(network.doubled)) {
        Packet copy = packet;
        copy.doubled = true;
        at(port.down_free + host.delay_ns + 200, What::arrive, 0, copy);
    }
    if ((packet.request() && random.hit(network.reordered)) ||
        (packet.response() && random.hit(network.late_responses))) {
        packet.late = true;
        return at(port.down_free + host.delay_ns + network.hold_ns, What::arrive, 0, packet);
    }
    at(port.down_free + host.delay_ns, What::arrive, 0, packet);
}

void Fabric::pause(std::uint32_t host, std::uint16_t quanta) {
    Packet packet;
    packet.pause = true;
    packet.pause_quanta = quanta;
    packet.destination_host = host;
    out_.passages.push_back({now_, Place::arriving, packet});
    // IEEE 802.3, annex 31B: a quantum is 512 bit times.
    ports_[host].paused_until = now_ + on_link_ns(std::uint64_t{quanta} * 64, out_.plan.hosts[host].bits_per_sec);
    at(ports_[host].paused_until, What::go_on, host);
    for (Side& side : sides_)
        if (side.end->host == host) touch(side);
}

Packet Fabric::base(const Side& side, std::uint8_t opcode, std::uint64_t psn, bool in_peers_space) const {
    Packet packet;
    packet.source_host = side.end->host;
    packet.destination_host = side.peer->host;
    packet.destination_qp = side.peer->qpn;
    packet.psn = psn;
    packet.wire_psn = static_cast<std::uint32_t>(((in_peers_space ? side.peer : side.end)->start_psn + psn) & 0xffffff);
    packet.source_port = static_cast<std::uint16_t>(0xc000 | (side.end->qpn & 0x3fff));
    packet.opcode = opcode;
    packet.side = side.number;
    packet.ecn = out_.plan.network.mark_octets != 0 && packet.data() ? 2 : 0;
    return packet;
}

History run(const Plan& plan) { return Fabric(plan).run(); }

}  // namespace model
