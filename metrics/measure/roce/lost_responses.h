#pragma once
#include "metrics/measure/flow/flow_store.h"
#include "metrics/measure/packet/packet_record.h"
#include "metrics/measure/roce/answered_requests.h"
#include "metrics/measure/roce/awaited_responses.h"
#include "wire/bth_opcode.h"

namespace metrics::inline measure::inline roce {

/// Responses that have not passed: which ones, whether their requester lacks them, and what waits for them. A requester
/// that lacks one drops responses to later READs, and asks again. IBTA vol. 1, 9.7.5.2.8.
class LostResponses {
public:
    LostResponses(FlowStore& store, AnsweredRequests& requests, const AwaitedResponses& awaited)
        : store_(store), requests_(requests), awaited_(awaited) {}

    /// Positions of responses.
    struct Skipped {
        std::uint64_t begin = 0;
        std::uint64_t sure = 0;  ///< from here on they are, whatever the ledger says
        std::uint64_t end = 0;
        bool answered = false;  ///< no response, but an acknowledgement has skipped them
    };
    /// A packet has skipped responses: notes those that have not passed. They are those that READs wait for, by the
    /// ledger; else those from `skipped.sure` on. `continues`: the packet is of a response under way.
    void note_skipped(Flow* requester, Flow& carrier, const PacketRecord& record, const Skipped& skipped,
                      bool continues);
    /// The response at `position` is missing when a later one passes: as good as a NAK.
    void note_lost(Flow& requester, const PacketRecord& record, std::uint64_t position);
    /// Whether answered READs of the requester lack responses.
    bool has_gap(const Flow& requester) const {
        return requester.trouble != Flow::no_block &&
               store_.troubles[requester.trouble].response_gap_ns != Situation::never;
    }
    /// The responses that were missing have come.
    void end_gap(Flow& requester);
    /// Whether the requester drops the response that begins at `position`, because an older one is missing. If the
    /// requester continued all the same, with READs posted long after, it got what the tap has missed.
    bool holds_back(Flow& requester, std::uint64_t position);
    /// An answer to the request at `position`, with which all before `end` has been received. If the response to a READ
    /// or atomic before it has not passed, that was lost: responders answer in the order of PSNs. Returns whether
    /// anything waits for that response.
    bool wait(Flow& requester, Flow& carrier, const PacketRecord& record, std::uint64_t position, std::uint64_t end);
    /// A new message would make more messages outstanding than ever before, while a response is missing. So the
    /// requester has received that response, and the tap has missed it.
    void release(Flow& requester, const PacketRecord& record, const wire::BthOpcode& opcode);
    /// The conversation continues although responses have not passed. The requester would have asked for them again if
    /// it lacked them.
    void settle(Flow& requester, std::int64_t now_ns, std::uint64_t frame);

private:
    void receive(Flow& requester, std::int64_t since_ns, std::uint64_t frame);
    void give_up(Flow& requester, std::uint64_t position);
    bool went_on(const Flow& requester, std::int64_t sent_ns) const;

    FlowStore& store_;
    AnsweredRequests& requests_;
    const AwaitedResponses& awaited_;
};

}  // namespace metrics::measure::roce
