/// How long a reaction may take, and how sure a name is.
#include <gtest/gtest.h>

#include "situations.h"

namespace {

using namespace attribution_test;

TEST(Tolerance, IsLearntFromWhoWaited) {
    Situation closing = full_window(4);
    closing.messages = 3;
    closing.freed_ns = start + 1 * ms - 7 * us;
    EXPECT_EQ(one_gap(full_window(4), closing, {}).reaction_tolerance_ns(), 28'000u);  // four times the reaction
    EXPECT_EQ(one_gap(full_window(4), closing, {}).reaction_ns(), 7'000u);
    closing.freed_ns = start + 1 * ms - 100;
    EXPECT_EQ(one_gap(full_window(4), closing, {}).reaction_tolerance_ns(), 2'000u);
    closing.sender_round_trip_min_ns = 30'000;
    closing.freed_ns = start + 1 * us;  // 999 µs after an acknowledgement that came within one: perhaps it was thinking
    closing.messages = 2;
    const Attribution thinking = one_gap(full_window(4), closing, {});
    EXPECT_EQ(thinking.reaction_ns(), 0u);
    EXPECT_EQ(thinking.last_state(), State::application_in_flight);
    closing.inbound_ns = start + 60 * us;  // thirty times what the adapter needs
    closing.messages = 0;
    EXPECT_EQ(one_gap(full_window(4), closing, {}).reaction_tolerance_ns(), 120'000u);
    closing = full_window(4);
    closing.messages = 2;
    closing.freed_ns = start + 1 * ms - 7 * us;
    EXPECT_EQ(one_gap(full_window(3), closing, {}).reaction_ns(),
              0u);  // the window was not full: the sender did not wait
}

TEST(Tolerance, FollowsTheFastReactions) {
    Attribution attribution;
    Situation packet = full_window(1);
    attribution.packet(packet, {});
    // every fourth reaction takes 10 µs, the others 60
    for (int i = 1; i <= 400; ++i) {
        packet.now_ns = start + i * ms;
        packet.freed_ns = packet.now_ns - (i % 4 == 0 ? 10 : 60) * us;
        attribution.packet(packet, {});
    }
    EXPECT_GE(attribution.reaction_tolerance_ns(), 40'000u);
    EXPECT_LE(attribution.reaction_tolerance_ns(), 60'000u);
}

/// A ping of 20 ms whose sender mostly reacts in 10 µs, once in 4 ms.
TEST(Tolerance, IsAQuarterOfALongWait) {
    const auto state_after = [](std::int64_t reaction_ns, const AttributionOptions& options) {
        Attribution attribution;
        Situation packet = full_window(1);
        attribution.packet(packet, options);
        for (int i = 1; i <= 3; ++i) {
            packet.now_ns = start + i * 20 * ms;
            packet.inbound_ns = packet.now_ns - (i == 3 ? reaction_ns : 10 * us);
            attribution.packet(packet, options);
        }
        EXPECT_EQ(attribution.unsure_ns(), options.reaction_tolerance_ns == 0 ? 0u : 39'998'000u);
        return attribution.last_state();
    };
    EXPECT_EQ(state_after(4 * ms, {}), State::peer_wait);
    EXPECT_EQ(state_after(6 * ms, {}), State::application_idle);
    EXPECT_EQ(state_after(4 * ms, ten_us), State::application_idle);
}

TEST(Tolerance, DoubtIsTheTimeThatHalfOrTwiceOfItWouldNameOtherwise) {
    Situation closing = full_window(4);
    closing.messages = 3;
    const auto unsure = [&](std::int64_t reaction_ns) {
        closing.freed_ns = start + 1 * ms - reaction_ns;
        return one_gap(full_window(4), closing).unsure_ns();
    };
    EXPECT_EQ(unsure(5 * us), 0u);
    EXPECT_EQ(unsure(5 * us + 1), 999'000u);
    EXPECT_EQ(unsure(10 * us), 999'000u);
    EXPECT_EQ(unsure(20 * us), 999'000u);
    EXPECT_EQ(unsure(20 * us + 1), 0u);
    closing.credit_exhausted = true;  // decided before any tolerance is asked
    EXPECT_EQ(unsure(10 * us), 0u);
}

}  // namespace
