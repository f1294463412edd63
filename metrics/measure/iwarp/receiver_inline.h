#pragma once
#include <algorithm>
#include <utility>

#include "dissect/tcp/sequence.h"
#include "metrics/measure/iwarp/receiver.h"

/// The functions of Receiver that nearly every segment needs, in a header so that the compiler can inline them. The
/// others are in receiver.cpp.
namespace metrics::inline measure::iwarp {

using dissect::tcp::largest_window;

inline bool Receiver::is_unchanged(const Half& half, const Segment& segment) const {
    const RequestState& request = half.request();
    const SentData& sent = half.sent();
    const ReceiveWindow& window = half.received().window;
    return request.next != 0 && request.next - request.acknowledged <= largest_window &&
           segment.tcp().acknowledgment == static_cast<std::uint32_t>(request.acknowledged) &&
           window.keeps(segment.tcp().window, request.acknowledged) &&
           window.has_room(request.next + sent.largest_segment);
}

inline void Receiver::complete(const Half& half, std::uint64_t position, std::int64_t now_ns, bool measure) {
    Flow& flow = *half.flow;
    Direction& direction = *half.direction;
    MessageState& message = direction.message;
    std::uint64_t undecided = 0;  // Immediate Data may follow yet
    if (message.write_end != 0 && message.write_end <= position) {
        flow.ledger.end(store_.rings, message.write_ns, Operation::write, message.write_end, message.write_bytes);
        undecided = std::exchange(message.write_end, 0);
    }
    store_.observe([&](ObservedFlows& observed) { observed.acknowledged(flow, position, now_ns, measure); });
    const unsigned done =
        flow.ledger.acknowledge(store_.rings, now_ns, position, [&](const OutstandingMessage& outstanding) {
            if (outstanding.again || outstanding.merged || !measure || now_ns < outstanding.last_ns) return;
            const std::uint64_t latency_ns = elapsed(outstanding.last_ns, now_ns);
            const auto operation = static_cast<Operation>(static_cast<unsigned>(outstanding.operation));
            if (outstanding.position == undecided)
                message.write_latency_ns = latency_ns;
            else
                store_.record(flow, latency_of(operation), latency_ns);
        });
    half.request().freed_messages = done;
    if (done == 0) return;
    flow.attribution.freed(now_ns);
    direction.level.note(flow.ledger, direction.responses, now_ns);
}

inline void Receiver::record_write(const Half& half, Operation operation) {
    std::optional<std::uint64_t>& latency_ns = half.direction->message.write_latency_ns;
    if (latency_ns) store_.record(*half.flow, latency_of(operation), *latency_ns);
    latency_ns.reset();
}

inline void Receiver::measure_round_trip(const Half& half, std::uint64_t position, const Segment& segment) {
    const std::int64_t now_ns = segment.now_ns();
    const auto round_trip_ns = half.sent().marks.acknowledged(position, now_ns);
    if (!round_trip_ns) return;
    store_.record(*half.flow, FlowHistogram::round_trip, *round_trip_ns);
    if (*round_trip_ns >= half.request().round_trip_min_ns) return;
    keep_least(half.request().round_trip_min_ns, *round_trip_ns);
    half.sent().answered_by_data = segment.tcp().payload_length != 0;
}

inline void Receiver::acknowledged(const Half& half, const Segment& segment, std::uint64_t position) {
    ReceiverReports& received = half.received();
    RequestState& request = half.request();
    const std::int64_t now_ns = segment.now_ns();
    if (position > request.acknowledged) {
        request.acknowledged = position;
        request.freed_ns = now_ns;
        request.freed_messages = 0;
        measure_round_trip(half, position, segment);
        complete(half, position, now_ns, true);
        received.losses.advance();
        // A partial acknowledgement reports the next loss. RFC 6582, 3.2.
        const LossRecovery& recovery = half.sent().recovery;
        if (half.is_recovering() && recovery.cause() == RepeatCause::nak) received.losses.believe(recovery.end());
    } else if (position == request.acknowledged && segment.tcp().payload_length == 0) {
        duplicate(half, segment, position);
    }
    if (segment.has_other_options()) selective(half, segment, position);
    if (position == request.acknowledged) advertise(half, segment, position);
}

inline void Receiver::advertise(const Half& half, const Segment& segment, std::uint64_t position) {
    ReceiveWindow& window = half.received().window;
    const std::uint32_t raw = segment.tcp().window;
    if (!window.keeps(raw, position)) [[unlikely]] {
        if (raw == 0) store_.show(*half.flow, EventKind::zero_window, segment.frame.number);
        window.advertise(raw, position, segment.now_ns(), [&] { return way_to_sender_ns(half); });
    }
    watch_window(half, segment.now_ns());
}

/// Least time tap -> sender -> tap, as far as the opposite direction shows it; 0 = unknown.
inline std::uint64_t Receiver::way_to_sender_ns(const Half& half) const {
    if (half.flow->reverse == no_flow) return 0;
    const std::uint32_t round_trip_ns = store_.table[half.flow->reverse].request.round_trip_min_ns;
    return round_trip_ns == 0xffffffff ? 0 : round_trip_ns;
}

inline std::int64_t Receiver::admitted_ns(const Half& half, std::uint64_t end, std::int64_t now_ns) const {
    return half.received().window.admitted_ns(end, half.request().last_data_ns, now_ns,
                                              [&] { return way_to_sender_ns(half); });
}

inline void Receiver::watch_window(const Half& half, std::int64_t now_ns) {
    half.received().window.watch(half.sent().next_fpdu_end(half.request().next), now_ns);
}

}  // namespace metrics::measure::iwarp
