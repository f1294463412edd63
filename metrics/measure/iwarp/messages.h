#pragma once
#include <optional>

#include "dissect/dissector.h"
#include "metrics/measure/flow/flow_store.h"
#include "metrics/measure/iwarp/early_responses.h"
#include "metrics/measure/iwarp/receiver.h"

namespace metrics::inline measure::iwarp {

/// FPDUs in the order of the stream -> operations: what was asked for, how much of it, and when it was answered. RFC
/// 5040, 7306.
class Messages {
public:
    Messages(FlowStore& store, Receiver& receiver);

    /// An FPDU of `half`, whose bytes of the stream end at `end`; `back` is the opposite direction, if there is one.
    void unit(const Half& half, const Half& back, const dissect::Unit& unit, std::uint64_t end);
    /// `bytes` bytes of the stream were not captured, or could not be read: what was under way cannot be followed to
    /// its end.
    void gap(const Half& half, const Half& back, std::uint64_t bytes, std::int64_t now_ns);
    void forget(Direction& direction);
    std::size_t octets() const { return early_responses_.octets(); }

private:
    /// An FPDU and where its bytes end. Its bytes pass, and then it is delivered: at once, unless something before it
    /// is missing. The passing of its bytes shows what was on its way when; its delivery shows what the receiver could
    /// know.
    struct Part {
        const dissect::Unit& unit;
        const dissect::DdpSummary& ddp;
        std::uint64_t end;

        std::int64_t now_ns() const { return unit.frame.time_ns; }
        std::int64_t passed_ns() const { return unit.passed_ns; }
    };

    void other(const Half& half, const Half& back, const Part& part);
    void write(const Half& half, const Part& part);
    bool resumes(const Half& half, const Part& part);
    static void rejoin(MessageState& message, const Part& part);
    void send(const Half& half, const Part& part, Operation operation);
    void immediate(const Half& half, const Part& part);
    static std::optional<std::uint32_t> read_size(const Part& part);
    // READs and atomics: messages_answers.cpp.
    void request(const Half& half, const Half& back, const Part& part, Operation operation,
                 std::optional<std::uint32_t> size);
    void doubt(const Half& half, const Part& part);
    void answered_early(const Half& requester, const Part& part, Operation operation,
                        const EarlyResponses::Response& response);
    std::optional<EarlyResponses::Response> answer_before(Direction& responder, const EarlyResponses::Request& request);
    void note_early_response(Direction& responder, const EarlyResponses::Response& response);
    bool belongs(const Half& requester, const Part& part) const;
    static std::optional<std::uint64_t> acknowledged_by(const Half& requester, const Part& part);
    void first_response(const Half& requester, const Part& part);
    void answered(const Half& requester, const Part& part, std::int64_t passed_ns);
    static bool continues(const MessageState& message, const Part& part);
    void response(const Half& half, const Half& back, const Part& part, bool cut);
    void atomic_response(const Half& half, const Half& back, const Part& part);
    static bool answers_forgotten(const Half& requester);
    void unmatched_response(const Half& requester, std::int64_t now_ns);
    void give_up(const Half& requester, std::int64_t now_ns);

    void begin(const Half& half, const Part& part, Operation operation, std::uint64_t bytes);
    void settle_write(const Half& half);
    void finish(const Half& half, const Part& part, Operation operation, std::uint64_t bytes);
    void count(Flow& flow, Operation operation, std::uint64_t bytes, bool whole = true);
    // For the observer, if there is one.
    static void observe_message(ObservedFlows& observed, const Half& half, const Part& part, Operation operation,
                                std::uint64_t bytes);
    static void observe_request(ObservedFlows& observed, const Half& half, const Part& part, Operation operation,
                                std::uint64_t bytes);
    static void observe_answered(ObservedFlows& observed, const Half& requester, const OutstandingMessage& message,
                                 const std::uint64_t* latency_ns, std::uint64_t frame);
    static void observe_early_response(ObservedFlows& observed, const Half& requester, const Part& part,
                                       std::uint64_t bytes);
    void covered(const Half& half, std::uint64_t end, std::int64_t now_ns);

    FlowStore& store_;
    Receiver& receiver_;
    Slab<EarlyResponses> early_responses_;
};

}  // namespace metrics::measure::iwarp
