// Which response is to which READ or atomic: RFC 5040 and 7306 leave it to their order.
#include <algorithm>

#include "base/hash.h"
#include "metrics/measure/iwarp/messages.h"
#include "metrics/measure/iwarp/messages_inline.h"
#include "wire/rdmap_atomic.h"

namespace metrics::inline measure::iwarp {

using wire::RdmapOpcode;

namespace {

constexpr std::size_t untagged_head = 2 + 18;  ///< MPA's length and DDP's header
constexpr std::size_t tagged_head = 2 + 14;
/// The number of consecutive responses that answer none of the outstanding requests, after which those requests count
/// as answered. At most a peer answers that many requests from before the capture. Once its requests could be followed,
/// no more can have been missed than it ever had outstanding: twice that, but not fewer than the fewest, are waited
/// for.
constexpr std::uint32_t most_unmatched = 256;
constexpr std::uint32_t fewest_unmatched = 8;
/// A request that waits for this time, while it is doubtful which requests were answered, counts as answered.
constexpr std::uint64_t answer_patience_ns = 1'000'000'000;

std::uint16_t mark_of(std::uint64_t first, std::uint64_t second) {
    const std::uint64_t hash = (first * base::golden ^ second) * 0xd6e8feb86659fd93u;
    return static_cast<std::uint16_t>(1 + (hash >> 32) % 511);
}

/// Distinguishes answers by what they repeat of their request: a READ response the place of its first byte (RFC 5040,
/// 4.5), an atomic one its number (RFC 7306, 5.2.2). 0 for other answers, and if the snap length cut the
/// header that has it.
std::uint16_t mark_of_request(const dissect::DdpSummary& ddp, Operation operation, std::size_t captured) {
    if (operation != Operation::read)
        return captured < untagged_head + wire::size_of<wire::RdmapAtomicRequest> ? 0 : mark_of(ddp.request_id, 0);
    return ddp.read_size == 0 ? 0 : mark_of(ddp.sink_stag, ddp.sink_offset);
}
std::uint16_t mark_of_response(const dissect::DdpSummary& ddp, bool atomic, std::size_t captured) {
    const std::size_t needed = atomic ? untagged_head + wire::size_of<wire::RdmapAtomicResponse> : tagged_head;
    if (captured < needed) return 0;
    return atomic ? mark_of(ddp.request_id, 0) : mark_of(ddp.stag, ddp.tagged_offset);
}

bool is_atomic(const OutstandingMessage& message) {
    return static_cast<Operation>(static_cast<unsigned>(message.operation)) != Operation::read;
}

}  // namespace

/// A READ or atomic: it waits for its response, whatever TCP acknowledges.
void Messages::request(const Half& half, const Half& back, const Part& part, Operation operation,
                       std::optional<std::uint32_t> size) {
    Direction& direction = *half.direction;
    settle_write(half);
    direction.message.write_was_last = false;
    direction.message.request_seen = true;
    half.request().in_message = false;
    half.request().message_end_ns = part.now_ns();
    const std::uint16_t mark = size ? mark_of_request(part.ddp, operation, part.unit.bytes.size()) : std::uint16_t{0};
    std::optional<EarlyResponses::Response> answer;
    if (back)
        answer = answer_before(*back.direction, {.frame = part.unit.first_frame,
                                                 .end = part.end,
                                                 .passed_ns = part.passed_ns(),
                                                 .atomic = operation != Operation::read,
                                                 .mark = mark});
    if (answer && answer->forgotten) ++direction.message.forgotten;  // the answer of that request is still to come
    if (answer && answer->counted) return;
    store_.observe(
        [&](ObservedFlows& observed) { observe_request(observed, half, part, operation, size.value_or(0)); });
    if (size)
        count(*half.flow, operation, *size);
    else
        ++store_.count(*half.flow, operation).messages;
    if (answer) return answered_early(half, part, operation, *answer);
    if (direction.responses.oldest(store_.rings) == nullptr) direction.message.answered = part.end - 1;
    doubt(half, part);
    // Before the flow was known, or before FPDUs were found in the other direction: answers that passed already may be
    // among what that direction has yet to deliver.
    const bool late = part.passed_ns() < half.flow->counts.first_ns || (back && back.direction->fpdu_bytes == 0);
    Ledger& requests = direction.responses;
    const std::uint32_t bytes = size.value_or(0);
    const bool posted = late ? requests.post_late(store_.rings, part.passed_ns(), operation, part.end, bytes, mark)
                             : requests.post(store_.rings, part.passed_ns(), operation, part.end, bytes, mark);
    if (!posted) ++direction.message.not_kept;
    if (part.unit.holed) direction.responses.mark_again(store_.rings, part.end);
    direction.level.note(half.flow->ledger, direction.responses, part.now_ns());
}

/// Once requests were given up, or responses came that answer none, some may be taken for those to younger requests,
/// which then stay. A sender that has more outstanding than ever before, or asks again long after, has had answers that
/// were not counted.
void Messages::doubt(const Half& half, const Part& part) {
    MessageState& message = half.direction->message;
    Ledger& requests = half.direction->responses;
    if (message.doubtful == 0) return;
    const OutstandingMessage* const oldest = requests.oldest(store_.rings);
    if (oldest == nullptr) {
        message.doubtful = 0;
    } else if (elapsed(oldest->last_ns, part.passed_ns()) > answer_patience_ns) {
        give_up(half, part.now_ns());
    } else if (requests.messages() >= message.doubtful) {
        requests.complete_oldest(store_.rings, part.now_ns(), [&](const OutstandingMessage& missed) {
            store_.observe([&](ObservedFlows& observed) { observe_answered(observed, half, missed, nullptr, 0); });
        });
        ++message.forgotten;
    }
}

/// A request whose response was delivered first.
void Messages::answered_early(const Half& requester, const Part& part, Operation operation,
                              const EarlyResponses::Response& response) {
    const std::uint64_t latency_ns = elapsed(part.passed_ns(), response.passed_ns);
    const bool measured = !part.unit.holed && response.passed_ns >= part.passed_ns();
    if (measured) store_.record(*requester.flow, latency_of(operation), latency_ns);
    store_.observe([&](ObservedFlows& observed) {
        OutstandingMessage request;
        request.position = part.end & Ledger::max_position;
        observe_answered(observed, requester, request, measured ? &latency_ns : nullptr, part.unit.frame.number);
    });
}

/// The response to a request that is delivered after it.
std::optional<EarlyResponses::Response> Messages::answer_before(Direction& responder,
                                                                const EarlyResponses::Request& request) {
    if (responder.early_responses == Flow::no_block) return std::nullopt;
    const auto response = early_responses_[responder.early_responses].answer_to(request);
    if (early_responses_[responder.early_responses].empty()) forget(responder);
    return response;
}

void Messages::note_early_response(Direction& responder, const EarlyResponses::Response& response) {
    if (responder.early_responses == Flow::no_block) responder.early_responses = early_responses_.take();
    if (responder.early_responses == Flow::no_block) return;
    early_responses_[responder.early_responses].note(response);
}

/// A response can be to the oldest request only if it repeats what that request said, and if its sender had that
/// request when it sent the response: the acknowledgement in the segment says so.
bool Messages::belongs(const Half& requester, const Part& part) const {
    const OutstandingMessage* oldest = requester.direction->responses.oldest(store_.rings);
    if (oldest == nullptr) return false;
    const bool atomic = static_cast<RdmapOpcode>(part.ddp.opcode) == RdmapOpcode::atomic_response;
    const std::uint16_t mark = mark_of_response(part.ddp, atomic, part.unit.bytes.size());
    // Merged ones may be of both kinds, and have the youngest's mark.
    const bool differs = mark != 0 && oldest->mark != 0 && oldest->mark != mark;
    if (!oldest->merged && (is_atomic(*oldest) != atomic || differs)) return false;
    const std::optional<std::uint64_t> acknowledged = acknowledged_by(requester, part);
    if (!acknowledged) return true;
    if (oldest->merged) return *acknowledged > requester.direction->message.answered;
    return *acknowledged >= oldest->position;
}

/// Up to where the sender of a response had what the requester sent. No value if its segment does not say so.
std::optional<std::uint64_t> Messages::acknowledged_by(const Half& requester, const Part& part) {
    const dissect::Dissection& frame = part.unit.frame_dissection;
    if (frame.layer_count == 0 || (frame.tcp.flags & tcp_ack) == 0) return std::nullopt;
    const std::uint64_t acknowledged = position_of(requester.request().next, frame.tcp.acknowledgment);
    // A message that waited for a hole came in an earlier segment, which acknowledged no more than the farthest.
    if (part.unit.first_frame == part.unit.frame.number) return acknowledged;
    return std::max(acknowledged, requester.request().acknowledged);
}

void Messages::first_response(const Half& requester, const Part& part) {
    OutstandingMessage* const oldest = requester.direction->responses.oldest(store_.rings);
    if (oldest == nullptr || oldest->responded) return;
    oldest->responded = 1;
    if (oldest->again || oldest->merged || is_atomic(*oldest) || part.passed_ns() < oldest->last_ns) return;
    store_.record(*requester.flow, FlowHistogram::first_response, elapsed(oldest->last_ns, part.passed_ns()));
}

/// `passed_ns`: when the last of the response's bytes did.
void Messages::answered(const Half& requester, const Part& part, std::int64_t passed_ns) {
    const std::int64_t now_ns = part.now_ns();
    Direction& direction = *requester.direction;
    direction.responses.complete_oldest(store_.rings, now_ns, [&](const OutstandingMessage& outstanding) {
        const std::uint64_t latency_ns = elapsed(outstanding.last_ns, passed_ns);
        const bool measured = !outstanding.again && !outstanding.merged && passed_ns >= outstanding.last_ns;
        if (!outstanding.merged) direction.message.answered = outstanding.position;
        if (measured) {
            const auto operation = static_cast<Operation>(static_cast<unsigned>(outstanding.operation));
            store_.record(*requester.flow, latency_of(operation), latency_ns);
        }
        store_.observe([&](ObservedFlows& observed) {
            observe_answered(observed, requester, outstanding, measured ? &latency_ns : nullptr,
                             part.unit.frame.number);
        });
    });
    direction.message.unmatched = 0;
    direction.message.in_sync = true;
    requester.request().response_ns = now_ns;
    requester.request().freed_ns = now_ns;
    requester.request().freed_messages = 1;
    requester.flow->attribution.freed(now_ns);
    direction.level.note(requester.flow->ledger, direction.responses, now_ns);
}

/// A READ response continues where it was: one whose end was not captured is not mistaken for the next one's beginning.
bool Messages::continues(const MessageState& message, const Part& part) {
    if (part.unit.bytes.size() < tagged_head) return true;  // where it goes was cut off
    return part.ddp.stag == message.response_stag && part.ddp.tagged_offset == message.response_offset;
}

/// `cut`: of what came just before, something was not captured.
void Messages::response(const Half& half, const Half& back, const Part& part, bool cut) {
    ResponseState& responses = store_.responder(*half.flow);
    MessageState& message = half.direction->message;
    half.flow->counts.payload_bytes += part.ddp.payload_length;
    const bool starts = !responses.in_response || !continues(message, part);
    message.response_stag = part.ddp.stag;
    message.response_offset = part.ddp.tagged_offset + part.ddp.payload_length;
    if (starts) {
        message.response_bytes = 0;
        message.response_cut = cut;
        message.response_frame = part.unit.first_frame;
        message.response_passed_ns = part.passed_ns();
    }
    message.response_bytes += part.ddp.payload_length;
    message.response_passed_ns = std::max(message.response_passed_ns, part.passed_ns());
    responses.in_response = !part.ddp.last;
    if (part.ddp.last) responses.message_end_ns = part.now_ns();
    EarlyResponses::Response whole{.first_frame = message.response_frame, .passed_ns = message.response_passed_ns};
    if (!back) {
        if (part.ddp.last) note_early_response(*half.direction, whole);
        return;
    }
    whole.acknowledged = acknowledged_by(back, part).value_or(0);
    if (!message.response_cut && part.unit.bytes.size() >= tagged_head)
        whole.mark = mark_of(part.ddp.stag, message.response_offset - message.response_bytes);
    const bool known = (!starts && back.direction->message.request_seen) || belongs(back, part);
    if (known && starts) first_response(back, part);
    if (!part.ddp.last) return;
    const OutstandingMessage* oldest = back.direction->responses.oldest(store_.rings);
    if (known && oldest != nullptr && (starts || oldest->responded)) {
        if (oldest->bytes == 0 && !oldest->merged && message.response_bytes != 0) {
            // The request was cut.
            store_.count(*back.flow, Operation::read).bytes += message.response_bytes;
            if (!message.response_cut) store_.record(*back.flow, FlowHistogram::message_bytes, message.response_bytes);
        }
        answered(back, part, message.response_passed_ns);
    } else if (answers_forgotten(back)) {
        whole.forgotten = true;
        note_early_response(*half.direction, whole);
    } else {
        // The request passed before the capture began.
        store_.observe(
            [&](ObservedFlows& observed) { observe_early_response(observed, back, part, message.response_bytes); });
        count(*back.flow, Operation::read, message.response_bytes, !message.response_cut);
        whole.counted = true;
        note_early_response(*half.direction, whole);
        unmatched_response(back, part.now_ns());
    }
}

void Messages::atomic_response(const Half& half, const Half& back, const Part& part) {
    EarlyResponses::Response response{
        .first_frame = part.unit.first_frame, .passed_ns = part.passed_ns(), .atomic = true};
    if (!back) return note_early_response(*half.direction, response);
    response.acknowledged = acknowledged_by(back, part).value_or(0);
    response.mark = mark_of_response(part.ddp, true, part.unit.bytes.size());
    if (belongs(back, part)) {
        first_response(back, part);
        answered(back, part, part.passed_ns());
    } else {
        response.forgotten = answers_forgotten(back);
        note_early_response(*half.direction, response);
        if (!response.forgotten) unmatched_response(back, part.now_ns());
    }
}

/// A response to a request that was counted, but is no longer kept, or never was.
bool Messages::answers_forgotten(const Half& requester) {
    MessageState& message = requester.direction->message;
    std::uint32_t& requests = message.forgotten != 0 ? message.forgotten : message.not_kept;
    if (requests == 0) return false;
    --requests;
    return true;
}

/// A response to none of the requests outstanding.
void Messages::unmatched_response(const Half& requester, std::int64_t now_ns) {
    MessageState& message = requester.direction->message;
    Ledger& requests = requester.direction->responses;
    if (requests.oldest(store_.rings) == nullptr) return;
    if (message.in_sync && message.doubtful == 0) message.doubtful = requests.responses_max();
    if (message.unmatched == 0)
        message.unmatched_limit = message.in_sync
                                      ? std::clamp(2 * requests.responses_max(), fewest_unmatched, most_unmatched)
                                      : most_unmatched;
    if (++message.unmatched < message.unmatched_limit) return;
    message.unmatched = 0;
    give_up(requester, now_ns);
}

void Messages::give_up(const Half& half, std::int64_t now_ns) {
    Direction& requester = *half.direction;
    const std::uint32_t outstanding = requester.responses.kept();
    if (outstanding != 0 && requester.message.doubtful == 0)
        requester.message.doubtful = requester.responses.responses_max();
    requester.message.forgotten += outstanding;
    requester.responses.clear(store_.rings, now_ns);
    store_.observe([&](ObservedFlows& observed) { observed.observer.forgotten(half.flow->id, true); });
    requester.level.note(half.flow->ledger, requester.responses, now_ns);
}

void Messages::forget(Direction& direction) {
    if (direction.early_responses == Flow::no_block) return;
    early_responses_.give_back(direction.early_responses);
    direction.early_responses = Flow::no_block;
}

}  // namespace metrics::measure::iwarp
