#include "metrics/stream/messages.h"

#include <algorithm>

#include "metrics/stream/messages_usual.h"
#include "wire/rdmap_atomic.h"

namespace metrics::stream {

using wire::RdmapOpcode;

namespace {

constexpr std::uint32_t atomic_octets = 8;

std::uint16_t mark_of(std::uint64_t first, std::uint64_t second) {
    const std::uint64_t hash = (first * 0x9e3779b97f4a7c15u ^ second) * 0xd6e8feb86659fd93u;
    return static_cast<std::uint16_t>(1 + (hash >> 32) % 511);
}

/// Tells one answer from others by what of its request it repeats: a READ response the place that its first octet goes
/// to (RFC 5040, 4.5), an atomic one its number (RFC 7306, 5.2.2). 0 where the snap length cut that, or there is none.
std::uint16_t mark_of_request(const dissect::DdpSummary& ddp, Operation operation, std::size_t captured) {
    constexpr std::size_t atomic_number_end = 2 + 18 + 8;
    if (operation != Operation::read) return captured < atomic_number_end ? 0 : mark_of(ddp.request_id, 0);
    return ddp.read_size == 0 ? 0 : mark_of(ddp.sink_stag, ddp.sink_offset);
}
std::uint16_t mark_of_response(const dissect::DdpSummary& ddp, bool atomic, std::size_t captured) {
    constexpr std::size_t atomic_number_end = 2 + 18 + 4;
    constexpr std::size_t tagged_end = 2 + 14;
    if (captured < (atomic ? atomic_number_end : tagged_end)) return 0;
    return atomic ? mark_of(ddp.request_id, 0) : mark_of(ddp.stag, ddp.tagged_offset);
}

bool is_atomic(const OutstandingMessage& message) {
    return static_cast<Operation>(static_cast<unsigned>(message.operation)) != Operation::read;
}

}  // namespace

Messages::Messages(FlowStore& store, Sender& sender)
    : store_(store),
      sender_(sender),
      unasked_(static_cast<std::uint32_t>(std::clamp<std::size_t>(store.options.max_flows / 16, 64, 1u << 16))) {}

void Messages::forget(Direction& direction) {
    if (direction.unasked == Flow::no_block) return;
    unasked_.give_back(direction.unasked);
    direction.unasked = Flow::no_block;
}

/// What carries no payload of a message that was sent.
void Messages::other(const Half& half, const Half& back, const Part& part) {
    Flow& flow = *half.flow;
    switch (static_cast<RdmapOpcode>(part.ddp.opcode)) {
        case RdmapOpcode::immediate:
        case RdmapOpcode::immediate_solicited: immediate(half, part); break;
        case RdmapOpcode::read_request: request(half, back, part, Operation::read, read_size(part)); break;
        case RdmapOpcode::atomic_request: {
            const bool swap =
                part.ddp.atomic_operation == static_cast<std::uint8_t>(wire::AtomicOperation::compare_swap);
            request(half, back, part, swap ? Operation::compare_swap : Operation::fetch_add, atomic_octets);
            break;
        }
        case RdmapOpcode::read_response: response(half, back, part); break;
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

/// Octets that a Read Request asks for; absent where the snap length cut it.
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
    const std::uint64_t bytes = message.write_bytes;
    OperationCounts::Count& plain = store_.count(flow, Operation::write);
    OperationCounts::Count& immediate = store_.count(flow, Operation::write_immediate);
    --plain.messages;
    ++immediate.messages;
    const std::uint64_t moved = std::min(plain.bytes, bytes);
    plain.bytes -= moved;
    immediate.bytes += moved;
    flow.request.message_end_ns = part.now_ns();
    if (store_.watch != nullptr) store_.watch->witness.continued(flow.id, part.end, part.unit.frame.number);
    if (message.write_end == 0) return;  // acknowledged before the Immediate Data came
    message.write_end = 0;
    flow.ledger.end(store_.rings, part.now_ns(), Operation::write_immediate, part.end, message.write_bytes);
    covered(half, part.end, part.now_ns());
}

/// A READ or atomic: it waits for its response, whatever TCP acknowledges.
void Messages::request(const Half& half, const Half& back, const Part& part, Operation operation,
                       std::optional<std::uint32_t> size) {
    Direction& direction = *half.direction;
    settle_write(half);
    direction.message.write_was_last = false;
    direction.message.request_seen = true;
    half.request().in_message = false;
    half.request().message_end_ns = part.now_ns();
    std::optional<UnaskedResponses::Response> answer;
    if (back) answer = answer_before(*back.direction, part.unit.first_frame, operation != Operation::read);
    if (answer && answer->counted) return;
    if (store_.watch != nullptr) [[unlikely]]
        watch_request(half, part, operation, size.value_or(0));
    if (size)
        count(*half.flow, operation, *size);
    else
        ++store_.count(*half.flow, operation).messages;
    if (answer) return answered_early(half, part, operation, *answer);
    const std::uint16_t mark = size ? mark_of_request(part.ddp, operation, part.unit.bytes.size()) : std::uint16_t{0};
    // Before the flow was known: others' answers may be among what the other direction has yet to tell.
    if (part.passed_ns() < half.flow->counts.first_ns)
        direction.responses.post_late(store_.rings, part.passed_ns(), operation, part.end, size.value_or(0), mark);
    else
        direction.responses.post(store_.rings, part.passed_ns(), operation, part.end, size.value_or(0), mark);
    if (part.unit.holed) direction.responses.mark_again(store_.rings, part.end);
    direction.level.note(half.flow->ledger, direction.responses, part.now_ns());
}

/// A request whose response was delivered first.
void Messages::answered_early(const Half& requester, const Part& part, Operation operation,
                              const UnaskedResponses::Response& response) {
    const std::uint64_t latency_ns = elapsed(part.passed_ns(), response.passed_ns);
    const bool measured = !part.unit.holed;
    if (measured) store_.record(*requester.flow, latency_of(operation), latency_ns);
    if (store_.watch == nullptr) return;
    OutstandingMessage request;
    request.position = part.end & Ledger::max_position;
    watch_answered(requester, request, measured ? &latency_ns : nullptr, part.unit.frame.number);
}

/// The response to a request that is delivered after it.
std::optional<UnaskedResponses::Response> Messages::answer_before(Direction& responder, std::uint64_t request_frame,
                                                                  bool atomic) {
    if (responder.unasked == Flow::no_block) return std::nullopt;
    const auto response = unasked_[responder.unasked].answer_to(request_frame, atomic);
    if (unasked_[responder.unasked].empty()) forget(responder);
    return response;
}

void Messages::note_unasked(Direction& responder, const UnaskedResponses::Response& response) {
    if (responder.unasked == Flow::no_block) responder.unasked = unasked_.take();
    if (responder.unasked == Flow::no_block) return;
    unasked_[responder.unasked].note(response);
}

/// A response can be to the oldest request only if it repeats what that one told, and if its sender had that request
/// when it sent the response: the acknowledgement in the segment says so.
bool Messages::belongs(const Half& requester, const Part& part) const {
    const OutstandingMessage* oldest = requester.direction->responses.oldest(store_.rings);
    if (oldest == nullptr) return false;
    const bool atomic = static_cast<RdmapOpcode>(part.ddp.opcode) == RdmapOpcode::atomic_response;
    const std::uint16_t mark = mark_of_response(part.ddp, atomic, part.unit.bytes.size());
    const bool comparable = mark != 0 && oldest->mark != 0 && !oldest->merged && is_atomic(*oldest) == atomic;
    if (comparable && oldest->mark != mark) return false;
    const dissect::Dissection& frame = part.unit.frame_dissection;
    if (frame.layer_count == 0 || (frame.tcp.flags & tcp_ack) == 0) return true;
    const std::uint64_t acknowledged = position_of(requester.request().next, frame.tcp.acknowledgment);
    return acknowledged >= oldest->position;
}

void Messages::first_response(const Half& requester, const Part& part) {
    OutstandingMessage* const oldest = requester.direction->responses.oldest(store_.rings);
    if (oldest == nullptr || oldest->responded) return;
    oldest->responded = 1;
    if (oldest->again || oldest->merged || is_atomic(*oldest)) return;
    store_.record(*requester.flow, FlowHistogram::first_response, elapsed(oldest->last_ns, part.passed_ns()));
}

void Messages::answered(const Half& requester, const Part& part, bool atomic) {
    const std::int64_t now_ns = part.now_ns();
    Direction& direction = *requester.direction;
    const OutstandingMessage* oldest = direction.responses.oldest(store_.rings);
    // Responses come in the order of the requests: one of the other kind means that this one's was missed.
    while (oldest != nullptr && is_atomic(*oldest) != atomic) {
        direction.responses.complete_oldest(store_.rings, now_ns, [&](const OutstandingMessage& missed) {
            if (store_.watch != nullptr) watch_answered(requester, missed, nullptr, 0);
        });
        oldest = direction.responses.oldest(store_.rings);
    }
    direction.responses.complete_oldest(store_.rings, now_ns, [&](const OutstandingMessage& outstanding) {
        const std::uint64_t latency_ns = elapsed(outstanding.last_ns, part.passed_ns());
        const bool measured = !outstanding.again && !outstanding.merged;
        if (measured) {
            const auto operation = static_cast<Operation>(static_cast<unsigned>(outstanding.operation));
            store_.record(*requester.flow, latency_of(operation), latency_ns);
        }
        if (store_.watch != nullptr) [[unlikely]]
            watch_answered(requester, outstanding, measured ? &latency_ns : nullptr, part.unit.frame.number);
    });
    requester.request().response_ns = now_ns;
    requester.request().freed_ns = now_ns;
    requester.request().freed_messages = 1;
    requester.flow->attribution.freed(now_ns);
    direction.level.note(requester.flow->ledger, direction.responses, now_ns);
}

void Messages::response(const Half& half, const Half& back, const Part& part) {
    ResponseState& responses = store_.responder(*half.flow);
    MessageState& message = half.direction->message;
    half.flow->counts.payload_bytes += part.ddp.payload_length;
    const bool starts = !responses.in_response;
    if (starts) {
        message.response_bytes = 0;
        message.response_frame = part.unit.first_frame;
    }
    message.response_bytes += part.ddp.payload_length;
    responses.in_response = !part.ddp.last;
    if (part.ddp.last) responses.message_end_ns = part.now_ns();
    if (!back) {
        if (part.ddp.last) note_unasked(*half.direction, {message.response_frame, part.passed_ns(), false, false});
        return;
    }
    const bool known = (!starts && back.direction->message.request_seen) || belongs(back, part);
    if (known && starts) first_response(back, part);
    if (!part.ddp.last) return;
    const OutstandingMessage* oldest = back.direction->responses.oldest(store_.rings);
    if (known && oldest != nullptr && (starts || oldest->responded)) {
        if (oldest->bytes == 0 && !oldest->merged && message.response_bytes != 0) {
            // The request was cut.
            store_.count(*back.flow, Operation::read).bytes += message.response_bytes;
            store_.record(*back.flow, FlowHistogram::message_bytes, message.response_bytes);
        }
        answered(back, part, false);
    } else if (back.direction->message.forgotten != 0) {
        --back.direction->message.forgotten;
    } else {
        // The request passed before the capture began.
        if (store_.watch != nullptr) watch_unasked(back, part, message.response_bytes);
        count(*back.flow, Operation::read, message.response_bytes);
        note_unasked(*half.direction, {message.response_frame, part.passed_ns(), false, true});
    }
}

void Messages::atomic_response(const Half& half, const Half& back, const Part& part) {
    const UnaskedResponses::Response response{part.unit.first_frame, part.passed_ns(), true, false};
    if (!back) return note_unasked(*half.direction, response);
    if (belongs(back, part)) {
        first_response(back, part);
        answered(back, part, true);
    } else if (back.direction->message.forgotten != 0) {
        --back.direction->message.forgotten;
    } else {
        note_unasked(*half.direction, response);
    }
}

void Messages::gap(const Half& half, const Half& back, std::int64_t now_ns) {
    RequestState& request = half.request();
    MessageState& message = half.direction->message;
    settle_write(half);
    message.write_was_last = message.begun_unseen = false;
    if (request.in_message && request.operation == Operation::write) request.in_message = false;
    if (half.flow->responder != Flow::no_block) store_.responder(*half.flow).in_response = false;
    if (!back) return;
    // Which of the responses lay in the gap cannot be told.
    Direction& requester = *back.direction;
    requester.message.forgotten += requester.responses.messages();
    requester.responses.clear(store_.rings, now_ns);
    if (store_.watch != nullptr) store_.watch->witness.forgotten(back.flow->id, true);
    requester.level.note(back.flow->ledger, requester.responses, now_ns);
}

}  // namespace metrics::stream
