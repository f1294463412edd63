// Decisions that only read come first; once something has changed, the packet is no longer left to on_packet().
#include "metrics/measure/roce/common_path.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "metrics/measure/packet/identification.h"
#include "metrics/measure/packet/opcode_traits.h"
#include "metrics/measure/packet/packet_summary.h"
#include "metrics/measure/roce/answered_requests.h"
#include "metrics/measure/roce/credit.h"
#include "metrics/measure/roce/gap_end.h"

namespace metrics::inline measure::inline roce {

namespace {

constexpr unsigned congestion_experienced = 3;  // of the two bits of ECN

}  // namespace

struct CommonPath::Packet {
    const OpcodeTraits& traits;
    const FrameContext& context;
    std::int64_t now_ns;
    std::uint64_t frame;
    std::uint32_t psn;
    std::uint32_t wire_length;
    std::uint32_t payload;
    std::uint16_t identification;
    std::uint16_t udp_port;
    std::uint8_t hop_limit;
    std::uint8_t traffic_class;
    std::uint8_t syndrome;  ///< of acknowledgements
    wire::Direction direction;
    // Of requests with a RETH; else 0.
    std::uint32_t remote_key;
    std::uint32_t dma_length;
    std::uint64_t virtual_address;

    /// What Tracking::count() does to a flow that had packets before, without a mark.
    void count(Flow& flow) const {
        PacketCounts& counts = flow.counts;
        ++counts.packets;
        counts.wire_bytes += wire_length;
        counts.first_ns = std::min(counts.first_ns, now_ns);
        counts.last_ns = std::max(counts.last_ns, now_ns);
        flow.count_ecn_capable((traffic_class & congestion_experienced) != 0);
        flow.inbound = flow.inbound || direction == wire::Direction::inbound;
        flow.outbound = flow.outbound || direction == wire::Direction::outbound;
    }
};

[[gnu::always_inline]] inline bool CommonPath::on_request(Flow& flow, const Packet& packet) {
    RequestState& request = flow.request;
    if (((packet.psn ^ request.next) & psn::mask) != 0 || request.next == 0 || flow.reverse == no_flow ||
        flow.trouble != Flow::no_block || request.recovering || request.unobserved || request.watched)
        return false;

    const OpcodeTraits& traits = packet.traits;
    const Flow& reverse = store_.table[flow.reverse];
    const std::uint64_t position = request.next;
    store_.path_windows.note(flow, packet.now_ns);
    packet.count(flow);
    store_.note_udp_port(flow, packet.udp_port);
    store_.note_path(flow, PathKey::of_plain(packet.udp_port, packet.hop_limit), {1, packet.wire_length, 0});
    store_.remember_entropy(flow, position);
    note_identification(request, position, packet.identification);
    const GapEnd end{packet.now_ns, packet.wire_length + ethernet_overhead, packet.frame, traits.takes_receive,
                     packet.context};
    const bool mid_message = request.in_message && !traits.starts;
    const std::int64_t news_ns = std::max(std::max(request.freed_ns, request.response_ns),
                                          std::max(request.credit_freed_ns, reverse.request.message_end_ns));
    const bool quiet = reverse.trouble == Flow::no_block && flow.drop_epoch == store_.drop_epoch &&
                       flow.attribution.signal_ns() == Situation::never &&
                       !(end.takes_receive && lacks_credit(reverse, flow));
    if (quiet && flow.attribution.at_once(end.now_ns, end.wire_bytes, packet.context.source_bits_per_sec, news_ns,
                                          flow.ledger.messages(), flow.ledger.responses(), mid_message)) {
        request.sibling_bytes_then = packet.context.source_wire_bytes;
        request.own_bytes_since = end.wire_bytes;
        request.pauses_then = packet.context.source_pauses;
    } else {
        Situation situation;
        situation.mid_message = mid_message;
        tracking_.close_gap_in_sequence(flow, end, situation);
    }
    Progress progress;
    progress.now_ns = packet.now_ns;
    progress.frame = packet.frame;
    progress.first = progress.last = position;
    progress.payload = progress.moved = packet.payload;
    progress.requests = packet.context.destination_requests;
    progress.virtual_address = packet.virtual_address;
    progress.remote_key = packet.remote_key;
    progress.dma_length = packet.dma_length;
    progress.operation = traits.operation;
    progress.starts = traits.starts;
    progress.ends = traits.ends;
    messages_.add(flow, progress);
    request.last_position = position;
    request.last_data_ns = psn::later(request.last_data_ns, packet.now_ns);
    return true;
}

/// Packets of the flow had a bad ICRC: a receiver that acknowledges them has taken them all the same.
bool CommonPath::awaits_damaged(const Flow& flow) const {
    if (flow.trouble == Flow::no_block) [[likely]]
        return false;
    return std::ranges::any_of(store_.troubles[flow.trouble].damaged, [](std::uint64_t place) { return place != 0; });
}

[[gnu::always_inline]] inline bool CommonPath::on_acknowledgement(Flow& flow, const Packet& packet) {
    if (flow.reverse == no_flow || flow.counts.packets == 0) return false;
    Flow& requester = store_.table[flow.reverse];
    RequestState& request = requester.request;
    const std::int32_t ahead = psn::difference(packet.psn, request.next);
    const bool guessed =
        requester.pairing == PairingMethod::psn && flow.pairing_percent < AnsweredRequests::confirmed_percent;
    if (ahead >= 0 || ahead <= psn::successor_behind || request.next == 0 || request.recovering || request.lacking ||
        request.watched || requester.finished || guessed || requester.is_hole_open || awaits_damaged(requester) ||
        wire::kind_of_syndrome(packet.syndrome) != wire::AethKind::ack)
        return false;
    const std::uint8_t credits = wire::value_of_syndrome(packet.syndrome);
    if (credits == 0 && flow.credits != 0) return false;
    const std::uint64_t position = request.next + static_cast<std::uint64_t>(static_cast<std::int64_t>(ahead));
    if (requester.ledger.responses() != 0 && awaited_.are_skipped(requester, position)) [[unlikely]]
        return false;

    store_.path_windows.note(flow, packet.now_ns);
    packet.count(flow);
    flow.count_acknowledgement();
    const bool lacked = lacks_credit(flow, requester);
    if (credits != wire::no_credit_limit) flow.credits = credits;
    store_.note_answer(requester, packet.frame);
    if (position < request.acknowledged) [[unlikely]]
        store_.note_repeated_answer(requester);
    if (position >= request.acknowledged) {
        request.acknowledged = position + 1;
        AnsweredRequests::settle(store_, tracking_.reuse, requester, position, packet.now_ns);
    }
    if (lacked && !lacks_credit(flow, requester)) request.credit_freed_ns = packet.now_ns;
    return true;
}

bool CommonPath::on_plain(const wire::Frame& frame, const FrameContext& context, FlowIndex index) {
    const std::byte* const network = frame.bytes.data() + 14;
    const std::byte* const bth = frame.bytes.data() + plain_bth_offset;
    const OpcodeTraits& traits = opcode_traits[base::load_u8(bth)];
    const std::uint32_t qp = base::load_be32(bth + 4) & 0xffffff;
    const PlainKey key(PlainKey::load(network + 12), traits.service, qp);
    if (!store_.table.leads_to(key, index)) index = store_.table.find(key, hash_of(key, qp, traits.service));
    const std::uint8_t traffic_class = base::load_u8(network + 1);
    if (traits.way == OpcodeTraits::Way::general || index == no_flow ||
        (traffic_class & congestion_experienced) == congestion_experienced)
        return false;
    Flow& flow = store_.table[index];
    if (PacketClass::of(traffic_class, base::load_be16(bth + 2)) != store_.class_of(flow)) [[unlikely]]
        return false;
    Packet packet{.traits = traits,
                  .context = context,
                  .now_ns = frame.time_ns,
                  .frame = frame.number,
                  .psn = base::load_be32(bth + 8) & 0xffffff,
                  .wire_length = frame.wire_length,
                  .payload = 0,
                  .identification = base::load_be16(network + 4),
                  .udp_port = base::load_be16(network + 20),
                  .hop_limit = base::load_u8(network + 8),
                  .traffic_class = traffic_class,
                  .syndrome = 0,
                  .direction = frame.direction,
                  .remote_key = 0,
                  .dma_length = 0,
                  .virtual_address = 0};
    if (traits.way == OpcodeTraits::Way::acknowledgement) {
        packet.syndrome = base::load_u8(bth + 12);
        return on_acknowledgement(flow, packet);
    }
    constexpr std::uint32_t icrc_octets = 4;
    const std::uint32_t pad = base::load_u8(bth + 1) >> 4 & 3u;
    packet.payload = frame.wire_length - plain_bth_offset - traits.header_octets - pad - icrc_octets;
    if (traits.has_reth) {
        packet.virtual_address = base::load_be64(bth + 12);
        packet.remote_key = base::load_be32(bth + 20);
        packet.dma_length = base::load_be32(bth + 24);
    }
    return on_request(flow, packet);
}

}  // namespace metrics::measure::roce
