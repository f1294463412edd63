#pragma once
/// What moves a flow forward, inline: the general path and that of the commonest packets share it.
#include <algorithm>

#include "metrics/roce/moved.h"
#include "metrics/roce/psn.h"
#include "metrics/roce/roce_tracker.h"

namespace metrics {

/// A packet whose position is new.
struct Progress {
    std::int64_t now_ns = 0;
    std::uint64_t last = 0;      ///< position of the packet; of a READ request, of its last response
    std::uint32_t payload = 0;   ///< octets
    std::uint32_t moved = 0;     ///< octets of the upper layer
    std::uint64_t requests = 0;  ///< FrameContext::destination_requests
    std::uint64_t virtual_address = 0;
    std::uint32_t remote_key = 0;
    std::uint32_t dma_length = 0;
    Operation operation = Operation::send;  ///< of the packet alone
    bool starts = false;
    bool ends = false;
    bool untold = false;  ///< a READ whose length was cut off with its RETH
};

inline Progress progress_of(const PacketRecord& record, const wire::BthOpcode& opcode, std::uint64_t position,
                            std::uint32_t span) {
    Progress out;
    out.now_ns = record.time_ns;
    out.last = position + std::max<std::uint32_t>(span, 1) - 1;
    out.payload = record.payload_length;
    out.moved = moved_by(record, opcode);
    out.operation = operation_of(opcode);
    out.starts = opcode.starts_message();
    out.ends = opcode.ends_message();
    out.requests = record.context.destination_requests;
    out.untold = is_untold(record, opcode);
    if (!record.has_remote_key) return out;
    out.remote_key = record.remote_key;
    out.virtual_address = record.virtual_address;
    out.dma_length = record.dma_length;
    return out;
}

inline void RoceTracker::notice_reuse(Flow& flow, const Progress& packet) {
    const ReuseTracker::Access access{packet.now_ns,     packet.requests,        flow.reuse_clock,
                                      packet.remote_key, packet.virtual_address, packet.dma_length};
    flow.reuse_clock = packet.requests;
    if (flow.reuse_responder == ReuseTracker::no_responder) [[unlikely]]
        flow.reuse_responder = reuse_->responder(flow.key.destination);
    const std::uint32_t handle = reuse_->access(flow.reuse_responder, flow.key.source, access);
    if (flow.request.reuse_position == 0 && packet.ends) {
        flow.request.reuse_position = packet.last;
        flow.request.reuse_handle = handle;
    }
}

/// Bytes, messages, what is outstanding, and where the next packet will be.
[[gnu::always_inline]] inline void RoceTracker::new_request(Flow& flow, const Progress& packet) {
    RequestState& request = flow.request;
    flow.counts.payload_bytes += packet.payload;
    request.next = packet.last + 1;
    request.read_slack = 0;
    if (!packet.starts || !packet.ends) [[unlikely]]
        return part_of_message(flow, packet);
    OperationCounts::Count& counted = store_.count(flow, packet.operation);
    counted.bytes += packet.moved;
    ++counted.messages;
    request.message_counted = packet.moved;
    request.message_first_ns = packet.now_ns;
    request.operation = packet.operation;
    request.in_message = false;
    request.message_bytes = 0;
    request.message_end_ns = packet.now_ns;
    if (reuse_ != nullptr) notice_reuse(flow, packet);
    if (!packet.untold) [[likely]]
        store_.record_message(flow, packet.moved);
    flow.ledger.post(store_.rings, packet.now_ns, packet.operation, packet.last, packet.moved);
}

/// Everything up to `position`, which lies before what is sent next, is acknowledged for the first time.
inline void RoceTracker::settle(Flow& requester, std::uint64_t position, std::int64_t now_ns) {
    RequestState& request = requester.request;
    // Of one acknowledgement's messages most are of one kind.
    CompactHistogram* latencies = nullptr;
    auto operation = static_cast<Operation>(operation_count);
    const unsigned done =
        requester.ledger.acknowledge(store_.rings, now_ns, position, [&](const OutstandingMessage& message) {
            // One stamped before its packet, as by another queue's clock, measures nothing.
            if (message.again || message.merged || now_ns < message.last_ns) return;
            const std::uint64_t latency =
                static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(message.last_ns);
            const auto its_operation = static_cast<Operation>(static_cast<unsigned>(message.operation));
            if (its_operation != operation) {
                operation = its_operation;
                latencies = store_.histogram(requester, latency_of(operation));
            }
            if (latencies != nullptr) latencies->record(store_.pages, requester.histogram_pages, latency);
            psn::keep_least(request.round_trip_min_ns, latency);
        });
    if (done > 0) {
        request.freed_ns = now_ns;
        request.freed_messages = done;
        requester.attribution.freed(now_ns);
    }
    if (request.reuse_position != 0 && position >= request.reuse_position) {
        reuse_->turnaround(requester.reuse_responder, request.reuse_handle, psn::elapsed(request.last_data_ns, now_ns));
        request.reuse_position = 0;
    }
}

}  // namespace metrics
