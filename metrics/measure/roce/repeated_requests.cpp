#include "metrics/measure/roce/repeated_requests.h"

#include <algorithm>

#include "metrics/measure/packet/packet_operation.h"
#include "metrics/measure/packet/psn.h"

namespace metrics::inline measure::inline roce {

namespace {

/// The message that the packet at `position` is of, as far as it is outstanding.
struct MessageOfPacket {
    Operation operation = Operation::send;
    std::uint32_t bytes = 0;
    std::int64_t last_ns = Situation::never;  ///< when its last packet passed first
};

MessageOfPacket message_of(const Flow& flow, std::uint64_t position) {
    const RequestState& request = flow.request;
    MessageOfPacket found;
    bool known = false;
    flow.ledger.look(Ledger::max_position, [&](const OutstandingMessage& message) {
        if (known || message.position < position) return;
        known = true;
        found.operation = static_cast<Operation>(static_cast<unsigned>(message.operation));
        if (message.merged == 0) found.bytes = message.bytes;
        if (message.again == 0) found.last_ns = message.last_ns;
    });
    if (known || !request.in_message) return found;
    found.operation = request.operation;
    found.bytes = request.message_length != 0
                      ? request.message_length
                      : static_cast<std::uint32_t>(std::min<std::uint64_t>(request.message_bytes, UINT32_MAX));
    return found;
}

/// Payload of the packet at `position`, of a message of `message`: all but the last packet of a message are full.
std::uint32_t payload_at(const Flow& flow, const MessageOfPacket& message) {
    if (wants_response(message.operation)) return 0;
    const std::uint32_t full = flow.request.mtu_payload;
    return full == 0 ? message.bytes : std::min(message.bytes, full);
}

/// What was acknowledged of the sizes of messages. Those outstanding are the newest; not known if some of them were
/// merged.
std::optional<std::uint64_t> greatest_acknowledged(const Flow& flow, const Histogram& message_bytes) {
    Histogram outstanding;
    bool merged = false;
    flow.ledger.look(Ledger::max_position, [&](const OutstandingMessage& message) {
        merged = merged || message.merged != 0;
        if (message.messages != 0) outstanding.record(message.bytes);
    });
    if (merged) return std::nullopt;
    const auto greatest = message_bytes.since(outstanding).max();
    if (!greatest) return std::nullopt;
    const std::uint64_t full = flow.request.mtu_payload;
    return full == 0 ? *greatest : std::min(*greatest, full);
}

}  // namespace

void RepeatedRequests::begin(Flow& flow, RepeatedRequest& repeated, std::uint64_t position) {
    const MessageOfPacket message = message_of(flow, position);
    repeated = {};
    repeated.position = position;
    repeated.frame = store_.frame_of_begin(flow, position);
    repeated.operation = message.operation;
    repeated.message_bytes = message.bytes;
    repeated.packet_bytes = payload_at(flow, message);
    const std::int64_t passed_ns = message.last_ns != Situation::never ? message.last_ns : flow.request.last_data_ns;
    repeated.first_ns = repeated.sent_ns = repeated.last_ns = passed_ns;
}

void RepeatedRequests::repeat(Flow& flow, const RequestPacket& packet, RepeatCause cause) {
    if (packet.position < flow.request.acknowledged) return;
    const PacketRecord& record = packet.record;
    FlowTrouble& trouble = store_.trouble(flow);
    RepeatedRequest& repeated = trouble.repeated;
    if (repeated.position != packet.position) begin(flow, repeated, packet.position);
    const std::uint64_t interval_ns = psn::elapsed(repeated.sent_ns, record.time_ns);
    if (cause == RepeatCause::timeout) {
        if (repeated.repeats == 0 && (trouble.early_repeats == 0 || interval_ns < trouble.first_repeat_min_ns))
            trouble.first_repeat_min_ns = interval_ns;
        ++trouble.early_repeats;
    }
    if (cause != RepeatCause::rnr_nak) {
        if (repeated.repeats == 0) {
            repeated.repeat_frame = record.frame;
            repeated.interval_min_ns = interval_ns;
        }
        repeated.interval_min_ns = std::min(repeated.interval_min_ns, interval_ns);
        repeated.interval_max_ns = std::max(repeated.interval_max_ns, interval_ns);
        ++repeated.repeats;
    }
    repeated.packet_bytes = record.payload_length;
    repeated.sent_ns = repeated.last_ns = record.time_ns;
    repeated.last_frame = record.frame;
}

void RepeatedRequests::pass_again(Flow& flow, const RequestPacket& packet) {
    if (flow.trouble == Flow::no_block) return;
    RepeatedRequest& repeated = store_.troubles[flow.trouble].repeated;
    if (repeated.position != 0 && packet.position <= repeated.position) repeated.refused_last = false;
}

void RepeatedRequests::refuse(Flow& flow, std::uint64_t position, std::uint64_t timer_ns, const PacketRecord& nak) {
    if (position < flow.request.acknowledged || position >= flow.request.next) return;
    RepeatedRequest& repeated = store_.trouble(flow).repeated;
    if (repeated.position != position) begin(flow, repeated, position);
    ++repeated.rnr_naks;
    repeated.refused_last = true;
    repeated.rnr_timer_ns = timer_ns;
    repeated.last_ns = nak.time_ns;
    repeated.last_frame = nak.frame;
}

void RepeatedRequests::end(Flow& flow, std::uint64_t position) {
    if (position >= flow.request.next) return;
    const MessageOfPacket message = message_of(flow, position);
    FlowTrouble& trouble = store_.trouble(flow);
    trouble.refused = {message.operation, message.bytes, payload_at(flow, message),
                       store_.frame_of_begin(flow, position)};
    trouble.is_refused = true;
}

std::optional<RetryFigures> retries_of(const Flow& flow, const FlowTrouble& trouble, const Histogram& message_bytes) {
    const RepeatedRequest& repeated = trouble.repeated;
    if (repeated.position == 0 || repeated.position < flow.request.acknowledged) return std::nullopt;
    RetryFigures out;
    out.request = {repeated.operation, repeated.message_bytes, repeated.packet_bytes, repeated.frame};
    out.is_first = repeated.position == flow.request.lowest_position();
    out.repeats = repeated.repeats;
    out.rnr_naks = repeated.rnr_naks;
    out.refused_last = repeated.refused_last;
    out.first_ns = repeated.first_ns;
    out.last_ns = repeated.last_ns;
    out.repeat_frame = repeated.repeat_frame;
    out.last_frame = repeated.last_frame;
    out.interval_min_ns = repeated.interval_min_ns;
    out.interval_max_ns = repeated.interval_max_ns;
    out.rnr_timer_ns = repeated.rnr_timer_ns;
    if (!out.is_first) out.acknowledged_bytes_max = greatest_acknowledged(flow, message_bytes);
    return out;
}

std::optional<RepeatAnswerFigures> repeat_answers_of(const FlowTrouble& trouble, const FlowStore& store) {
    if (trouble.early_repeats == 0) return std::nullopt;
    return RepeatAnswerFigures{trouble.early_repeats, trouble.repeated_answers, trouble.first_repeat_min_ns,
                               store.unpack(trouble, RareHistogram::first_answer)};
}

}  // namespace metrics::measure::roce
