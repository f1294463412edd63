#include <algorithm>

#include "tests/model/fabric.h"
#include "wire/aeth.h"

/// Responders: what is accepted, and what is said about it.
namespace model {

using metrics::Operation;

void Fabric::arrive(const Packet& packet) {
    out_.passages.push_back({now_, Place::arriving, packet});
    Side& side = sides_[packet.side ^ 1];
    if (packet.notification()) return on_notification(side);
    if (packet.ecn == 3 && now_ >= side.last_cnp + side.end->adapter.cnp_interval_ns) {
        side.last_cnp = now_;
        at(now_ + side.end->adapter.answer_ns, What::answer, side.number, base(side, opcode_cnp, 0, false));
    }
    if (packet.request()) return on_request(side, packet);
    if (packet.response()) return on_response(side, packet);
    on_acknowledgement(side, packet);
}

void Fabric::on_request(Side& side, const Packet& packet) {
    if (packet.psn == side.expected) return accept(side, packet);
    if (packet.psn > side.expected) {
        if (side.nak_sent) return;
        side.nak_sent = true;
        Job nak;
        nak.psn = side.expected;
        nak.syndrome = 3 << 5 | static_cast<std::uint8_t>(wire::NakCode::psn_sequence_error);
        return answer(side, nak);
    }
    // A duplicate: acknowledged once more; a READ is carried out once more. IBTA vol. 1, 9.7.5.1.3.
    Job job;
    job.psn = side.expected - 1;
    job.syndrome = credit_syndrome(side);
    if (packet.opcode == 0x0c) {
        job.kind = Job::Kind::read;
        job.psn = packet.psn;
        job.bytes = packet.dma_length;
        job.packets = std::max(1u, (packet.dma_length + out_.plan.mtu - 1) / out_.plan.mtu);
        side.repair = metrics::State::recover_nak;  // a repeated request shows what is missing
    } else if (packet.meaning().has(wire::ExtendedHeader::atomiceth)) {
        job.kind = Job::Kind::atomic;
        job.psn = packet.psn;
    } else if (!packet.meaning().ends_message()) {
        return;
    }
    job.message = packet.message;
    answer(side, job);
}

/// Says so where a SEND finds no receive work request.
bool Fabric::receive_missing(Side& side, const Packet& packet) {
    const Adapter& adapter = side.end->adapter;
    const wire::BthOpcode& meaning = packet.meaning();
    const bool send = meaning.operation == wire::BthOperation::send;
    const bool takes = send ? meaning.starts_message() : meaning.has_immediate();
    if (adapter.receives == 0 || !takes) return false;
    if (side.receives != 0) {
        --side.receives;
        return false;
    }
    if (side.nak_sent) return true;
    side.nak_sent = true;
    Job nak;
    nak.psn = packet.psn;
    nak.syndrome = static_cast<std::uint8_t>(1 << 5 | adapter.rnr_timer);
    answer(side, nak);
    return true;
}

void Fabric::accept(Side& side, const Packet& packet) {
    if (receive_missing(side, packet)) return;
    side.nak_sent = false;
    const Adapter& adapter = side.end->adapter;
    if (packet.opcode == 0x0c) {
        Job job;
        job.kind = Job::Kind::read;
        job.psn = packet.psn;
        job.bytes = packet.dma_length;
        job.packets = std::max(1u, (packet.dma_length + out_.plan.mtu - 1) / out_.plan.mtu);
        side.expected += job.packets;
        ++side.msn;
        job.message = packet.message;
        return answer(side, job);
    }
    ++side.expected;
    if (packet.meaning().has(wire::ExtendedHeader::atomiceth)) {
        ++side.msn;
        Job job;
        job.kind = Job::Kind::atomic;
        job.psn = packet.psn;
        job.message = packet.message;
        return answer(side, job);
    }
    if (!packet.meaning().ends_message()) return;
    ++side.msn;
    ++side.unacknowledged;
    const wire::BthOpcode& meaning = packet.meaning();
    const bool application_knows = meaning.operation == wire::BthOperation::send || meaning.has_immediate();
    if (application_knows && adapter.receives != 0) at(now_ + adapter.repost_ns, What::repost, side.number);
    if (application_knows && side.end->application.messages != 0) {
        ++side.owed;
        if (side.waiting || side.end->application.answers) side.reacting = metrics::State::peer_wait;
        side.waiting = false;
        at(now_ + side.end->application.reaction_ns, What::post, side.number);
    }
    if (side.unacknowledged >= adapter.ack_messages) {
        side.ack_at = never_ns;
        side.unacknowledged = 0;
        Job ack;
        ack.psn = side.expected - 1;
        ack.syndrome = credit_syndrome(side);
        return answer(side, ack);
    }
    if (side.ack_at == never_ns) {
        side.ack_at = now_ + adapter.ack_delay_ns;
        at(side.ack_at, What::ack, side.number);
    }
}

void Fabric::acknowledge_due(Side& side) {
    if (side.ack_at > now_ || side.unacknowledged == 0) return;
    side.ack_at = never_ns;
    side.unacknowledged = 0;
    Job ack;
    ack.psn = side.expected - 1;
    ack.syndrome = credit_syndrome(side);
    answer(side, ack);
}

/// The application has posted a receive again. A sender without credits gets an acknowledgement. IBTA vol. 1, 9.7.7.2.
void Fabric::answer_due(Side& side) {
    ++side.receives;
    if (!side.starved) return;
    Job ack;
    ack.psn = side.expected - 1;
    ack.syndrome = credit_syndrome(side);
    answer(side, ack);
}

std::uint8_t Fabric::credit_syndrome(Side& side) {
    if (!side.end->adapter.credits) return wire::no_credit_limit;
    std::uint8_t code = 0;
    while (code + 1u < wire::credits_of_code.size() && wire::credits_of_code[code + 1u] <= side.receives) ++code;
    side.starved = code == 0;
    return code;
}

/// Answers leave in the order of the requests: one that needs no memory waits after READs that are under way.
void Fabric::answer(Side& side, Job job) {
    const Adapter& adapter = side.end->adapter;
    job.msn = side.msn;
    if (job.kind == Job::Kind::acknowledgement && side.jobs.empty()) {
        Packet packet = base(side, opcode_acknowledge, job.psn, true);
        packet.syndrome = job.syndrome;
        packet.msn = job.msn;
        return at(now_ + adapter.answer_ns, What::answer, side.number, packet);
    }
    job.ready_ns = now_ + (job.kind == Job::Kind::acknowledgement ? adapter.answer_ns : adapter.read_ns);
    side.jobs.push_back(job);
    touch(side);
}

Packet Fabric::next_response(Side& side) {
    Job& job = side.jobs.front();
    const bool read = job.kind == Job::Kind::read;
    Packet packet = base(side,
                         read                            ? response_opcode(job.index, job.packets)
                         : job.kind == Job::Kind::atomic ? opcode_atomic_acknowledge
                                                         : opcode_acknowledge,
                         job.psn + job.index, true);
    packet.syndrome = job.kind == Job::Kind::acknowledgement ? job.syndrome : credit_syndrome(side);
    packet.msn = job.msn;
    packet.message = job.message;
    if (read) {
        packet.payload = std::min(out_.plan.mtu, job.bytes - static_cast<std::uint32_t>(job.index) * out_.plan.mtu);
        packet.again = packet.psn < side.response_top;
        side.response_top = std::max(side.response_top, packet.psn + 1);
        close_gap(side, packet.again);
    }
    if (++job.index == job.packets) side.jobs.pop_front();
    return packet;
}

}  // namespace model
