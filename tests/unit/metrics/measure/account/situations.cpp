#include "situations.h"

#include <gtest/gtest.h>
#include <numeric>

namespace attribution_test {

Situation at(std::int64_t now_ns) {
    Situation situation;
    situation.now_ns = start + now_ns;
    situation.wire_bytes = 1250;
    situation.link_bits_per_sec = 10 * gigabit;
    return situation;
}

Situation full_window(std::uint32_t depth) {
    Situation first = at(0);
    first.messages = depth - 1;
    first.messages_max = depth;
    return first;
}

std::uint64_t sum(const StateTimes& times) { return std::accumulate(times.begin(), times.end(), std::uint64_t{0}); }
std::uint64_t time_in(const Attribution& attribution, State state) {
    return attribution.states(attribution.last_ns(), 0)[index_of(state)];
}

Attribution one_gap(Situation first, Situation closing, const AttributionOptions& options) {
    Attribution attribution;
    first.now_ns = start;
    closing.now_ns = start + 1 * ms;
    attribution.packet(first, options);
    attribution.packet(closing, options);
    EXPECT_EQ(sum(attribution.states(start + 1 * ms, 0)), 1'000'000u);
    return attribution;
}
State named(const Situation& first, const Situation& closing, const AttributionOptions& options) {
    const Attribution attribution = one_gap(first, closing, options);
    EXPECT_EQ(attribution.last_gap_ns(), 999'000u);
    EXPECT_EQ(time_in(attribution, closing.again ? State::transmit_again : State::transmit_new), 1000u);
    EXPECT_EQ(time_in(attribution, attribution.last_state()), 999'000u);
    return attribution.last_state();
}

}  // namespace attribution_test
