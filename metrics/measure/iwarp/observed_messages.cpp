// What an observer learns of operations, beyond what figures need.
#include "metrics/measure/iwarp/messages.h"

namespace metrics::inline measure::iwarp {

void Messages::observe_message(ObservedFlows& observed, const Half& half, const Part& part, Operation operation,
                               std::uint64_t bytes) {
    const MessageState& message = half.direction->message;
    const std::uint64_t first_frame = message.begun_unseen ? 0 : message.first_frame;
    observed.observer.message(half.flow->id, {operation, part.end, bytes, first_frame}, part.unit.frame.number);
}

void Messages::observe_request(ObservedFlows& observed, const Half& half, const Part& part, Operation operation,
                               std::uint64_t bytes) {
    const std::uint64_t position = part.end | FrameObserver::answered_apart;
    observed.observer.message(half.flow->id, {operation, position, bytes, part.unit.first_frame},
                              part.unit.frame.number);
}

void Messages::observe_answered(ObservedFlows& observed, const Half& requester, const OutstandingMessage& message,
                                const std::uint64_t* latency_ns, std::uint64_t frame) {
    const std::uint64_t position = message.position | FrameObserver::answered_apart;
    observed.observer.answered(requester.flow->id, position, latency_ns, frame);
}

/// A READ whose request passed before the capture began is known only by its response.
void Messages::observe_early_response(ObservedFlows& observed, const Half& requester, const Part& part,
                                      std::uint64_t bytes) {
    observed.observer.message(requester.flow->id, {Operation::read, 0, bytes, 0}, part.unit.frame.number);
}

}  // namespace metrics::measure::iwarp
