/// Each rule by a situation worked out by hand, and what the sum must be whatever comes.
#include <gtest/gtest.h>
#include <initializer_list>
#include <numeric>
#include <string>

#include "metrics/attribution/attribution.h"

namespace {

using metrics::Attribution;
using metrics::AttributionOptions;
using metrics::index_of;
using metrics::RepeatCause;
using metrics::Situation;
using metrics::State;
using metrics::StateTimes;

constexpr std::uint64_t gigabit = 1'000'000'000;
constexpr std::int64_t start = 1'700'000'000'000'000'000;  // ns since 1970
constexpr std::int64_t us = 1000;
constexpr std::int64_t ms = 1'000'000;

/// A packet of 1250 octets on a link of 10 Gbit/s: 1 µs of wire time. ε is 10 µs unless a test says otherwise.
Situation at(std::int64_t now_ns) {
    Situation situation;
    situation.now_ns = start + now_ns;
    situation.wire_bytes = 1250;
    situation.link_bits_per_sec = 10 * gigabit;
    return situation;
}
constexpr AttributionOptions ten_us{10'000};

std::uint64_t sum(const StateTimes& times) { return std::accumulate(times.begin(), times.end(), std::uint64_t{0}); }
std::uint64_t time_in(const Attribution& attribution, State state) {
    return attribution.states(attribution.last_ns(), 0)[index_of(state)];
}

/// The state of the gap of 1 ms between a first packet and one like `closing`.
Attribution one_gap(Situation first, Situation closing, const AttributionOptions& options = ten_us) {
    Attribution attribution;
    first.now_ns = start;
    closing.now_ns = start + 1 * ms;
    attribution.packet(first, options);
    attribution.packet(closing, options);
    EXPECT_EQ(sum(attribution.states(start + 1 * ms, 0)), 1'000'000u);
    return attribution;
}
State named(const Situation& first, const Situation& closing, const AttributionOptions& options = ten_us) {
    const Attribution attribution = one_gap(first, closing, options);
    EXPECT_EQ(attribution.last_gap_ns(), 999'000u);
    EXPECT_EQ(time_in(attribution, closing.again ? State::transmit_again : State::transmit_new), 1000u);
    EXPECT_EQ(time_in(attribution, attribution.last_state()), 999'000u);
    return attribution.last_state();
}

TEST(WireTime, RoundsUpAndKnowsItsLimits) {
    EXPECT_EQ(metrics::wire_time_ns(1250, 10 * gigabit), 1000u);
    EXPECT_EQ(metrics::wire_time_ns(1251, 10 * gigabit), 1001u);  // 1000.8
    EXPECT_EQ(metrics::wire_time_ns(4178, 100 * gigabit), 335u);  // 334.24
    EXPECT_EQ(metrics::wire_time_ns(1250, 0), 0u);
    EXPECT_EQ(metrics::wire_time_ns(0, gigabit), 0u);
    EXPECT_EQ(metrics::wire_time_ns(10'000'000'000, 8 * gigabit), 10'000'000'000u);  // beyond 64 bits on the way
    EXPECT_EQ(metrics::wire_time_ns(UINT64_MAX, 1), UINT64_MAX);
}

TEST(Transmit, TakesTheClosingPacketsWireTimeAtMost) {
    Attribution attribution;
    attribution.packet(at(0), ten_us);
    Situation next = at(700);
    next.mid_message = true;
    attribution.packet(next, ten_us);
    EXPECT_EQ(time_in(attribution, State::transmit_new), 700u);
    EXPECT_EQ(attribution.last_state(), State::transmit_new);
    EXPECT_EQ(attribution.last_gap_ns(), 700u);
    next = at(700 + 5000);
    next.mid_message = next.again = true;
    next.wire_bytes = 2500;
    attribution.packet(next, ten_us);
    EXPECT_EQ(time_in(attribution, State::transmit_again), 2000u);
    EXPECT_EQ(time_in(attribution, State::nic_stall), 3000u);
    EXPECT_EQ(sum(attribution.states(start + 5700, 0)), 5700u);
}

TEST(Transmit, IsUnknownWithTheLink) {
    Situation closing = at(0);
    closing.mid_message = true;
    closing.link_bits_per_sec = 0;
    const Attribution attribution = one_gap(at(0), closing);
    EXPECT_EQ(time_in(attribution, State::nic_stall), 1'000'000u);
}

TEST(Transmit, AsSoonAsTheLinkAllowsNeedsNoSituation) {
    constexpr std::int64_t never = Situation::never;
    Attribution slow, quick;
    slow.packet(at(0), ten_us);
    quick.packet(at(0), ten_us);
    Situation next = at(1000);
    next.mid_message = true;
    next.messages = 3;
    slow.packet(next, ten_us);
    EXPECT_TRUE(quick.at_once(start + 1000, 1250, 10 * gigabit, start + 500, 3, 0, true));
    EXPECT_EQ(quick.states(start + 1000, 0), slow.states(start + 1000, 0));
    EXPECT_FALSE(quick.at_once(start + 2001, 1250, 10 * gigabit, never, 3, 0, true));  // longer than the wire takes
    EXPECT_FALSE(quick.at_once(start + 2000, 1248, 10 * gigabit, never, 3, 0, true));  // takes 998.4 ns
    EXPECT_FALSE(quick.at_once(start + 999, 1250, 10 * gigabit, never, 3, 0, true));   // back in time
    EXPECT_EQ(quick.last_ns(), start + 1000);
    EXPECT_FALSE(Attribution{}.at_once(start, 1250, 10 * gigabit, never, 0, 0, true));
}

TEST(Rules, UnobservedComesFirst) {
    Situation closing = at(0);
    closing.unobserved = closing.again = true;
    closing.cause = RepeatCause::timeout;
    EXPECT_EQ(named(at(0), closing), State::unobserved);
}

TEST(Rules, RepetitionsByTheirCause) {
    Situation closing = at(0);
    closing.again = true;
    closing.credit_exhausted = true;
    closing.cause = RepeatCause::rnr_nak;
    EXPECT_EQ(named(at(0), closing), State::rnr_wait);
    closing.cause = RepeatCause::nak;
    EXPECT_EQ(named(at(0), closing), State::recover_nak);
    closing.cause = RepeatCause::timeout;
    EXPECT_EQ(named(at(0), closing), State::recover_timeout);
    closing.again = false;  // the tap had not seen it the first time
    EXPECT_EQ(named(at(0), closing), State::recover_timeout);
}

TEST(Rules, WithinARunOfRepetitionsNothingIsTheApplications) {
    Situation closing = at(0);
    closing.again = true;
    closing.messages = 1;
    EXPECT_EQ(named(at(0), closing), State::nic_stall);
}

Situation full_of_reads() {
    Situation first = at(0);
    first.wants_response = true;
    first.messages = first.responses = 15;
    first.messages_max = first.responses_max = 16;
    first.responses_limit = 16;
    return first;
}

TEST(Rules, ReadWindow) {
    const Situation first = full_of_reads();  // and itself: 16 when the gap began
    Situation closing = first;
    closing.response_ns = closing.freed_ns = start + 1 * ms - 4 * us;
    EXPECT_EQ(named(first, closing), State::read_window);
    closing.responses_limit = 0;  // the running maximum will do
    EXPECT_EQ(named(first, closing), State::read_window);
    closing.responses_limit = 17;  // there was room; but all that was ever outstanding is
    EXPECT_EQ(named(first, closing), State::ack_window);
    closing.responses_limit = 16;
    closing.response_ns = closing.freed_ns = start + 1 * ms - 40 * us;  // > ε: the application took its time
    EXPECT_EQ(named(first, closing), State::application_in_flight);
}

TEST(Rules, ReadsOneByOneAreAnAckWindow) {
    Situation first = at(0);
    first.wants_response = true;
    first.messages_max = first.responses_max = 1;
    Situation closing = first;
    closing.response_ns = closing.freed_ns = start + 1 * ms - 4 * us;
    EXPECT_EQ(named(first, closing), State::ack_window);
}

TEST(Rules, Credit) {
    Situation closing = at(0);
    closing.credit_exhausted = true;
    EXPECT_EQ(named(at(0), closing), State::credit);
}

Situation full_window(std::uint32_t depth) {
    Situation first = at(0);
    first.messages = depth - 1;
    first.messages_max = depth;
    return first;
}

TEST(Rules, AckWindow) {
    Situation closing = full_window(128);
    closing.messages = 28;  // one acknowledgement took a hundred
    closing.freed_ns = start + 1 * ms - 4 * us;
    EXPECT_EQ(named(full_window(128), closing), State::ack_window);
    EXPECT_EQ(named(full_window(127), closing), State::application_in_flight);  // there was room all the time
    closing.freed_ns = start + 1 * ms - 11 * us;
    EXPECT_EQ(named(full_window(128), closing), State::application_in_flight);
    closing.freed_ns = start - 1 * us;  // before the gap began: no reaction to it
    EXPECT_EQ(named(full_window(128), closing, {2'000'000}), State::application_in_flight);
}

/// Four at once, each acknowledged by itself within 3 µs, then 40 µs of thinking: three chances were let pass.
TEST(Rules, WhoThinksAfterABurstIsNotHeldByAWindow) {
    Attribution attribution;
    Situation packet = full_window(4);
    packet.link_bits_per_sec = 0;
    attribution.packet(packet, {});
    for (int i = 1; i < 20; ++i) {
        const std::int64_t burst = start + (i - 1) * 50 * us;
        for (int k = 0; k < 4; ++k) attribution.freed(burst + 2 * us + k * 300);
        packet.now_ns = start + i * 50 * us - (i % 7) * us;  // never the same time
        packet.messages = 0;
        packet.freed_messages = 1;
        packet.freed_ns = burst + 2 * us + 900;
        attribution.packet(packet, {});
        EXPECT_EQ(attribution.last_state(), State::application_idle) << i;
        packet.messages = 3;  // the rest of the burst
        attribution.packet(packet, {});
    }
    // One acknowledgement of all four, after the same time: there was no chance before.
    packet.now_ns += 40 * us;
    packet.messages = 0;
    packet.freed_messages = 4;
    packet.freed_ns = packet.now_ns - 19 * us;
    attribution.packet(packet, {});
    EXPECT_EQ(attribution.last_state(), State::ack_window);
}

/// At the receiver's tap: acknowledgements leave at once, requests follow them 30 µs later, whatever came in between.
TEST(Rules, AWindowIsKnownByItsEchoFarFromTheSender) {
    Attribution attribution;
    Situation packet = full_window(4);
    packet.link_bits_per_sec = 0;
    attribution.packet(packet, {});
    std::int64_t now_ns = start;
    for (int i = 1; i < 40; ++i) {
        attribution.freed(now_ns + 400);
        const std::int64_t other_ns = now_ns + (1 + i * 7 % 20) * us;
        attribution.freed(other_ns);
        now_ns += 30'400;
        packet.now_ns = now_ns;
        packet.messages = 0;
        packet.freed_messages = 1;
        packet.freed_ns = other_ns;
        attribution.packet(packet, {});
    }
    EXPECT_EQ(attribution.last_state(), State::ack_window);
    EXPECT_NEAR(static_cast<double>(attribution.echo_ns()), 30'000, 100);  // the other one drew it aside a little
}

/// A timer of 5 ms after each answer looks the same, but where the sender is known to be 10 µs away it is its habit.
TEST(Rules, AHabitIsNoEchoWhereTheSenderIsNear) {
    for (const std::uint64_t to_sender_ns : {0ull, 10'000ull, 1'000'000ull}) {
        Attribution attribution;
        Situation packet = full_window(1);
        packet.link_bits_per_sec = 0;
        packet.sender_round_trip_min_ns = to_sender_ns;
        attribution.packet(packet, {});
        for (int i = 1; i < 40; ++i) {
            packet.now_ns = start + i * 5 * ms;
            packet.messages = 0;
            packet.freed_messages = 1;
            packet.freed_ns = packet.now_ns - 5 * ms + 25 * us;
            attribution.freed(packet.freed_ns);
            attribution.packet(packet, {});
        }
        EXPECT_EQ(attribution.last_state(), to_sender_ns == 10'000 ? State::application_idle : State::ack_window)
            << to_sender_ns;
    }
}

TEST(Rules, AckWindowIsOfMessagesUnlessTheTransportCountsOctets) {
    Situation closing = full_window(4);
    closing.freed_ns = start + 1 * ms - 4 * us;
    closing.mid_message = true;
    EXPECT_EQ(named(full_window(4), closing), State::nic_stall);
    closing.byte_window = true;
    EXPECT_EQ(named(full_window(4), closing), State::ack_window);
}

TEST(Rules, QueueingIsWhatTheAcknowledgementTookLonger) {
    Situation closing = full_window(4);
    closing.freed_ns = start + 1 * ms - 4 * us;
    closing.round_trip_min_ns = 600'000;
    EXPECT_EQ(one_gap(full_window(4), closing).queueing_ns(), 396'000u);  // 1000 - 4 - 600 µs
    closing.round_trip_min_ns = 2'000'000;
    EXPECT_EQ(one_gap(full_window(4), closing).queueing_ns(), 0u);
    closing.round_trip_min_ns = 0;
    EXPECT_EQ(one_gap(full_window(4), closing).queueing_ns(), 0u);
}

TEST(Rules, CreditIsNamedUntilToleranceAfterItCameBack) {
    Situation closing = at(0);
    closing.credit_freed_ns = start + 1 * ms - 10 * us;
    EXPECT_EQ(named(at(0), closing), State::credit);
    closing.credit_freed_ns -= 1;
    EXPECT_EQ(named(at(0), closing), State::application_idle);
    closing.credit_freed_ns = start - 1;  // before the gap
    EXPECT_EQ(named(at(0), closing, {2'000'000}), State::application_idle);
}

TEST(Rules, LinkShared) {
    Situation closing = at(0);
    closing.mid_message = true;
    closing.sibling_bytes = 874'125;  // 699.3 µs of 999 µs: exactly 0.7
    EXPECT_EQ(named(at(0), closing, {10'000, 0, 0.7}), State::link_shared);
    closing.sibling_bytes = 873'000;
    EXPECT_EQ(named(at(0), closing, {10'000, 0, 0.7}), State::nic_stall);
    closing.sibling_bytes = 2'000'000;
    closing.mid_message = false;
    EXPECT_EQ(named(at(0), closing), State::application_idle);
}

TEST(Rules, CongestionPacedForAsLongAsTheRateRecovers) {
    Situation closing = at(0);
    closing.mid_message = true;
    closing.signal_ns = start + 1 * ms - 1'500'000;  // five periods of fast recovery
    EXPECT_EQ(named(at(0), closing), State::congestion_paced);
    closing.signal_ns -= 1;
    EXPECT_EQ(named(at(0), closing), State::nic_stall);
    closing.signal_ns = start + 999 * us;
    EXPECT_EQ(named(at(0), closing), State::congestion_paced);
    closing.paused = true;
    EXPECT_EQ(named(at(0), closing), State::nic_stall);
    closing.paused = false;
    closing.mid_message = false;
    EXPECT_EQ(named(at(0), closing), State::application_idle);
}

/// Signals a millisecond apart: 1.5 ms after the first, 3 after the second, 6, 12, at most what the options say.
TEST(Rules, CongestionIsRememberedTwiceAsLongAfterEachFurtherSignal) {
    const auto state_after = [](unsigned signals, std::int64_t age_ns, const AttributionOptions& options) {
        Attribution attribution;
        Situation packet = at(0);
        packet.mid_message = true;
        for (unsigned i = 0; i < signals; ++i) {
            packet.now_ns = packet.signal_ns = start + i * ms;
            attribution.packet(packet, options);
        }
        packet.now_ns += age_ns;
        attribution.packet(packet, options);
        return attribution.last_state();
    };
    EXPECT_EQ(state_after(2, 3 * ms, ten_us), State::congestion_paced);
    EXPECT_EQ(state_after(2, 3 * ms + 1, ten_us), State::nic_stall);
    EXPECT_EQ(state_after(4, 12 * ms, ten_us), State::congestion_paced);
    EXPECT_EQ(state_after(4, 12 * ms + 1, ten_us), State::nic_stall);
    EXPECT_EQ(state_after(40, 300 * ms, ten_us), State::congestion_paced);
    EXPECT_EQ(state_after(40, 300 * ms + 1, ten_us), State::nic_stall);
    EXPECT_EQ(state_after(40, 6 * ms, {10'000, 5'000'000}), State::nic_stall);
}

TEST(Rules, ApplicationAndPeer) {
    Situation closing = at(0);
    EXPECT_EQ(named(at(0), closing), State::application_idle);
    closing.messages = 1;
    closing.messages_max = 2;
    EXPECT_EQ(named(at(0), closing), State::application_in_flight);
    closing.messages = 0;
    closing.inbound_ns = start + 1 * ms - 10 * us;
    EXPECT_EQ(named(at(0), closing), State::peer_wait);
    closing.inbound_ns = start + 1 * ms - 11 * us;
    EXPECT_EQ(named(at(0), closing), State::application_idle);
}

/// ib_write_lat: what the peer's message ends is peer_wait, whenever the acknowledgement comes.
TEST(Rules, PingPong) {
    const Situation first = full_window(1);
    Situation closing = first;
    closing.inbound_ns = start + 1 * ms - 4 * us;
    for (const std::int64_t acknowledged : {start + 1 * us, start + 1 * ms - 5 * us, start + 1 * ms - 3 * us}) {
        closing.freed_ns = acknowledged;
        EXPECT_EQ(named(first, closing), State::peer_wait);
    }
    closing.freed_ns = Situation::never;
    closing.messages = 1;
    EXPECT_EQ(named(first, closing), State::peer_wait);
    closing.messages = 0;
    closing.freed_ns = start + 1 * ms - 4 * us;  // a stream of acknowledged messages without answers
    closing.inbound_ns = Situation::never;
    EXPECT_EQ(named(first, closing), State::ack_window);
}

/// With a window the peer's messages are not what was waited for, unless the window is empty and they came last.
TEST(Rules, TrafficInBothDirections) {
    Situation closing = full_window(16);
    closing.freed_ns = start + 1 * ms - 5 * us;
    closing.inbound_ns = start + 1 * ms - 4 * us;
    EXPECT_EQ(named(full_window(16), closing), State::ack_window);
    closing.messages = 0;
    EXPECT_EQ(named(full_window(16), closing), State::peer_wait);
    closing.inbound_ns = start + 1 * ms - 6 * us;
    EXPECT_EQ(named(full_window(16), closing), State::ack_window);
}

TEST(Rules, AResponderHasNoWindow) {
    Situation closing = full_window(1);
    closing.response = true;
    closing.freed_ns = start + 1 * ms - 4 * us;
    closing.inbound_ns = start + 1 * ms - 4 * us;
    EXPECT_EQ(named(full_window(1), closing), State::peer_wait);
    closing.inbound_ns = start + 1 * ms - 40 * us;
    EXPECT_EQ(named(full_window(1), closing), State::application_idle);
    closing.mid_message = true;
    EXPECT_EQ(named(full_window(1), closing), State::nic_stall);
}

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
    closing.inbound_ns = start + 1 * us;  // thirty times what the adapter needs
    closing.messages = 0;
    EXPECT_EQ(one_gap(full_window(4), closing, {}).reaction_tolerance_ns(), 120'000u);
    closing = full_window(4);
    closing.messages = 2;
    closing.freed_ns = start + 1 * ms - 7 * us;
    EXPECT_EQ(one_gap(full_window(3), closing, {}).reaction_ns(), 0u);  // the window was not full: nobody waited
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
