#include "metrics/measure/iwarp/messages.h"

#include <algorithm>

#include "metrics/measure/iwarp/messages_inline.h"
#include "wire/rdmap_atomic.h"

namespace metrics::inline measure::iwarp {

using wire::RdmapOpcode;

namespace {

constexpr std::uint32_t atomic_bytes = 8;

}  // namespace

Messages::Messages(FlowStore& store, Receiver& receiver)
    : store_(store),
      receiver_(receiver),
      early_responses_(
          static_cast<std::uint32_t>(std::clamp<std::size_t>(store.options.max_flows / 16, 64, 1u << 16))) {}

/// What carries no payload of a message that was sent.
void Messages::other(const Half& half, const Half& back, const Part& part) {
    Flow& flow = *half.flow;
    MessageState& message = half.direction->message;
    const bool cut = message.cut;
    if (cut) [[unlikely]] {
        if (half.request().operation == Operation::write) half.request().in_message = false;
        rejoin(message, part);
    }
    switch (static_cast<RdmapOpcode>(part.ddp.opcode)) {
        case RdmapOpcode::immediate:
        case RdmapOpcode::immediate_solicited: immediate(half, part); break;
        case RdmapOpcode::read_request: request(half, back, part, Operation::read, read_size(part)); break;
        case RdmapOpcode::atomic_request: {
            const bool swap =
                part.ddp.atomic_operation == static_cast<std::uint8_t>(wire::AtomicOperation::compare_swap);
            request(half, back, part, swap ? Operation::compare_swap : Operation::fetch_add, atomic_bytes);
            break;
        }
        case RdmapOpcode::read_response: response(half, back, part, cut); break;
        case RdmapOpcode::atomic_response: atomic_response(half, back, part); break;
        case RdmapOpcode::terminate: {
            const std::uint64_t value = std::uint64_t{part.ddp.terminate_layer} << 12 |
                                        std::uint64_t{part.ddp.terminate_type} << 8 | part.ddp.terminate_code;
            ++store_.trouble(flow).terminates;
            store_.show(flow, EventKind::terminate, part.unit.frame.number, value);
            break;
        }
        default: break;
    }
}

/// Bytes that a Read Request asks for; no value if the snap length cut it.
std::optional<std::uint32_t> Messages::read_size(const Part& part) {
    const dissect::LayerRef* layer = part.unit.dissection.find(dissect::LayerId::rdmap_read_request);
    if (layer == nullptr || layer->length < layer->wire_length) return std::nullopt;
    return part.ddp.read_size;
}

void Messages::immediate(const Half& half, const Part& part) {
    Flow& flow = *half.flow;
    MessageState& message = half.direction->message;
    if (!message.write_was_last) {
        begin(half, part, Operation::send_immediate, 0);
        finish(half, part, Operation::send_immediate, 0);
        return;
    }
    message.write_was_last = false;
    receiver_.record_write(half, Operation::write_immediate);
    const std::uint64_t bytes = message.write_bytes;
    OperationCounts::Count& plain = store_.count(flow, Operation::write);
    OperationCounts::Count& immediate = store_.count(flow, Operation::write_immediate);
    --plain.messages;
    ++immediate.messages;
    const std::uint64_t moved = std::min(plain.bytes, bytes);
    plain.bytes -= moved;
    immediate.bytes += moved;
    flow.request.message_end_ns = part.now_ns();
    store_.observe(
        [&](ObservedFlows& observed) { observed.observer.continued(flow.id, part.end, part.unit.frame.number); });
    if (message.write_end == 0) return;  // acknowledged before the Immediate Data came
    message.write_end = 0;
    flow.ledger.end(store_.rings, part.now_ns(), Operation::write_immediate, part.end, message.write_bytes);
    covered(half, part.end, part.now_ns());
}

/// A Write with bytes missing from the capture continues where it may be by now. If another Write of the same place has
/// begun meanwhile, the two cannot be distinguished: the bytes count as Writes' all the same, but the size and time of
/// either Write are unknown.
bool Messages::resumes(const Half& half, const Part& part) {
    RequestState& request = half.request();
    MessageState& message = half.direction->message;
    const std::uint64_t ahead = part.ddp.tagged_offset - message.next_offset;
    const bool goes_on = request.in_message && request.operation == Operation::write && message.stag == part.ddp.stag &&
                         ahead <= message.bytes_missing;
    if (goes_on) {
        half.flow->ledger.add_bytes(part.passed_ns(), ahead);
        request.message_bytes += ahead;
    }
    return goes_on;
}

void Messages::gap(const Half& half, const Half& back, std::uint64_t bytes, std::int64_t now_ns) {
    MessageState& message = half.direction->message;
    settle_write(half);
    message.write_was_last = false;
    message.awaited = message.cut = true;
    message.bytes_missing += bytes;
    if (half.flow->responder != Flow::no_block) store_.responder(*half.flow).in_response = false;
    if (back) give_up(back, now_ns);  // it is unknown which of the responses lay in the gap
}

}  // namespace metrics::measure::iwarp
