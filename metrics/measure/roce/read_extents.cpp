#include "metrics/measure/roce/read_extents.h"

#include <algorithm>

#include "metrics/measure/packet/packet_operation.h"
#include "metrics/measure/packet/psn.h"
#include "metrics/measure/roce/missing.h"

namespace metrics::inline measure::inline roce {

std::uint32_t ReadExtents::span_of(const Flow& requester, std::uint32_t length) const {
    if (length == 0) return 1;
    std::uint32_t mtu = requester.request.mtu_payload;
    if (mtu == 0 && requester.reverse != no_flow) {
        const Flow& reverse = store_.table[requester.reverse];
        const ResponseState* const responses = store_.responder_of(reverse);
        mtu = std::max(responses != nullptr ? responses->mtu_payload : std::uint16_t{0}, reverse.request.mtu_payload);
    }
    if (mtu == 0) return psn::slack_of(length, requester.request.mtu_exponent) == 0 ? 1 : 0;
    return static_cast<std::uint32_t>(psn::packets_of(length, mtu));
}

/// A packet of the path has had a payload of that size, or must have it. A READ whose extent was estimated from a
/// smaller one has less slack now.
void ReadExtents::learn_mtu(RequestState& request, std::uint32_t payload) {
    const std::uint8_t exponent = psn::mtu_exponent_of(payload);
    if (exponent <= request.mtu_exponent) return;
    const unsigned closed = psn::slack_of(request.message_counted, request.mtu_exponent) -
                            static_cast<unsigned>(psn::slack_of(request.message_counted, exponent));
    request.read_slack =
        static_cast<std::uint16_t>(request.read_slack - std::min<unsigned>(request.read_slack, closed));
    request.mtu_exponent = exponent & 0x7f;
}

void ReadExtents::note_unknown(RequestState& request, const PacketRecord& record, const wire::BthOpcode& opcode) {
    request.read_reth_cut = has_cut_reth(record, opcode);
    request.read_slack =
        request.read_reth_cut ? psn::most_slack : psn::slack_of(record.dma_length, request.mtu_exponent);
}

void ReadExtents::learn_mtu_before(Flow& requester, std::uint64_t position) {
    RequestState& request = requester.request;
    if (request.mtu_payload != 0 || position < request.next) return;
    if (request.operation != Operation::read) return learn_mtu(request, request.message_counted);
    if (request.read_reth_cut) return;
    // A READ's responses have had the PSNs up to here at the most, and all but the last one are full.
    const std::uint32_t most = psn::slack_of(request.message_counted, request.mtu_exponent);
    if (request.read_slack == 0 || position - request.next > request.read_slack) return;
    const std::uint64_t begin = request.next - 1 - (most - request.read_slack);
    const auto packets = static_cast<std::uint32_t>(position - begin);
    learn_mtu(request, request.message_counted / packets + (request.message_counted % packets != 0 ? 1 : 0));
}

void ReadExtents::extend(Flow& requester, std::uint64_t end, bool guessed) {
    RequestState& request = requester.request;
    const std::uint64_t grown = end - request.next;
    request.read_slack =
        static_cast<std::uint16_t>(request.read_slack - std::min<std::uint64_t>(request.read_slack, grown));
    request.read_guessed = request.read_guessed || guessed;
    requester.ledger.move_newest(request.next - 1, end - 1, guessed);
    store_.observe(
        [&](ObservedFlows& observed) { observed.observer.extended(requester.id, request.next - 1, end - 1); });
    request.next = end;
}

void ReadExtents::shorten(Flow& requester, std::uint64_t begin, const PacketRecord& record) {
    RequestState& request = requester.request;
    const std::uint64_t end = requester.ledger.shorten(begin);
    if (end == 0) return;
    store_.observe([&](ObservedFlows& observed) { observed.observer.extended(requester.id, end - 1, begin - 1); });
    const auto lost = static_cast<std::uint32_t>(end - begin);
    request.missing += lost;
    request.lacking = true;
    note_missing(store_.trouble(requester).missing, {begin, end, record.time_ns});
    store_.show(requester, EventKind::gap, record.frame, lost);
}

void ReadExtents::learn_from_response(Flow& requester, const PacketRecord& response, const wire::BthOpcode& opcode) {
    RequestState& request = requester.request;
    const std::uint64_t position = psn::position_of(response.psn, request.next);
    learn_mtu(request, response.payload_length);
    if (request.read_guessed) {
        if (opcode.ends_message()) shorten(requester, position + 1, response);
        request.read_guessed = requester.ledger.responses() != 0;
    }
    if (request.read_slack == 0) return;
    if (opcode.ends_message()) {
        // The READ ends here, and with it what its length left open.
        if (position + 1 < request.next || position >= request.next + request.read_slack) return;
        if (position >= request.next) extend(requester, position + 1);
        request.read_slack = 0;
        return;
    }
    if (request.read_reth_cut) {
        // Others may follow.
        if (position >= request.next && position - request.next < request.read_slack) extend(requester, position + 1);
        return;
    }
    const std::uint32_t span = span_of(requester, request.message_counted);
    const std::uint32_t most = psn::slack_of(request.message_counted, request.mtu_exponent);
    const std::uint64_t begin = request.next - 1 - (most - std::min<std::uint32_t>(most, request.read_slack));
    if (span == 0) return;
    if (begin + span > request.next) extend(requester, begin + span);
    request.read_slack = 0;
}

}  // namespace metrics::measure::roce
