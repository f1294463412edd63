// How many PSNs a READ takes: one for each packet of its responses, so the path's MTU decides. IBTA vol. 1, 9.7.3.1.
#include <algorithm>

#include "metrics/roce/missing.h"
#include "metrics/roce/psn.h"
#include "metrics/roce/roce_tracker.h"

namespace metrics {

/// How many PSNs a READ of that length takes; 0 where the MTU is not known well enough.
std::uint32_t RoceTracker::read_span(const Flow& flow, std::uint32_t length) const {
    if (length == 0) return 1;
    std::uint32_t mtu = flow.request.mtu_payload;
    if (mtu == 0 && flow.reverse != no_flow) {
        const Flow& reverse = store_.table[flow.reverse];
        const ResponseState* const responses = store_.responder_of(reverse);
        mtu = std::max(responses != nullptr ? responses->mtu_payload : std::uint16_t{0}, reverse.request.mtu_payload);
    }
    if (mtu == 0) return psn::slack_of(length, flow.request.mtu_exponent) == 0 ? 1 : 0;
    return static_cast<std::uint32_t>(psn::packets_of(length, mtu));
}

/// A packet of the path has had such a payload, or must have it. Of a READ that took its extent from less, less is
/// open.
void RoceTracker::learn_mtu(RequestState& request, std::uint32_t payload) {
    const std::uint8_t exponent = psn::mtu_exponent_of(payload);
    if (exponent <= request.mtu_exponent) return;
    const unsigned closed = psn::slack_of(request.message_counted, request.mtu_exponent) -
                            static_cast<unsigned>(psn::slack_of(request.message_counted, exponent));
    request.read_slack =
        static_cast<std::uint16_t>(request.read_slack - std::min<unsigned>(request.read_slack, closed));
    request.mtu_exponent = exponent;
}

/// Before a READ at `position`: what the requests before it tell.
void RoceTracker::learn_mtu_before(Flow& requester, std::uint64_t position) {
    RequestState& request = requester.request;
    if (request.mtu_payload != 0 || position < request.next) return;
    if (request.operation != Operation::read) return learn_mtu(request, request.message_counted);
    if (request.read_untold) return;
    // A READ's responses have had the PSNs up to here at the most, and all but the last one are full.
    const std::uint32_t most = psn::slack_of(request.message_counted, request.mtu_exponent);
    if (request.read_slack == 0 || position - request.next > request.read_slack) return;
    const std::uint64_t begin = request.next - 1 - (most - request.read_slack);
    const auto packets = static_cast<std::uint32_t>(position - begin);
    learn_mtu(request, request.message_counted / packets + (request.message_counted % packets != 0 ? 1 : 0));
}

/// The last request was a READ whose responses take the PSNs before `end`; or so it is guessed, because it may be and
/// the next request begins there.
void RoceTracker::extend_read(Flow& requester, std::uint64_t end, bool guessed) {
    RequestState& request = requester.request;
    const std::uint64_t grown = end - request.next;
    request.read_slack =
        static_cast<std::uint16_t>(request.read_slack - std::min<std::uint64_t>(request.read_slack, grown));
    request.read_guessed = request.read_guessed || guessed;
    requester.ledger.move_newest(request.next - 1, end - 1, guessed);
    if (store_.watch != nullptr) store_.watch->witness.extended(requester.id, request.next - 1, end - 1);
    request.next = end;
}

/// Where a READ was guessed to be so long, what lies from `begin` on is none of it: requests that have not passed.
void RoceTracker::shorten_read(Flow& requester, std::uint64_t begin, const PacketRecord& record) {
    RequestState& request = requester.request;
    const std::uint64_t end = requester.ledger.shorten(begin);
    if (end == 0) return;
    if (store_.watch != nullptr) store_.watch->witness.extended(requester.id, end - 1, begin - 1);
    const auto lost = static_cast<std::uint32_t>(end - begin);
    request.missing += lost;
    request.lacking = true;
    note_missing(store_.trouble(requester).missing, {begin, end, record.time_ns});
    store_.show(requester, EventKind::gap, record.frame, lost);
}

/// What a response tells of READs of unknown extent. How many packets the last one's responses take tells its first
/// one, or one to an earlier READ. IBTA vol. 1, 9.7.3.1.
void RoceTracker::learn_extent(Flow& requester, const PacketRecord& response, const wire::BthOpcode& opcode) {
    RequestState& request = requester.request;
    const std::uint64_t position = psn::position_of(response.psn, request.next);
    learn_mtu(request, response.payload_length);
    if (request.read_guessed) {
        if (opcode.ends_message()) shorten_read(requester, position + 1, response);
        request.read_guessed = requester.ledger.responses() != 0;
    }
    if (request.read_slack == 0) return;
    if (opcode.ends_message()) {
        // It ends here, and so does what its length left open.
        if (position + 1 < request.next || position >= request.next + request.read_slack) return;
        if (position >= request.next) extend_read(requester, position + 1);
        request.read_slack = 0;
        return;
    }
    if (request.read_untold) {
        // Others may follow.
        if (position >= request.next && position - request.next < request.read_slack)
            extend_read(requester, position + 1);
        return;
    }
    const std::uint32_t span = read_span(requester, request.message_counted);
    const std::uint32_t most = psn::slack_of(request.message_counted, request.mtu_exponent);
    const std::uint64_t begin = request.next - 1 - (most - std::min<std::uint32_t>(most, request.read_slack));
    if (span == 0) return;
    if (begin + span > request.next) extend_read(requester, begin + span);
    request.read_slack = 0;
}

}  // namespace metrics
