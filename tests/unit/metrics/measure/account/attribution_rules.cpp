/// Each rule by a situation worked out by hand.
#include <gtest/gtest.h>

#include "situations.h"

namespace {

using namespace attribution_test;

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

/// 5 ms after each answer, which itself takes 25 µs: a timer, unless the sender is known to be 1 ms or more away.
TEST(Rules, AHabitIsNoEchoUnlessTheSenderIsFar) {
    struct Way {
        std::uint64_t round_trip_ns;
        std::uint64_t distance_ns;
        State state;
    };
    for (const Way way : {Way{0, 0, State::application_idle}, Way{10'000, 10'000, State::application_idle},
                          Way{4'000'000, 4'000'000, State::ack_window},
                          Way{4'000'000, 0, State::application_idle}}) {  // its application's data measured it
        Attribution attribution;
        Situation packet = full_window(1);
        packet.link_bits_per_sec = 0;
        packet.sender_round_trip_min_ns = way.round_trip_ns;
        packet.sender_distance_ns = way.distance_ns;
        attribution.packet(packet, {});
        for (int i = 1; i < 40; ++i) {
            packet.now_ns = start + i * 5 * ms;
            packet.messages = 0;
            packet.freed_messages = 1;
            packet.freed_ns = packet.now_ns - 5 * ms + 25 * us;
            attribution.freed(packet.freed_ns);
            attribution.packet(packet, {});
        }
        EXPECT_EQ(attribution.last_state(), way.state) << way.round_trip_ns << ' ' << way.distance_ns;
    }
}

/// One message in `period_ns`, acknowledged after `answer_ns`, again and again; what the last gaps are.
State paced(std::int64_t period_ns, std::int64_t answer_ns, bool answered_by_message, std::int64_t answer_jitter_ns = 0,
            bool one_machine = false) {
    Attribution attribution;
    Situation packet = full_window(1);
    packet.link_bits_per_sec = 0;
    packet.one_machine = one_machine;
    attribution.packet(packet, {});
    for (int i = 1; i < 60; ++i) {
        packet.now_ns = start + i * period_ns;
        packet.messages = 0;
        packet.freed_messages = 1;
        packet.freed_ns = packet.now_ns - period_ns + answer_ns + (i % 2) * answer_jitter_ns;
        if (answered_by_message) packet.inbound_ns = packet.freed_ns;
        attribution.freed(packet.freed_ns);
        attribution.packet(packet, {});
    }
    return attribution.last_state();
}

TEST(Rules, AnswersInAHundredthOfTheGapWereNotWaitedFor) {
    EXPECT_EQ(paced(500 * us, 5 * us, false), State::application_idle);
    EXPECT_EQ(paced(500 * us, 5 * us, true), State::application_idle);
    EXPECT_EQ(paced(60 * ms, 75 * us, false), State::application_idle);
    EXPECT_EQ(paced(60 * ms, 75 * us, true), State::application_idle);
    // 5 µs of 400: only the habit speaks, for a window or for a timer.
    EXPECT_EQ(paced(400 * us, 5 * us, false), State::ack_window);
    EXPECT_EQ(paced(400 * us, 5 * us, true), State::peer_wait);
    // From 1 ms on, a twentieth.
    EXPECT_EQ(paced(1 * ms, 50 * us, false), State::application_idle);
}

/// Its answers take 5 or 8 µs, and the next message comes when it is due.
TEST(Rules, WhoKeepsABeatIsNotHeldByAcknowledgements) {
    EXPECT_NE(paced(400 * us, 5 * us, false, 3 * us), State::ack_window);
}

TEST(Rules, NothingIsFarAwayWithinOneMachine) { EXPECT_NE(paced(400 * us, 5 * us, false, 0, true), State::ack_window); }

/// Bursts of four, each message acknowledged by itself after 5 µs, the next burst 10 ms later.
TEST(Rules, APacedBurstIsNoWindow) {
    Attribution attribution;
    Situation packet = full_window(4);
    packet.link_bits_per_sec = 0;
    packet.now_ns = start;
    attribution.packet(packet, {});
    for (int i = 1; i < 40; ++i) {
        const std::int64_t before = start + (i - 1) * 10 * ms;
        for (int k = 0; k < 4; ++k) attribution.freed(before + (5 + k) * us);
        for (int k = 0; k < 4; ++k) {
            packet.now_ns = start + i * 10 * ms + k * us;
            packet.messages = static_cast<std::uint32_t>(k);
            packet.freed_messages = 1;
            packet.freed_ns = before + 8 * us;
            attribution.packet(packet, {});
            if (k == 0) {
                EXPECT_EQ(attribution.last_state(), State::application_idle) << i;
            }
        }
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

}  // namespace
