#include "metrics/measure/iwarp/receiver.h"

#include "metrics/measure/iwarp/receiver_inline.h"

namespace metrics::inline measure::iwarp {

void Receiver::congested(const Half& half, std::int64_t now_ns) const {
    ++half.received().ece_acks;
    half.received().ece_ns = now_ns;
}

/// An acknowledgement of what is acknowledged, without data: perhaps a duplicate. RFC 5681, 2.
void Receiver::duplicate(const Half& half, const Segment& segment, std::uint64_t position) {
    ReceiverReports& received = half.received();
    const RequestState& request = half.request();
    const std::int64_t now_ns = segment.now_ns();
    if (segment.has(tcp_fin) || request.next <= request.acknowledged || !received.window.is_same(segment.tcp().window))
        return;
    if (received.losses.duplicate(now_ns)) {
        const Holes* const holes = holes_.find(half.sent());
        const Hole* const hole = holes == nullptr ? nullptr : holes->find(position, position + 1, false);
        std::optional<std::uint64_t> generation_ns;
        if (hole != nullptr) {
            generation_ns = elapsed(hole->noticed_ns, now_ns);
            store_.record(*half.flow, FlowHistogram::nak_generation, *generation_ns);
        }
        store_.observe([&](ObservedFlows& observed) {
            observed.signals(*half.flow).note_nak(segment.frame.number, 0, generation_ns);
        });
    }
    if (received.losses.duplicates_show_loss()) received.losses.believe(request.next);
}

/// What SACK says. RFC 2018.
void Receiver::selective(const Half& half, const Segment& segment, std::uint64_t position) {
    ReceiverReports& received = half.received();
    const RequestState& request = half.request();
    const TcpOptions options = segment.options();
    received.losses.add_sack_blocks(options.sack_blocks);
    if (!options.sack_above || position != request.acknowledged) return;
    const std::uint64_t top = std::min(position_of(request.next, options.sack_top), request.next);
    received.losses.believe(top);
    half.sent().recovery.selective(position_of(request.next, options.sack_newest_left),
                                   position_of(request.next, options.sack_newest_right), top);
    if (!received.losses.selective(segment.now_ns())) return;
    store_.observe(
        [&](ObservedFlows& observed) { observed.signals(*half.flow).note_nak(segment.frame.number, 0, {}); });
}

}  // namespace metrics::measure::iwarp
