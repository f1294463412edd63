#include <algorithm>

#include "tests/model/fabric.h"
#include "wire/aeth.h"

/// Applications and requesters: what is posted, what is transmitted next, and why nothing is.
namespace model {

using metrics::State;

bool Fabric::may_post(const Side& side) const {
    const Application& application = side.end->application;
    return out_.sides[side.number].posted < application.messages && side.messages.size() < application.depth &&
           !side.waiting && side.think_until <= now_ && (!application.answers || side.owed != 0);
}

void Fabric::post(Side& side) {
    const Application& application = side.end->application;
    SideTruth& truth = out_.sides[side.number];
    side.reacting.reset();
    while (may_post(side)) {
        Message message;
        message.id = truth.posted;
        message.work = application.mix[truth.posted % application.mix.size()];
        const bool atomic = message.work.operation > metrics::Operation::read;
        message.packets = atomic ? 1 : std::max(1u, (message.work.bytes + out_.plan.mtu - 1) / out_.plan.mtu);
        message.psn = side.next_psn;
        side.next_psn += message.packets;
        if (side.messages.empty()) side.cursor = message.id, side.cursor_packet = 0;
        side.messages.push_back(message);
        ++truth.posted;
        truth.post_ns.push_back(now_);
        if (application.answers) --side.owed;
        if (application.burst == 0 || ++side.burst < application.burst) continue;
        side.burst = 0;
        side.waiting = application.waits;
        if (application.period_ns != 0) {
            side.due_ns = (side.due_ns == 0 ? now_ : side.due_ns) + application.period_ns;
            side.think_until = side.due_ns + static_cast<std::int64_t>(
                                                 side.random.below(static_cast<std::uint64_t>(application.jitter_ns)));
            at(side.think_until, What::post, side.number);
        } else if (application.think_ns != 0) {
            // Half to one and a half times: a constant phase to the ACKs would look like a window.
            side.think_until =
                now_ + application.think_ns / 2 +
                static_cast<std::int64_t>(side.random.below(static_cast<std::uint64_t>(application.think_ns)));
            at(side.think_until, What::post, side.number);
        }
    }
    touch(side);
}

/// A message has left the send queue.
void Fabric::completed(Side& side) {
    ++out_.sides[side.number].completed;
    out_.sides[side.number].complete_ns.push_back(now_);
    // Room in a send queue that was not full changes nothing.
    if (side.reacting || side.messages.size() + 1 < side.end->application.depth || !may_post(side)) return;
    side.reacting = State::ack_window;
    at(now_ + side.end->application.reaction_ns, What::post, side.number);
}

State Fabric::idle_reason(const Side& side) const {
    const Application& application = side.end->application;
    if (side.end->application.messages == 0) return State::peer_wait;
    if (out_.sides[side.number].posted == application.messages) return State::application_idle;
    if (side.reacting) return *side.reacting;
    if (side.messages.size() >= application.depth) return State::ack_window;
    if (side.waiting || (application.answers && side.owed == 0)) return State::peer_wait;
    return State::application_idle;
}

/// Why nothing is transmitted now; nullopt: something can be.
std::optional<State> Fabric::blocked(Side& side, std::int64_t& wake) {
    if (!side.jobs.empty()) {
        if (side.jobs.front().ready_ns <= now_) return std::nullopt;
        wake = side.jobs.front().ready_ns;
    }
    const auto later = [&](std::int64_t until, State state) {
        wake = std::min(wake, until);
        return state;
    };
    Message* const message = side.at_cursor();
    if (message == nullptr) return idle_reason(side);
    if (side.rnr_until > now_) return later(side.rnr_until, State::rnr_wait);
    const bool again = message->psn + message->done + side.cursor_packet < side.top;
    if (side.cursor_packet == 0 && !again) {
        if (message->wants_response()) {
            const auto open = std::count_if(side.messages.begin(), side.messages.end(), [&](const Message& each) {
                return each.id < message->id && each.wants_response() && each.done < each.packets;
            });
            if (static_cast<std::uint64_t>(open) >= side.end->adapter.read_depth) return State::read_window;
        }
        if (message->consumes_receive() && message->id >= side.credit_limit) return State::credit;
    }
    if (side.stall_until > now_ && side.cursor_packet != 0) return later(side.stall_until, State::nic_stall);
    if (side.allowed_ns > now_) return later(side.allowed_ns, State::congestion_paced);
    return std::nullopt;
}

/// After whatever may have changed what this end can do.
void Fabric::touch(Side& side) {
    if (side.transmitting) return;
    std::int64_t wake = never_ns;
    const std::optional<State> reason = blocked(side, wake);
    if (reason) {
        if (*reason == State::credit && out_.sides[side.number].stretches.back().state != State::credit)
            ++out_.sides[side.number].credit_stops;
        enter(side, *reason, now_);
        if (wake != never_ns) at(wake, What::wake, side.number);
        return;
    }
    Port& port = ports_[side.end->host];
    if (!side.queued) {
        side.queued = true;
        port.turns.push_back(side.number);
    }
    enter(side, port.paused_until > now_ ? State::nic_stall : State::link_shared, now_);
    kick(side.end->host);
}

void Fabric::enter(Side& side, State state, std::int64_t since) {
    std::vector<Stretch>& stretches = out_.sides[side.number].stretches;
    if (stretches.back().state == state) return;
    if (stretches.back().since_ns == since)
        stretches.back().state = state;
    else
        stretches.push_back({since, state});
}

/// A data packet begins: what the silence after its predecessor was is known only now. What ends in a repetition was
/// recovery from its beginning; a silence of the application counts as idle only if nothing was outstanding any more.
void Fabric::close_gap(Side& side, bool again) {
    std::vector<Stretch>& stretches = out_.sides[side.number].stretches;
    const bool in_flight =
        std::any_of(side.messages.begin(), side.messages.end(), [](const Message& message) { return message.sent; });
    for (std::size_t i = stretches.size(); i-- > 0 && stretches[i].since_ns >= side.gap_since;) {
        State& state = stretches[i].state;
        if (again && side.repair != State::transmit_new)
            state = side.repair;
        else if (state == State::application_idle && in_flight)
            state = State::application_in_flight;
    }
    side.repair = State::transmit_new;
    enter(side, again ? State::transmit_again : State::transmit_new, now_);
}

Packet Fabric::next_packet(Side& side) {
    if (!side.jobs.empty() && side.jobs.front().ready_ns <= now_) return next_response(side);
    return next_request(side);
}

Packet Fabric::next_request(Side& side) {
    Message& message = *side.at_cursor();
    const bool response = message.wants_response();
    const std::uint64_t index = response ? message.done : side.cursor_packet;
    Packet packet = base(side, opcode_of(message.work.operation, response ? 0 : index, message.packets),
                         message.psn + index, false);
    const std::uint32_t skipped = static_cast<std::uint32_t>(index) * out_.plan.mtu;
    packet.message = message.id;
    packet.virtual_address = 0x7f0000000000 + message.id * 65536 + (response ? skipped : 0);
    packet.dma_length = response ? message.work.bytes - skipped : message.work.bytes;
    if (!response) packet.payload = std::min(out_.plan.mtu, message.work.bytes - skipped);
    packet.again = packet.psn < side.top;
    packet.ack_request = packet.meaning().ends_message();
    close_gap(side, packet.again);
    message.sent = true;
    side.top = std::max(side.top, response ? message.psn + message.packets : packet.psn + 1);
    if (++side.cursor_packet == message.to_send()) ++side.cursor, side.cursor_packet = 0;
    if (side.deadline == never_ns) side.deadline = now_ + side.end->adapter.ack_timeout_ns;
    arm(side);
    return packet;
}

void Fabric::arm(Side& side) {
    if (side.timer_set || side.deadline == never_ns) return;
    side.timer_set = true;
    at(side.deadline, What::timer, side.number);
}

void Fabric::on_timer(Side& side) {
    side.timer_set = false;
    if (side.deadline == never_ns) return;
    if (side.deadline > now_) return arm(side);
    side.deadline = now_ + side.end->adapter.ack_timeout_ns;
    arm(side);
    if (side.rnr_until > now_) return;
    const Message& oldest = side.messages.front();
    ++out_.sides[side.number].timeouts;
    go_back(side, oldest.wants_response() ? oldest.psn + oldest.done : std::max(oldest.psn, side.acknowledged),
            State::recover_timeout);
}

void Fabric::go_back(Side& side, std::uint64_t psn, State why) {
    for (const Message& message : side.messages) {
        if (psn >= message.psn + message.packets) continue;
        side.cursor = message.id;
        side.cursor_packet = message.wants_response() || psn < message.psn ? 0 : psn - message.psn;
        break;
    }
    side.repair = why;
    touch(side);
}

/// Everything below `below` has been received; READs and atomics still need their responses.
void Fabric::acknowledge(Side& side, std::uint64_t below) {
    if (below > side.acknowledged) {
        side.acknowledged = below;
        side.deadline = now_ + side.end->adapter.ack_timeout_ns;
    }
    bool any = false;
    while (!side.messages.empty()) {
        const Message& oldest = side.messages.front();
        if (!oldest.sent) break;
        if (oldest.wants_response() ? oldest.done < oldest.packets : oldest.psn + oldest.packets > side.acknowledged)
            break;
        // An ACK may overtake a repetition that had begun already: what it covers need not be sent again.
        if (side.cursor <= oldest.id) side.cursor = oldest.id + 1, side.cursor_packet = 0;
        side.messages.pop_front();
        any = true;
        completed(side);
    }
    if (Message* message = side.at_cursor(); message != nullptr && !message->wants_response())
        if (side.acknowledged > message->psn + side.cursor_packet)
            side.cursor_packet = std::min(side.acknowledged - message->psn, message->packets - 1);
    const bool waiting =
        std::any_of(side.messages.begin(), side.messages.end(), [](const Message& message) { return message.sent; });
    if (!waiting) side.deadline = never_ns;
    if (any || side.end->application.waits) touch(side);
}

void Fabric::on_acknowledgement(Side& side, const Packet& packet) {
    if (packet.meaning().has(wire::ExtendedHeader::atomicacketh)) return on_response(side, packet);
    const std::uint8_t value = wire::value_of_syndrome(packet.syndrome);
    switch (wire::kind_of_syndrome(packet.syndrome)) {
        case wire::AethKind::ack:
            if (side.peer->adapter.credits && value != wire::no_credit_limit)
                side.credit_limit =
                    std::max(side.credit_limit, packet.msn + std::uint64_t{wire::credits_of_code[value]});
            if (lacks_response(side, packet.psn + 1)) return;
            acknowledge(side, packet.psn + 1);
            return touch(side);
        case wire::AethKind::rnr_nak:
            if (lacks_response(side, packet.psn)) return;
            acknowledge(side, packet.psn);
            if (packet.psn < side.acknowledged) return;
            side.rnr_until = now_ + std::int64_t{wire::rnr_timer_us[value]} * 1000;
            side.deadline = side.rnr_until + side.end->adapter.ack_timeout_ns;
            return go_back(side, packet.psn, State::rnr_wait);
        case wire::AethKind::nak:
            if (lacks_response(side, packet.psn)) return;
            acknowledge(side, packet.psn);
            if (packet.psn < side.acknowledged) return;
            side.deadline = now_ + side.end->adapter.ack_timeout_ns;
            return go_back(side, packet.psn, State::recover_nak);
        case wire::AethKind::reserved: break;
    }
}

/// Whether an answer that covers all before `below` implies that the response to a READ or atomic there was lost. IBTA
/// vol. 1, 9.7.5.2.8.
bool Fabric::lacks_response(Side& side, std::uint64_t below) {
    for (const Message& message : side.messages) {
        if (!message.sent || message.psn + message.packets > below) return false;
        if (!message.wants_response() || message.done == message.packets) continue;
        const std::uint64_t wanted = message.psn + message.done;
        acknowledge(side, wanted);
        if (side.asked_again_psn != wanted) ask_again(side, wanted);
        return true;
    }
    return false;
}

/// Responses from `psn` on are missing.
void Fabric::ask_again(Side& side, std::uint64_t psn) {
    side.asked_again_psn = psn;
    ++out_.sides[side.number].read_recoveries;
    go_back(side, psn, State::recover_nak);
}

void Fabric::on_response(Side& side, const Packet& packet) {
    Message* oldest = nullptr;
    for (Message& message : side.messages)
        if (message.wants_response() && message.done < message.packets) {
            oldest = &message;
            break;
        }
    if (oldest == nullptr || packet.psn < oldest->psn + oldest->done) return;
    const std::uint64_t wanted = oldest->psn + oldest->done;
    if (packet.psn > wanted) {
        // The responder has begun again, and the same one is missing again.
        const bool anew = packet.psn <= side.dropped_psn;
        side.dropped_psn = packet.psn;
        if (side.asked_again_psn == wanted && !anew) return;
        return ask_again(side, wanted);
    }
    ++oldest->done;
    side.deadline = now_ + side.end->adapter.ack_timeout_ns;
    acknowledge(side, packet.psn + 1);
    touch(side);
}

/// In the manner of DCQCN: cut by alpha / 2, then back half-way five times, then in steps. Zhu et al., 2015.
void Fabric::on_notification(Side& side) {
    if (!side.end->adapter.slows_down) return;
    const std::uint64_t link = out_.plan.hosts[side.end->host].bits_per_sec;
    if (side.rate == 0) side.rate = link;
    side.alpha = side.alpha - side.alpha / 16 + 64;
    side.target_rate = side.rate;
    side.rate = std::max(side.rate - side.rate * side.alpha / 2048, link / 1000);
    side.recovery_rounds = 0;
    side.slow_since = now_;
    at(now_ + 55'000, What::speed, side.number);
}

void Fabric::speed_up(Side& side) {
    if (side.rate == 0 || now_ < side.slow_since + 55'000) return;
    const std::uint64_t link = out_.plan.hosts[side.end->host].bits_per_sec;
    side.alpha -= side.alpha / 16;
    if (++side.recovery_rounds > 5) side.target_rate = std::min(side.target_rate + link / 100, link);
    side.rate = (side.rate + side.target_rate) / 2;
    side.slow_since = now_;
    if (side.rate > link / 100 * 99) {
        side.rate = 0;
        return;
    }
    at(now_ + 55'000, What::speed, side.number);
}

}  // namespace model
