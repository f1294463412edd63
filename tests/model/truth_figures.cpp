#include "tests/model/truth_figures.h"

#include <algorithm>
#include <deque>
#include <set>

#include "wire/aeth.h"

namespace model {
namespace {

struct Open {
    std::uint64_t id = 0;
    Work work;
    std::uint64_t first_psn = 0;
    std::uint64_t last_psn = 0;
    std::int64_t first_ns = 0;
    std::int64_t last_ns = -1;  ///< -1: its last packet has not passed
    std::int64_t response_ns = -1;
    bool again = false;
};

/// Follows one direction's messages at the tap.
struct Follower {
    std::deque<Open> open;
    std::set<std::uint64_t> seen;  ///< PSNs of requests
    std::set<std::uint64_t> responses;
    std::set<std::uint64_t> accepted;  ///< of them, those that their requester takes: all before them has come
    std::uint64_t next_message = 0;
    std::uint64_t next_psn = 0;
    std::uint64_t response_ahead = 0;
    std::uint64_t ahead = 0;  ///< all requests below it have passed or are missing
};

class Counter {
public:
    Counter(const History& history, Tap tap)
        : history_(history), tap_(tap), out_(history.sides.size()), followers_(history.sides.size()) {}

    std::vector<Figures> count() {
        for (const Passage* passage : seen(history_, tap_))
            if (!passage->packet.pause) take(*passage);
        return std::move(out_);
    }

private:
    void take(const Passage& passage) {
        const Packet& packet = passage.packet;
        Figures& figures = out_[packet.side];
        if (figures.packets++ == 0) figures.first_ns = passage.time_ns;
        figures.last_ns = passage.time_ns;
        figures.wire_bytes += frame_octets(packet, history_.plan.framing);
        figures.ecn_ce_packets += packet.ecn == 3 ? 1 : 0;
        figures.ecn_capable_packets += packet.ecn != 0 ? 1 : 0;
        if (packet.opcode == opcode_acknowledge) ++figures.acknowledgement_packets;
        if (packet.notification()) ++out_[packet.side ^ 1].cnp_packets;
        if (packet.doubled)
            ++figures.duplicate_packets;
        else if (packet.again && !looks_new(packet))
            ++figures.retransmitted_packets;
        if (packet.request()) request(passage);
        if (packet.acknowledges() || packet.response()) answer(passage);
    }

    /// Lost before the tap with nothing after it, then sent again beyond all that had passed. The tap cannot tell
    /// whether the sender had come so far before: where it goes back within a message, it goes on with new packets
    /// after the old ones, and nothing marks the border.
    bool looks_new(const Packet& packet) const {
        return packet.request() && packet.psn >= followers_[packet.side].ahead;
    }

    void request(const Passage& passage) {
        const Packet& packet = passage.packet;
        Follower& follower = followers_[packet.side];
        const bool fresh = follower.seen.insert(packet.psn).second;
        if (fresh) out_[packet.side].payload_bytes += packet.payload;
        if (packet.psn > follower.ahead) out_[packet.side].missing_packets += packet.psn - follower.ahead;
        if (fresh && packet.psn < follower.ahead && packet.late && !packet.again) {
            ++out_[packet.side].late_packets;
            --out_[packet.side].missing_packets;
        }
        const bool read = packet.meaning().operation == wire::BthOperation::read_request;
        const std::uint64_t span =
            read ? std::max(1u, (packet.dma_length + history_.plan.mtu - 1) / history_.plan.mtu) : 1;
        follower.ahead = std::max(follower.ahead, packet.psn + span);
        Open& message = message_of(packet, passage.time_ns);
        if (packet.again && packet.psn >= message.first_psn) mark_again(packet);
        if (fresh && packet.meaning().ends_message() && message.last_ns < 0) {
            message.last_ns = passage.time_ns;
            OperationTruth& operation = out_[packet.side].operations[metrics::index_of(message.work.operation)];
            ++operation.count;
            operation.bytes += message.work.bytes;
        }
    }

    void mark_again(const Packet& packet) {
        for (Open& each : followers_[packet.side].open)
            if (each.id == packet.message) each.again = true;
    }

    /// Messages pass the tap in their order, so that one not met yet is the next.
    Open& message_of(const Packet& packet, std::int64_t now_ns) {
        static Open nobody;
        Follower& follower = followers_[packet.side];
        const std::vector<Work>& mix = history_.end(packet.side).application.mix;
        while (follower.next_message <= packet.message) {
            Open open;
            open.id = follower.next_message;
            open.work = mix[open.id % mix.size()];
            const bool atomic = open.work.operation > metrics::Operation::read;
            const std::uint64_t packets =
                atomic ? 1 : std::max(1u, (open.work.bytes + history_.plan.mtu - 1) / history_.plan.mtu);
            open.first_psn = follower.next_psn;
            open.last_psn = follower.next_psn + packets - 1;
            open.first_ns = now_ns;
            follower.next_psn += packets;
            ++follower.next_message;
            follower.open.push_back(open);
            out_[packet.side].outstanding.push_back({now_ns, 1});
        }
        for (Open& open : follower.open)
            if (open.id == packet.message) return open;
        nobody = {};
        nobody.last_ns = 0;
        return nobody;
    }

    /// Something from the responder passes: what it covers is no longer outstanding.
    void answer(const Passage& passage) {
        const Packet& packet = passage.packet;
        const std::uint32_t requester = packet.side ^ 1;
        std::uint64_t below = packet.psn + 1;
        if (packet.opcode == opcode_acknowledge) {
            const wire::AethKind kind = wire::kind_of_syndrome(packet.syndrome);
            if (kind != wire::AethKind::ack) below = packet.psn;
            if (kind == wire::AethKind::nak) ++out_[requester].sequence_naks;
            if (kind == wire::AethKind::rnr_nak) ++out_[requester].rnr_naks;
        } else if (packet.response()) {
            response(packet, out_[packet.side], followers_[requester]);
        }
        Follower& follower = followers_[requester];
        if (packet.opcode == opcode_acknowledge) skip_responses(below, out_[packet.side], follower);
        if (packet.opcode != opcode_acknowledge) first_response(passage, follower);
        while (!follower.open.empty()) {
            Open& oldest = follower.open.front();
            if (oldest.last_psn >= below || oldest.last_ns < 0 || !complete(follower, oldest)) return;
            OperationTruth& operation = out_[requester].operations[metrics::index_of(oldest.work.operation)];
            if (!oldest.again) operation.latency_ns.push_back(since(passage.time_ns, oldest.last_ns));
            out_[requester].outstanding.push_back({passage.time_ns, -1});
            follower.open.pop_front();
        }
    }

    static void response(const Packet& packet, Figures& figures, Follower& requester) {
        const bool fresh = requester.responses.insert(packet.psn).second;
        if (fresh) figures.payload_bytes += packet.payload;
        if (fresh && packet.psn < requester.response_ahead && packet.late && !packet.again) {
            ++figures.late_packets;
            --figures.missing_packets;
        }
        skip_responses(packet.psn, figures, requester);
        if (takes(requester, packet.psn)) requester.accepted.insert(packet.psn);
        requester.response_ahead = std::max(requester.response_ahead, packet.psn + 1);
    }

    /// While a response is missing, those after it are dropped.
    static bool takes(const Follower& requester, std::uint64_t psn) {
        for (const Open& open : requester.open) {
            if (open.work.operation != metrics::Operation::read || open.first_psn > psn) continue;
            for (std::uint64_t before = open.first_psn; before < std::min(open.last_psn + 1, psn); ++before)
                if (requester.accepted.count(before) == 0) return false;
        }
        return true;
    }

    /// Something passes that comes after all responses below `psn`. PSNs between two READs' responses may belong to
    /// other requests.
    static void skip_responses(std::uint64_t psn, Figures& figures, Follower& requester) {
        for (const Open& open : requester.open) {
            if (open.work.operation != metrics::Operation::read) continue;
            const std::uint64_t begin = std::max(open.first_psn, requester.response_ahead);
            const std::uint64_t end = std::min(open.last_psn + 1, psn);
            figures.missing_packets += end > begin ? end - begin : 0;
        }
        requester.response_ahead = std::max(requester.response_ahead, psn);
    }

    /// No sample of one whose first packet did not pass, or that its requester drops because an earlier READ lacks
    /// some.
    void first_response(const Passage& passage, Follower& follower) {
        const std::uint8_t opcode = passage.packet.opcode;
        if (passage.packet.response() && opcode != response_opcode(0, 1) && opcode != response_opcode(0, 2)) return;
        for (Open& each : follower.open) {
            if (each.last_psn < passage.packet.psn && !complete(follower, each)) return;
            if (passage.packet.psn < each.first_psn || passage.packet.psn > each.last_psn) continue;
            if (each.response_ns >= 0 || each.work.operation != metrics::Operation::read) return;
            each.response_ns = passage.time_ns;
            if (!each.again)
                out_[passage.packet.side ^ 1]
                    .operations[metrics::index_of(metrics::Operation::read)]
                    .first_response_ns.push_back(since(passage.time_ns, each.last_ns));
            return;
        }
    }

    /// A READ is done when all of its responses have passed, whatever an ACK of a later request implies.
    static bool complete(const Follower& follower, const Open& open) {
        if (open.work.operation != metrics::Operation::read) return true;
        for (std::uint64_t psn = open.first_psn; psn <= open.last_psn; ++psn)
            if (follower.accepted.count(psn) == 0) return false;
        return true;
    }

    static std::uint64_t since(std::int64_t now_ns, std::int64_t then_ns) {
        return static_cast<std::uint64_t>(now_ns - then_ns);
    }

    const History& history_;
    Tap tap_;
    std::vector<Figures> out_;
    std::vector<Follower> followers_;
};

}  // namespace

std::uint64_t Figures::messages_max() const {
    std::int64_t level = 0;
    std::int64_t most = 0;
    for (const Change& change : outstanding) most = std::max(most, level += change.by);
    return static_cast<std::uint64_t>(most);
}

std::uint64_t Figures::message_ns(std::int64_t from_ns, std::int64_t to_ns) const {
    std::int64_t level = 0;
    std::int64_t before = from_ns;
    std::uint64_t area = 0;
    for (const Change& change : outstanding) {
        const std::int64_t until = std::clamp(change.time_ns, before, to_ns);
        area += static_cast<std::uint64_t>(level * (until - before));
        before = until;
        level += change.by;
    }
    return area + static_cast<std::uint64_t>(level * (to_ns - before));
}

std::vector<Figures> figures(const History& history, Tap tap) { return Counter(history, tap).count(); }

}  // namespace model
