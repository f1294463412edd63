#pragma once
#include "metrics/measure/flow/flow_store.h"
#include "metrics/measure/packet/packet_record.h"
#include "metrics/measure/roce/roce_messages.h"

namespace metrics::inline measure::inline roce {

/// The positions of a sender's requests that have not passed when later ones did: they were lost before the tap, come
/// late, or passed where the capture did not see them.
class RequestHoles {
public:
    RequestHoles(FlowStore& store, RoceMessages& messages) : store_(store), messages_(messages) {}

    /// The packets between the last one and this one, which is at `position`, have not passed.
    void note(Flow& flow, const PacketRecord& record, std::uint64_t position);
    /// Whether a packet of that position has not passed until now, though later ones have. `hole` is the stretch that
    /// the position lay in.
    bool take(Flow& flow, const PacketRecord& record, std::uint64_t position, MissingRanges::Range& hole);
    /// The responder has received everything before `end`. It takes requests in their order only (IBTA vol. 1,
    /// 9.7.4.1.2), so what had seemed lost before the tap, and has not been sent again, is missing in the capture
    /// alone. If the responder had asked for it first, the repeat has not been seen.
    void settle(Flow& requester, std::uint64_t end, std::uint64_t frame);

    /// Packets at positions of [begin, end) that had a bad ICRC, as far as they are remembered.
    std::uint64_t damaged(const Flow& flow, std::uint64_t begin, std::uint64_t end) const;
    /// The responder has everything before `end`: packets with a bad ICRC that were not sent again were whole when they
    /// came to it. Only for a flow that has a problem recorded.
    void take_damaged(Flow& flow, std::uint64_t end);
    /// A packet passes at a position where one with a bad ICRC has passed. Only for such a flow.
    void repeat_damaged(Flow& flow, std::uint64_t position);

private:
    FlowStore& store_;
    RoceMessages& messages_;
};

}  // namespace metrics::measure::roce
