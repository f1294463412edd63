/// What the sum must be whatever comes.
#include <algorithm>
#include <gtest/gtest.h>
#include <initializer_list>

#include "situations.h"

namespace {

using namespace attribution_test;

TEST(Sum, OpenGapIsNamedProvisionally) {
    Attribution attribution;
    EXPECT_EQ(sum(attribution.states(start, 1)), 0u);
    EXPECT_FALSE(attribution.started());
    attribution.packet(at(0), ten_us);
    EXPECT_EQ(attribution.first_ns(), start);
    EXPECT_EQ(attribution.states(start + 5, 1)[index_of(State::application_in_flight)], 5u);
    EXPECT_EQ(attribution.states(start + 5, 0)[index_of(State::application_idle)], 5u);
    EXPECT_EQ(sum(attribution.states(start - 5, 0)), 0u);
}

TEST(Sum, TimeThatGoesBackClosesGapsOfZero) {
    Attribution attribution;
    attribution.packet(at(10 * us), ten_us);
    attribution.packet(at(5 * us), ten_us);
    EXPECT_EQ(attribution.last_ns(), start + 10 * us);
    attribution.packet(at(12 * us), ten_us);
    EXPECT_EQ(sum(attribution.states(start + 12 * us, 0)), 2'000u);
}

/// xorshift64: the same situations everywhere.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_{seed} {}
    std::uint64_t operator()() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }
    std::uint64_t below(std::uint64_t limit) { return (*this)() % limit; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    template <class T>
    T of(std::initializer_list<T> values) {
        return values.begin()[below(values.size())];
    }

private:
    std::uint64_t state_;
};

Situation any_situation(Random& random, std::int64_t& now_ns) {
    // steps of ns to s, some back, now and then a jump to anywhere
    if (random.one_in(200)) {
        now_ns = static_cast<std::int64_t>(random());
    } else {
        const std::uint64_t step = random() >> random.of({34U, 44U, 54U, 60U});
        now_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(now_ns) + (random.one_in(8) ? 0 - step : step));
    }
    const auto some_time = [&] {
        if (random.one_in(4)) return Situation::never;
        if (random.one_in(30)) return static_cast<std::int64_t>(random());
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(now_ns) - (random() >> 48));
    };
    Situation situation;
    situation.now_ns = now_ns;
    situation.wire_bytes = static_cast<std::uint32_t>(random() >> random.of({32U, 52U}));
    situation.again = random.one_in(5);
    situation.cause = random.one_in(5) ? static_cast<RepeatCause>(random.below(4)) : RepeatCause::none;
    situation.mid_message = random.one_in(2);
    situation.response = random.one_in(5);
    situation.unobserved = random.one_in(20);
    situation.wants_response = random.one_in(3);
    situation.messages = random.of({0U, 1U, 2U, 7U, UINT32_MAX});
    situation.messages_max = random.of({1U, 2U, 8U, UINT32_MAX});
    situation.bytes = random();
    situation.bytes_max = random();
    situation.responses = random.of({0U, 1U, 2U, UINT32_MAX});
    situation.responses_max = random.of({0U, 1U, 3U});
    situation.responses_limit = random.of({0U, 0U, 1U, 3U});
    situation.freed_ns = some_time();
    situation.response_ns = some_time();
    situation.inbound_ns = some_time();
    situation.signal_ns = some_time();
    situation.credit_exhausted = random.one_in(20);
    situation.paused = random.one_in(20);
    situation.byte_window = random.one_in(3);
    situation.sibling_bytes = random() >> random.of({0U, 30U, 50U});
    situation.link_bits_per_sec = random.of<std::uint64_t>({0, 1, gigabit, 100 * gigabit, UINT64_MAX});
    situation.round_trip_min_ns = random.of<std::uint64_t>({0, 1000, 1'000'000, UINT64_MAX});
    situation.sender_round_trip_min_ns = random.of<std::uint64_t>({0, 1000, 1'000'000, UINT64_MAX});
    return situation;
}

TEST(Sum, IsTheWallTimeWhateverComes) {
    unsigned states_seen = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Random random{seed * 0x9e3779b97f4a7c15U};
        AttributionOptions options;
        options.reaction_tolerance_ns = random.of<std::uint64_t>({0, 0, 5'000, UINT64_MAX});
        options.congestion_memory_ns = random.of<std::uint64_t>({0, 300'000'000, UINT64_MAX});
        Attribution attribution;
        auto now_ns = static_cast<std::int64_t>(random());
        std::int64_t first_ns = 0, last_ns = 0;
        for (unsigned i = 0; i < 500; ++i) {
            const Situation situation = any_situation(random, now_ns);
            if (i == 0) first_ns = last_ns = situation.now_ns;
            last_ns = std::max(last_ns, situation.now_ns);
            if (i > 0 && random.one_in(3))
                attribution.at_once(situation.now_ns, situation.wire_bytes, situation.link_bits_per_sec,
                                    situation.freed_ns, 1, 0, situation.mid_message);
            attribution.packet(situation, options);
            ASSERT_EQ(attribution.first_ns(), first_ns);
            ASSERT_EQ(attribution.last_ns(), last_ns);
            const StateTimes times = attribution.states(last_ns, 0);
            // modulo 2^64, in which a wall time of 64 bits fits
            ASSERT_EQ(sum(times), static_cast<std::uint64_t>(last_ns) - static_cast<std::uint64_t>(first_ns))
                << "seed " << seed << " packet " << i;
            for (const std::uint64_t time : times) ASSERT_LE(time, sum(times));
            ASSERT_LE(attribution.unsure_ns(), sum(times));
            ASSERT_LE(attribution.queueing_ns(), times[index_of(State::ack_window)]);
            states_seen |= 1U << index_of(attribution.last_state());
        }
    }
    EXPECT_EQ(states_seen, (1U << metrics::state_count) - 1) << "a state that no situation has led to";
}

/// What at_once() takes, packet() would have done: then, and to all that comes later.
TEST(Sum, IsTheSameWithoutASituation) {
    unsigned taken = 0;
    unsigned waited = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Random random{seed * 0x9e3779b97f4a7c15U};
        AttributionOptions options;
        options.reaction_tolerance_ns = random.of<std::uint64_t>({0, 0, 5'000});
        Attribution slow, quick;
        std::int64_t now_ns = start;
        for (unsigned i = 0; i < 500; ++i) {
            Situation situation = any_situation(random, now_ns);
            situation.sender_round_trip_min_ns = 0;  // is a TCP sender's
            if (random.one_in(2)) {
                // Soon after the last, and of the kind that at_once() is asked about.
                now_ns = situation.now_ns = slow.last_ns() + static_cast<std::int64_t>(random.below(1500));
                situation.again = situation.response = situation.unobserved = situation.wants_response = false;
                situation.credit_exhausted = situation.byte_window = false;
                situation.cause = RepeatCause::none;
                situation.signal_ns = slow.signal_ns();
                if (random.one_in(2))
                    situation.freed_ns = situation.response_ns = situation.inbound_ns = situation.credit_freed_ns =
                        slow.last_ns() - 1;
                situation.wire_bytes = static_cast<std::uint32_t>(random.of({90U, 1098U}));
                situation.link_bits_per_sec = random.of<std::uint64_t>({0, 25 * gigabit});
                const std::int64_t news_ns = std::max(
                    {situation.freed_ns, situation.response_ns, situation.inbound_ns, situation.credit_freed_ns});
                if (quick.at_once(situation.now_ns, situation.wire_bytes, situation.link_bits_per_sec, news_ns,
                                  situation.messages, situation.responses, situation.mid_message)) {
                    ++taken;
                    waited += quick.last_state() == State::application_in_flight;
                } else {
                    quick.packet(situation, options);
                }
            } else {
                quick.packet(situation, options);
            }
            slow.packet(situation, options);
            ASSERT_EQ(quick.states(now_ns, 1), slow.states(now_ns, 1)) << "seed " << seed << " packet " << i;
            ASSERT_EQ(quick.last_state(), slow.last_state());
            ASSERT_EQ(quick.last_gap_ns(), slow.last_gap_ns());
            ASSERT_EQ(quick.last_ns(), slow.last_ns());
            ASSERT_EQ(quick.unsure_ns(), slow.unsure_ns());
            ASSERT_EQ(quick.queueing_ns(), slow.queueing_ns());
            ASSERT_EQ(quick.reaction_tolerance_ns(), slow.reaction_tolerance_ns());
            if (random.one_in(4)) {
                slow.freed(now_ns);
                quick.freed(now_ns);
            }
        }
    }
    EXPECT_GT(taken, 1000u);
    EXPECT_GT(waited, 1000u);
}

}  // namespace
