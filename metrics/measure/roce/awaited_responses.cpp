#include "metrics/measure/roce/awaited_responses.h"

#include "metrics/measure/packet/psn.h"

namespace metrics::inline measure::inline roce {

std::uint64_t AwaitedResponses::count_before(const Flow& requester, const PacketRecord& response) {
    const RequestState& request = requester.request;
    const std::uint64_t position = psn::position_of(response.psn, request.next);
    return position > request.acknowledged && position <= request.next ? position - request.acknowledged : 0;
}

std::uint64_t AwaitedResponses::begin_of(const Flow& requester, const OutstandingMessage& message) const {
    const std::uint64_t after = message.position + 1;
    return after - std::min<std::uint64_t>(std::max<std::uint64_t>(span_of(requester, message), 1), after);
}

bool AwaitedResponses::are_skipped_by(Flow& requester, const PacketRecord& response) const {
    const OutstandingMessage* const oldest = requester.ledger.oldest_response(store_.rings, 0);
    if (oldest == nullptr) return false;
    const std::uint64_t position = psn::position_of(response.psn, requester.request.next);
    if (oldest->position < position) return true;
    // A merged entry has the PSN of the youngest: the response may be to any of its READs.
    return oldest->merged != 0 && has_only_responses(*oldest) && requester.request.acknowledged < position;
}

/// How many PSNs the response to a READ or atomic takes, at the most.
std::uint64_t AwaitedResponses::span_of(const Flow& requester, const OutstandingMessage& message) const {
    const bool read = static_cast<Operation>(static_cast<unsigned>(message.operation)) == Operation::read;
    if (!read && message.merged == 0) return 1;
    const std::uint64_t span = extents_.span_of(requester, message.bytes);
    return span != 0 ? span : psn::slack_of(message.bytes, requester.request.mtu_exponent) + 1u;
}

}  // namespace metrics::measure::roce
