#include <algorithm>

#include "metrics/measure/flow/flow.h"

namespace metrics::inline measure::inline flow {

void RateDrop::data(std::int64_t now_ns, std::uint32_t wire_octets) {
    const std::uint64_t age_ns = begin_ns == Situation::never || now_ns < begin_ns
                                     ? 2 * window_ns
                                     : static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(begin_ns);
    if (age_ns >= window_ns) {
        // The first whole window after the CNP shows its effect; a silent one shows that nothing was to be sent.
        if (signal_ns != Situation::never && begin_ns >= signal_ns) {
            if (age_ns < 2 * window_ns) {
                sum += std::min(1.0, static_cast<double>(octets) / static_cast<double>(before));
                ++count;
            }
            signal_ns = Situation::never;
        }
        previous = age_ns < 2 * window_ns ? octets : 0;
        begin_ns = now_ns;
        octets = 0;
    }
    octets = octets > 0xffffffff - wire_octets ? 0xffffffff : octets + wire_octets;
}

void RateDrop::signal(std::int64_t now_ns) {
    // CNPs come in bursts: the first of one is what the others add to.
    if (signal_ns != Situation::never || previous == 0) return;
    signal_ns = now_ns;
    before = previous;
}

}  // namespace metrics::measure::flow
