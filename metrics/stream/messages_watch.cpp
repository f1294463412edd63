// What is reported to a witness about operations, beyond what figures need.
#include "metrics/stream/messages.h"

namespace metrics::stream {

void Messages::watch_message(const Half& half, const Part& part, Operation operation, std::uint64_t bytes) {
    const MessageState& message = half.direction->message;
    const std::uint64_t first_frame = message.begun_unseen ? 0 : message.first_frame;
    store_.watch->witness.message(half.flow->id, {operation, part.end, bytes, first_frame}, part.unit.frame.number);
}

void Messages::watch_request(const Half& half, const Part& part, Operation operation, std::uint64_t bytes) {
    const std::uint64_t position = part.end | Witness::answered_apart;
    store_.watch->witness.message(half.flow->id, {operation, position, bytes, part.unit.first_frame},
                                  part.unit.frame.number);
}

void Messages::watch_answered(const Half& requester, const OutstandingMessage& message, const std::uint64_t* latency_ns,
                              std::uint64_t frame) {
    const std::uint64_t position = message.position | Witness::answered_apart;
    store_.watch->witness.answered(requester.flow->id, position, latency_ns, frame);
}

/// A READ whose request passed before the capture began is known by its response alone.
void Messages::watch_early_response(const Half& requester, const Part& part, std::uint64_t bytes) {
    store_.watch->witness.message(requester.flow->id, {Operation::read, 0, bytes, 0}, part.unit.frame.number);
}

}  // namespace metrics::stream
