#pragma once
#include <algorithm>

#include "metrics/measure/iwarp/messages.h"
#include "metrics/measure/iwarp/receiver_inline.h"
#include "wire/rdmap.h"

/// What nearly every FPDU goes through of Messages, for the compiler to see as a whole. The rest is in messages.cpp.
namespace metrics::inline measure::iwarp {

inline std::uint32_t bounded(std::uint64_t bytes) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, 0xffffffff));
}

inline void Messages::unit(const Half& half, const Half& back, const dissect::Unit& unit, std::uint64_t end) {
    const Part part{unit, unit.dissection.ddp, end};
    half.sent().last_fpdu_bytes = unit.stream_length;
    switch (static_cast<wire::RdmapOpcode>(part.ddp.opcode)) {
        case wire::RdmapOpcode::write: write(half, part); break;
        case wire::RdmapOpcode::send:
        case wire::RdmapOpcode::send_solicited: send(half, part, Operation::send); break;
        case wire::RdmapOpcode::send_invalidate:
        case wire::RdmapOpcode::send_solicited_invalidate: send(half, part, Operation::send_invalidate); break;
        default: other(half, back, part); break;
    }
}

/// Immediate Data shows only afterwards what a Write was: its end is recorded when the next message begins, or when it
/// is acknowledged. RFC 7306, 6.
inline void Messages::settle_write(const Half& half) {
    MessageState& message = half.direction->message;
    receiver_.record_write(half, Operation::write);
    if (message.write_end == 0) return;
    half.flow->ledger.end(store_.rings, message.write_ns, Operation::write, message.write_end, message.write_bytes);
    message.write_end = 0;
}

inline void Messages::begin(const Half& half, const Part& part, Operation operation, std::uint64_t bytes) {
    RequestState& request = half.request();
    settle_write(half);
    half.direction->message.write_was_last = half.direction->message.begun_unseen = false;
    request.in_message = true;
    request.message_bytes = 0;
    request.message_first_ns = part.passed_ns();
    request.operation = operation;
    half.direction->message.first_frame = part.unit.first_frame;
    half.flow->ledger.begin(part.passed_ns(), operation, bytes);
}

/// If the message is not known to be `whole`, its size does not count as a message size.
inline void Messages::count(Flow& flow, Operation operation, std::uint64_t bytes, bool whole) {
    OperationCounts::Count& counted = store_.count(flow, operation);
    ++counted.messages;
    counted.bytes += bytes;
    if (whole) [[likely]]
        store_.record_message(flow, bytes);
}

/// The message ends with this part, in the ledger as well unless it is a Write.
inline void Messages::finish(const Half& half, const Part& part, Operation operation, std::uint64_t bytes) {
    Flow& flow = *half.flow;
    RequestState& request = half.request();
    MessageState& message = half.direction->message;
    const bool whole = !message.begun_unseen;
    count(flow, operation, bytes, whole);
    store_.observe([&](ObservedFlows& observed) { observe_message(observed, half, part, operation, bytes); });
    // The message's end may not have passed: no latency is measured.
    if (part.unit.holed) [[unlikely]]
        flow.ledger.mark_again(store_.rings, part.end);
    // Of one FPDU over several segments it is not known when its first byte passed.
    const bool one_unit = message.first_frame == part.unit.first_frame;
    if (!one_unit && message.first_frame != part.unit.frame.number && whole && !part.unit.holed)
        store_.record(flow, FlowHistogram::message_duration, elapsed(request.message_first_ns, part.passed_ns()));
    request.in_message = false;
    request.message_bytes = 0;
    request.message_end_ns = part.now_ns();
    if (operation == Operation::write) {
        message.write_end = part.end;
        message.write_ns = part.passed_ns();
        message.write_bytes = bounded(bytes);
        message.write_was_last = true;
    } else {
        flow.ledger.end(store_.rings, part.passed_ns(), operation, part.end, bounded(bytes));
    }
    covered(half, part.end, part.now_ns());
}

/// The acknowledgement may have come first: the bytes were lost before the capture point, or put in order late.
inline void Messages::covered(const Half& half, std::uint64_t end, std::int64_t now_ns) {
    Direction& direction = *half.direction;
    direction.level.note(half.flow->ledger, direction.responses, now_ns);
    if (end <= half.request().acknowledged) receiver_.complete(half, half.request().acknowledged, now_ns, false);
}

/// An FPDU after bytes that were not captured. Of one that lacks some itself, they come after its head.
inline void Messages::rejoin(MessageState& message, const Part& part) {
    if (part.unit.holed) return;
    message.cut = false;
    message.bytes_missing = 0;
}

inline void Messages::write(const Half& half, const Part& part) {
    RequestState& request = half.request();
    MessageState& message = half.direction->message;
    const bool follows = request.in_message && request.operation == Operation::write && message.stag == part.ddp.stag &&
                         message.next_offset == part.ddp.tagged_offset;
    if (follows || (message.cut && resumes(half, part)))
        half.flow->ledger.add_bytes(part.passed_ns(), part.ddp.payload_length);
    else
        begin(half, part, Operation::write, part.ddp.payload_length);
    if (message.cut) [[unlikely]] {
        message.begun_unseen = true;  // nothing in a Write's FPDU says whether it is the first. RFC 5041, 4.2
        rejoin(message, part);
    }
    message.stag = part.ddp.stag;
    message.next_offset = part.ddp.tagged_offset + part.ddp.payload_length;
    half.flow->counts.payload_bytes += part.ddp.payload_length;
    request.message_bytes += part.ddp.payload_length;
    if (part.ddp.last)
        finish(half, part, Operation::write, request.message_bytes);
    else
        half.direction->level.note(half.flow->ledger, half.direction->responses, part.now_ns());
}

inline void Messages::send(const Half& half, const Part& part, Operation operation) {
    RequestState& request = half.request();
    MessageState& message = half.direction->message;
    const bool goes_on = request.in_message && request.operation == operation &&
                         message.message_sequence == part.ddp.msn && part.ddp.message_offset != 0;
    if (goes_on) {
        half.flow->ledger.add_bytes(part.passed_ns(), part.ddp.payload_length);
    } else {
        begin(half, part, operation, part.ddp.payload_length);
        if (part.ddp.message_offset != 0) [[unlikely]]
            message.begun_unseen = true;
    }
    if (message.cut) [[unlikely]]
        rejoin(message, part);
    message.message_sequence = part.ddp.msn;
    half.flow->counts.payload_bytes += part.ddp.payload_length;
    // The offset counts what came before, captured or not. RFC 5041, 4.3.
    request.message_bytes = std::uint64_t{part.ddp.message_offset} + part.ddp.payload_length;
    if (part.ddp.last)
        finish(half, part, operation, request.message_bytes);
    else
        half.direction->level.note(half.flow->ledger, half.direction->responses, part.now_ns());
}

}  // namespace metrics::measure::iwarp
