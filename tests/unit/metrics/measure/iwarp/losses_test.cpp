#include <gtest/gtest.h>

#include "script.h"

/// Octets that did not pass, or not before their acknowledgement: lost before the tap, by it, or stamped by another
/// clock. An FPDU of a Send of 100 octets takes 2 + 18 + 100 + 4 = 124.
namespace {

using namespace metrics;
using namespace stream_test;

constexpr std::int64_t unit = 124;
Octets message(std::uint32_t msn) { return send_of(msn, 100); }

/// The tap saw the second copy alone: the first was lost before it.
TEST(Sender, octets_lost_before_the_tap_are_missing_and_their_repetition_counts) {
    Script script;
    script.establish();
    const std::int64_t at = script.sent(true);
    script.data(true, message(1));
    script.after_us(10);
    script.segment(true, at + 2 * unit, message(3), script.sent(false));
    EXPECT_EQ(script.flow(true)->request.missing, 1u);
    EXPECT_EQ(script.value_max(true, EventKind::gap), 124u);
    script.after_us(100);
    script.ack(false, at + unit, sacked(at + 2 * unit, at + 3 * unit));
    script.after_us(100);
    script.ack(false, at + unit, sacked(at + 2 * unit, at + 3 * unit));
    script.after_us(100);
    script.segment(true, at + unit, message(2), script.sent(false));
    EXPECT_EQ(script.flow(true)->request.repeated, 1u);
    EXPECT_EQ(script.flow(true)->request.missing, 1u);
    EXPECT_EQ(script.flow(true)->request.reordered, 0u);
    EXPECT_EQ(script.messages(true, Operation::send), 3u);
    EXPECT_EQ(script.histogram(true, FlowHistogram::recovery_total).max(), 300'000u);
    EXPECT_EQ(script.count(true, EventKind::timeout), 0u);
}

/// 20 octets of the start frame each way, and three messages of 124: 412, in whatever order and pieces they pass.
TEST(Sender, octets_that_fill_a_hole_have_passed) {
    for (const bool late : {false, true}) {
        Script script;
        script.establish();
        const std::int64_t at = script.sent(true);
        script.data(true, message(1));
        script.after_us(10);
        script.segment(true, at + 2 * unit, message(3), script.sent(false));
        EXPECT_EQ(script.shown(true).tcp->connection_bytes, 288u);
        const Octets both = message(1) + message(2);
        script.after_us(late ? 1 : 300'000);
        // What was there before does not count once more: 60 octets of the first piece are new, the rest of the second.
        script.segment(true, at, Octets(both.begin(), both.begin() + unit + 60), script.sent(false));
        EXPECT_EQ(script.shown(true).tcp->connection_bytes, 348u);
        script.segment(true, at + unit + 60, Octets(both.begin() + unit + 60, both.end()), script.sent(false));
        EXPECT_EQ(script.shown(true).tcp->connection_bytes, 412u);
        script.segment(true, at + unit, message(2), script.sent(false));
        EXPECT_EQ(script.shown(true).tcp->connection_bytes, 412u);
        EXPECT_EQ(script.messages(true, Operation::send), 3u);
    }
}

/// The MSS is 1460, a message 124: six of them are one hole of 744 octets.
struct Six {
    Script script;
    std::int64_t at = 0;
    Six() {
        script.establish();
        for (std::uint32_t i = 1; i <= 6; ++i) script.data(true, message(i));  // 104 to 109, so that order is known
        at = script.sent(true);
    }
    void pass(std::uint32_t which, std::uint16_t identification) {
        Extras extras;
        extras.identification = identification;
        script.segment(true, at + which * unit, message(7 + which), script.sent(false), extras);
    }
};

TEST(Sender, late_segments_take_back_their_own_hole_and_no_other) {
    Six six;
    Script& script = six.script;
    // One is lost, and repaired by a timer: 110 never passes, 112 brings the same octets.
    six.pass(1, 111);
    EXPECT_EQ(script.flow(true)->request.missing, 1u);
    script.after_us(250'000);
    six.pass(0, 112);
    EXPECT_EQ(script.flow(true)->request.repeated, 1u);
    script.after_us(100);
    script.ack(false, script.sent(true));
    // Four that a fifth overtook: 113 to 116 after 117.
    six.pass(6, 117);
    EXPECT_EQ(script.flow(true)->request.missing, 5u);
    for (std::uint32_t i = 2; i < 6; ++i) six.pass(i, static_cast<std::uint16_t>(111 + i));
    EXPECT_EQ(script.flow(true)->request.reordered, 4u);
    EXPECT_EQ(script.flow(true)->request.missing, 1u);
}

TEST(Sender, segments_smaller_than_the_mss_are_missing_one_by_one) {
    Six six;
    Script& script = six.script;
    six.pass(6, 116);
    EXPECT_EQ(script.flow(true)->request.missing, 6u);
    script.after_us(250'000);
    for (std::uint32_t i = 0; i < 6; ++i) six.pass(i, static_cast<std::uint16_t>(117 + i));
    EXPECT_EQ(script.flow(true)->request.repeated, 6u);
    EXPECT_EQ(script.flow(true)->request.missing, 6u);

    // Lost by the capture, if they are acknowledged.
    Six captured;
    captured.pass(6, 116);
    captured.script.ack(false, captured.script.sent(true));
    EXPECT_EQ(captured.script.flow(true)->request.missing, 0u);
    EXPECT_EQ(captured.script.store.trouble_of(*captured.script.flow(true))->unseen_acknowledged, 6u);
}

/// A message of 744 + 24 octets has passed before: the hole is taken for one segment until six have filled it.
TEST(Sender, as_many_were_missing_as_fill_a_hole_one_by_one) {
    for (const bool late : {false, true}) {
        Script script;
        script.establish();
        script.data(true, send_of(1, 744));
        for (std::uint32_t i = 2; i <= 6; ++i) script.data(true, message(i));  // up to 109
        const std::int64_t at = script.sent(true);
        Extras extras;
        extras.identification = 116;
        script.segment(true, at + 6 * unit, message(13), script.sent(false), extras);
        EXPECT_EQ(script.flow(true)->request.missing, 1u);
        script.after_us(250'000);
        for (std::uint32_t i = 0; i < 6; ++i) {
            extras.identification = static_cast<std::uint16_t>((late ? 110 : 117) + i);
            script.segment(true, at + i * unit, message(7 + i), script.sent(false), extras);
        }
        EXPECT_EQ(script.flow(true)->request.reordered, late ? 6u : 0u);
        EXPECT_EQ(script.flow(true)->request.repeated, late ? 0u : 6u);
        EXPECT_EQ(script.flow(true)->request.missing, late ? 0u : 6u);
    }
}

/// The same six of which no segment after them passed: the acknowledgement alone shows them.
TEST(Sender, segments_acknowledged_and_never_seen_are_counted_as_those_of_a_hole) {
    Six six;
    six.script.ack(false, six.at + 6 * unit);
    EXPECT_EQ(six.script.store.trouble_of(*six.script.flow(true))->unseen_acknowledged, 6u);
    EXPECT_EQ(six.script.flow(true)->request.missing, 0u);
}

/// Of its sender's segments the start frame, 20 octets, shows nothing: the MSS does.
TEST(Sender, before_the_first_message_a_segment_is_taken_for_as_long_as_may_be) {
    Script script;
    script.establish();
    script.segment(true, script.sent(true) + 1400, message(2), script.sent(false));
    EXPECT_EQ(script.flow(true)->request.missing, 1u);
}

TEST(Sender, an_acknowledgement_of_octets_never_seen_says_so) {
    Script script;
    script.establish();
    script.data(true, message(1));
    script.ack(false, script.sent(true) + 2 * unit);
    EXPECT_EQ(script.store.trouble_of(*script.flow(true))->unseen_acknowledged, 2u)
        << "as long as its sender makes them";
    EXPECT_EQ(script.count(true, EventKind::ack_unseen), 1u);
    script.after_us(100);
    script.segment(true, script.sent(true) + 2 * unit, message(4), script.sent(false));
    EXPECT_EQ(script.flow(true)->attribution.last_state(), State::unobserved);
    EXPECT_EQ(script.flow(true)->request.missing, 0u);
}

/// An adapter with a clock for each queue stamps an acknowledgement before the segment that it covers.
TEST(Sender, a_segment_stamped_behind_its_acknowledgement_is_neither_lost_nor_sent_again) {
    Script script;
    script.establish();
    script.data(true, message(1));
    script.after_us(20);
    script.ack(false, script.sent(true));
    script.after_us(75);
    const std::int64_t at = script.sent(true);
    script.ack(false, at + unit);
    EXPECT_EQ(script.store.trouble_of(*script.flow(true))->unseen_acknowledged, 1u);
    script.after_us(5);
    script.segment(true, at, message(2), script.sent(false));
    EXPECT_EQ(script.store.trouble_of(*script.flow(true))->unseen_acknowledged, 0u);
    EXPECT_EQ(script.store.trouble_of(*script.flow(true))->timeouts, 0u);
    EXPECT_EQ(script.flow(true)->request.repeated, 0u);
    EXPECT_EQ(script.flow(true)->request.reordered, 0u);
    EXPECT_EQ(script.flow(true)->request.missing, 0u);
    EXPECT_FALSE(script.flow(true)->request.unobserved);
    EXPECT_EQ(script.flow(true)->attribution.last_gap_ns(), 100'000u);
    EXPECT_EQ(script.flow(true)->attribution.last_state(), State::application_idle);
    EXPECT_EQ(script.shown(true).tcp->retransmitted_bytes, 0u);
    EXPECT_EQ(script.shown(true).tcp->connection_bytes, 288u) << "20 each way, and two messages of 124";
    EXPECT_EQ(script.messages(true, Operation::send), 2u);
    EXPECT_EQ(script.latency(true, Operation::send).count(), 1u) << "of the second there is none";
    EXPECT_EQ(script.flow(true)->ledger.messages(), 0u);
    // Once there, it is sent again like any other.
    script.after_us(200);
    script.segment(true, at, message(2), script.sent(false));
    EXPECT_EQ(script.flow(true)->request.repeated, 1u);
}

TEST(Sender, several_segments_may_be_stamped_behind_their_acknowledgements) {
    Script script;
    script.establish();
    script.data(true, message(1));
    script.after_us(95);
    const std::int64_t at = script.sent(true);
    script.ack(false, at + unit);
    script.after_us(1);
    script.ack(false, at + 3 * unit);  // of two segments
    for (std::uint32_t i = 0; i < 3; ++i) {
        script.after_us(3);
        script.segment(true, at + i * unit, message(2 + i), script.sent(false));
        EXPECT_EQ(script.flow(true)->request.unobserved, i != 2);
        EXPECT_NE(script.flow(true)->attribution.last_state(), State::unobserved);
    }
    script.data(true, message(5));
    EXPECT_EQ(script.store.trouble_of(*script.flow(true))->unseen_acknowledged, 0u);
    EXPECT_EQ(script.flow(true)->request.repeated, 0u);
    EXPECT_EQ(script.flow(true)->request.reordered, 0u);
    EXPECT_EQ(script.messages(true, Operation::send), 5u);
    EXPECT_EQ(script.shown(true).tcp->connection_bytes, 40u + 5u * 124u);
}

/// Of three that were acknowledged the capture has lost the first: the gap before the second is not its sender's.
TEST(Sender, what_the_capture_lost_among_those_acknowledged_early_stays_unseen) {
    Script script;
    script.establish();
    script.data(true, message(1));
    script.after_us(95);
    const std::int64_t at = script.sent(true);
    for (std::uint32_t i = 1; i <= 3; ++i) script.ack(false, at + i * unit);
    script.after_us(5);
    script.segment(true, at + unit, message(3), script.sent(false));
    EXPECT_EQ(script.flow(true)->attribution.last_state(), State::unobserved);
    script.after_us(100);
    script.segment(true, at + 2 * unit, message(4), script.sent(false));
    EXPECT_NE(script.flow(true)->attribution.last_state(), State::unobserved);
    EXPECT_EQ(script.store.trouble_of(*script.flow(true))->unseen_acknowledged, 1u);
    EXPECT_EQ(script.flow(true)->request.repeated, 0u);
    // The first was late, if it comes now.
    script.after_us(100);
    script.segment(true, at, message(2), script.sent(false));
    EXPECT_EQ(script.store.trouble_of(*script.flow(true))->unseen_acknowledged, 0u);
    EXPECT_EQ(script.flow(true)->request.reordered, 1u);
    EXPECT_EQ(script.flow(true)->request.repeated, 0u);
}

/// A millisecond after its acknowledgement it is one that the capture had lost, sent again.
TEST(Sender, long_after_its_acknowledgement_a_segment_was_sent_again) {
    for (const bool early : {true, false}) {
        Script script;
        script.establish();
        script.data(true, message(1));
        script.after_us(100);
        const std::int64_t at = script.sent(true);
        script.ack(false, at + unit);
        script.now_ns += early ? 999'999 : 1'000'000;
        script.segment(true, at, message(2), script.sent(false));
        EXPECT_EQ(script.flow(true)->request.repeated, early ? 0u : 1u);
        EXPECT_EQ(script.store.trouble_of(*script.flow(true))->unseen_acknowledged, early ? 0u : 1u);
    }
}

TEST(Sender, early_acknowledgements_allocate_nothing) {
    Script script;
    script.establish();
    script.data(true, message(1));
    std::uint64_t allocations = 0;
    for (std::uint32_t i = 2; i < 100; ++i) {
        script.after_us(100);
        script.ack(false, script.sent(true) + unit);
        script.after_us(5);
        const bool lost = i == 50;
        if (lost)
            script.skip(true, unit);
        else
            script.data(true, message(i));
        if (i == 60) allocations = script.allocations;
    }
    EXPECT_EQ(script.allocations, allocations);
    EXPECT_EQ(script.store.trouble_of(*script.flow(true))->unseen_acknowledged, 1u);
    EXPECT_EQ(script.flow(true)->request.repeated, 0u);
}

TEST(Sender, a_hole_that_is_acknowledged_was_not_lost_on_the_way) {
    Script script;
    script.establish();
    const std::int64_t at = script.sent(true);
    script.data(true, message(1));
    script.segment(true, at + 2 * unit, message(3), script.sent(false));
    EXPECT_EQ(script.flow(true)->request.missing, 1u);
    script.ack(false, script.sent(true));
    EXPECT_EQ(script.flow(true)->request.missing, 0u);
    EXPECT_EQ(script.store.trouble_of(*script.flow(true))->unseen_acknowledged, 1u);
    script.finish();
    EXPECT_EQ(script.messages(true, Operation::send), 2u);
}

}  // namespace
