#pragma once
#include "metrics/measure/flow/flow_store.h"
#include "metrics/measure/packet/packet_record.h"
#include "metrics/measure/packet/psn.h"
#include "metrics/measure/roce/read_extents.h"
#include "metrics/measure/roce/request_holes.h"
#include "metrics/measure/roce/roce_messages.h"
#include "metrics/measure/roce/tracking.h"

namespace metrics::inline measure::inline roce {

/// What answers of every kind (acknowledgements, NAKs, responses) show of the requests that they answer. A requester is
/// the flow that sent the requests, the carrier the flow whose packet the answer is.
class AnsweredRequests {
public:
    /// After a second answer within the window of the flow that the first one named: chance would have to strike twice.
    static constexpr std::uint8_t confirmed_percent = 99;

    AnsweredRequests(Tracking& tracking, RoceMessages& messages, ReadExtents& extents, RequestHoles& holes)
        : tracking_(tracking), store_(tracking.store), messages_(messages), extents_(extents), holes_(holes) {}

    /// The flow whose requests the packet on `carrier` answers; nullptr if it is not known. The packet may turn out to
    /// be of a successor of the carrier: then the index changes to that.
    Flow* requester_of(FlowIndex& carrier, const PacketRecord& record);
    /// The responder has received, and the requester been answered, what lies before `position` and at it.
    void acknowledge(Flow& requester, std::uint64_t position, const PacketRecord& answer);
    /// The responder has received what lies before `position` and at it; the requester may still lack responses.
    void receive(Flow& requester, std::uint64_t position, const PacketRecord& answer);
    /// The responder has received what lies before `position` and at it: `packets` packets that have not passed. They
    /// may only have a later time stamp.
    void receive_unseen(Flow& requester, std::uint64_t position, std::uint64_t packets, const PacketRecord& answer);
    /// The credits of an AETH: acknowledgements have one, and so has each first and last response. IBTA vol.
    /// 1, 9.7.7.2.
    void note_credits(Flow& carrier, Flow* requester, const PacketRecord& record);

    /// Everything up to `position`, which lies before what is sent next, is acknowledged for the first time.
    static void settle(FlowStore& store, ReuseTracker* reuse, Flow& requester, std::uint64_t position,
                       std::int64_t now_ns);

private:
    static void note_first_answer(FlowStore& store, Flow& requester, const OutstandingMessage& message,
                                  std::int64_t now_ns);

    Tracking& tracking_;
    FlowStore& store_;
    RoceMessages& messages_;
    ReadExtents& extents_;
    RequestHoles& holes_;
};

/// Of a message that was sent again: the answer may be to any of its sendings.
inline void AnsweredRequests::note_first_answer(FlowStore& store, Flow& requester, const OutstandingMessage& message,
                                                std::int64_t now_ns) {
    if (requester.trouble == Flow::no_block) return;
    if (store.troubles[requester.trouble].early_repeats != 0 && now_ns >= message.last_ns)
        store.record(requester, RareHistogram::first_answer, psn::elapsed(message.last_ns, now_ns));
}

inline void AnsweredRequests::settle(FlowStore& store, ReuseTracker* reuse, Flow& requester, std::uint64_t position,
                                     std::int64_t now_ns) {
    RequestState& request = requester.request;
    // Of one acknowledgement's messages most are of one kind.
    CompactHistogram* latencies = nullptr;
    auto operation = static_cast<Operation>(operation_count);
    const unsigned done =
        requester.ledger.acknowledge(store.rings, now_ns, position, [&](const OutstandingMessage& message) {
            // A message with a later time stamp than its acknowledgement, as by another queue's clock, measures
            // nothing.
            if (message.again && !message.merged) note_first_answer(store, requester, message, now_ns);
            if (message.again || message.merged || now_ns < message.last_ns) return;
            const std::uint64_t latency =
                static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(message.last_ns);
            const auto its_operation = static_cast<Operation>(static_cast<unsigned>(message.operation));
            if (its_operation != operation) {
                operation = its_operation;
                latencies = store.histogram(requester, latency_of(operation));
            }
            if (latencies != nullptr) latencies->record(store.pages, requester.histogram_pages, latency);
            psn::keep_least(request.round_trip_min_ns, latency);
            if (!wants_response(its_operation)) store.path_windows.note_round_trip(requester, latency);
        });
    if (done > 0) {
        request.freed_ns = now_ns;
        request.freed_messages = done;
        requester.attribution.freed(now_ns);
    }
    if (request.reuse_position != 0 && position >= request.reuse_position) {
        reuse->turnaround(requester.reuse_responder, request.reuse_handle, psn::elapsed(request.last_data_ns, now_ns));
        request.reuse_position = 0;
    }
}

}  // namespace metrics::measure::roce
