#pragma once
#include <algorithm>

#include "metrics/measure/flow/flow_store.h"
#include "metrics/measure/packet/packet_record.h"
#include "metrics/measure/roce/read_extents.h"

namespace metrics::inline measure::inline roce {

/// Which responses a requester waits for, by the READs and atomics in its ledger. Positions are the requester's.
class AwaitedResponses {
public:
    AwaitedResponses(FlowStore& store, const ReadExtents& extents) : store_(store), extents_(extents) {}

    /// How many PSNs before the first response seen its requester may still wait for.
    static std::uint64_t count_before(const Flow& requester, const PacketRecord& response);
    /// The first PSN of the responses that an entry of the ledger waits for.
    std::uint64_t begin_of(const Flow& requester, const OutstandingMessage& message) const;
    /// Calls found(begin, end, sure) for each stretch of [from, to) that awaited responses take. If READs were merged
    /// with other requests, it is not known which PSNs were those of the others.
    template <class Found>
    void find(const Flow& requester, std::uint64_t from, std::uint64_t to, Found&& found) const;
    /// Whether an answer to the request at `position` leaves out the response to a READ or atomic before it. Of merged
    /// ones it is not known which they were.
    bool are_skipped(Flow& requester, std::uint64_t position) const {
        const OutstandingMessage* const oldest = requester.ledger.oldest_response(store_.rings, 0);
        return oldest != nullptr && oldest->position < position && oldest->merged == 0;
    }
    /// Whether a packet that starts a response leaves out an older READ, and not only the PSNs of other requests. If
    /// the oldest READ was merged with other requests, that is not known, and the answer is no.
    bool are_skipped_by(Flow& requester, const PacketRecord& response) const;

private:
    /// Whether all that the entry stands for are READs and atomics: every PSN from the first that is not acknowledged
    /// up to the entry's own is a response's.
    static bool has_only_responses(const OutstandingMessage& message) { return message.responses == message.messages; }
    std::uint64_t span_of(const Flow& requester, const OutstandingMessage& message) const;

    FlowStore& store_;
    const ReadExtents& extents_;
};

template <class Found>
void AwaitedResponses::find(const Flow& requester, std::uint64_t from, std::uint64_t to, Found&& found) const {
    std::uint64_t before = from;
    requester.ledger.look(Ledger::max_position, [&](const OutstandingMessage& message) {
        const std::uint64_t after = message.position + 1;
        std::uint64_t begin = before;
        before = std::max(before, after);
        if (message.responses == 0) return;
        const bool sure = message.merged == 0 || has_only_responses(message);
        if (message.merged == 0) {
            const std::uint64_t span = span_of(requester, message);
            if (after > span) begin = std::max(begin, after - span);
        } else if (sure) {
            begin = std::max(begin, requester.request.acknowledged);
        }
        const std::uint64_t end = std::min(after, to);
        if (begin < end) found(begin, end, sure);
    });
}

}  // namespace metrics::measure::roce
