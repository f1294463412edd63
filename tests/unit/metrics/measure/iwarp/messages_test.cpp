#include <gtest/gtest.h>

#include "script.h"

/// What FPDUs become: the octets are written out here, an FPDU of n octets of payload takes n + 14 (tagged) or n + 18
/// (untagged) + 2, padded to a multiple of four, + 4.
namespace {

using namespace metrics;
using namespace stream_test;

TEST(Messages, a_tcp_connection_without_rdma_leaves_nothing) {
    Script script;
    script.handshake();
    script.data(true, Octets(100, std::byte{'x'}));
    script.data(false, Octets(100, std::byte{'y'}));
    script.ack(true, script.sent(false));
    EXPECT_EQ(script.flows(), 0u);
}

TEST(Messages, both_directions_are_flows_of_a_pair_from_their_first_frames_on) {
    Script script;
    script.establish();
    ASSERT_NE(script.flow(true), nullptr);
    ASSERT_NE(script.flow(false), nullptr);
    EXPECT_EQ(script.flow(true)->id, 4u);
    EXPECT_EQ(script.flow(false)->id, 5u);
    EXPECT_EQ(script.flow(true)->pairing, PairingMethod::tcp);
    EXPECT_EQ(script.flow(true)->pairing_percent, 100);
    EXPECT_EQ(&script.store.table[script.flow(true)->reverse], script.flow(false));
    EXPECT_EQ(script.shown(true).tcp->handshake_ns, 200'000u);
    EXPECT_EQ(script.shown(true).tcp->mss, 1460u);
    // SYN -> SYN ACK is the way to the server and back, SYN ACK -> ACK that to the client.
    EXPECT_EQ(script.flow(true)->request.round_trip_min_ns, 100'000u);
    EXPECT_EQ(script.flow(false)->request.reaction_min_ns, 100'000u);
}

TEST(Messages, flows_that_one_frame_is_the_first_of_have_ids_of_their_own) {
    Script script;
    script.handshake();
    // The client's request is missing, so what follows it waits. The server's reply acknowledges both: now the client's
    // FPDU is read, and both directions are met in the reply's frame.
    const Octets sent = send_of(1, 100) + send_of(2, 100);
    script.segment(true, 20, sent, 0);
    ASSERT_EQ(script.flows(), 0u);
    script.segment(false, 0, mpa_start(false), 20 + static_cast<std::int64_t>(sent.size()));
    ASSERT_NE(script.flow(true), nullptr);
    ASSERT_NE(script.flow(false), nullptr);
    EXPECT_EQ(first_frame_of(script.flow(true)->id), 5u);
    EXPECT_EQ(first_frame_of(script.flow(false)->id), 5u);
    EXPECT_NE(script.flow(true)->id, script.flow(false)->id);
    EXPECT_EQ(std::min(script.flow(true)->id, script.flow(false)->id), 5u);
}

TEST(Messages, sends_and_writes_count_when_their_last_segment_passes) {
    Script script;
    script.establish();
    script.data(true, send_of(1, 100, false));
    EXPECT_EQ(script.messages(true, Operation::send), 0u);
    EXPECT_EQ(script.flow(true)->ledger.messages(), 1u);
    script.after_us(10);
    script.data(true, send_of(1, 60, true, 100));
    EXPECT_EQ(script.messages(true, Operation::send), 1u);
    EXPECT_EQ(script.bytes(true, Operation::send), 160u);
    script.after_us(10);
    script.data(true, write_of(5, 0, 200, false) + write_of(5, 200, 50) + write_of(6, 0, 7));
    EXPECT_EQ(script.messages(true, Operation::write), 2u);
    EXPECT_EQ(script.bytes(true, Operation::write), 257u);
    EXPECT_EQ(script.flow(true)->counts.payload_bytes, 417u);
    EXPECT_EQ(script.flow(true)->ledger.messages(), 3u);
    EXPECT_EQ(script.shown(true).messages_max, 3u);
    EXPECT_EQ(script.shown(true).bytes_max, 417u);
    script.after_us(30);
    script.ack(false, script.sent(true));
    EXPECT_EQ(script.flow(true)->ledger.messages(), 0u);
    EXPECT_EQ(script.latency(true, Operation::send).max(), 40'000u);
    EXPECT_EQ(script.latency(true, Operation::write).count(), 2u);
    EXPECT_EQ(script.latency(true, Operation::write).min(), 30'000u);
    EXPECT_EQ(script.histogram(true, FlowHistogram::message_bytes).max(), 250u);
    // first FPDU -> last FPDU of the Send alone: the Write came in one segment
    EXPECT_EQ(script.histogram(true, FlowHistogram::message_duration).count(), 1u);
    EXPECT_EQ(script.histogram(true, FlowHistogram::message_duration).max(), 10'000u);
}

TEST(Messages, an_invalidating_send_is_one) {
    Script script;
    script.establish();
    script.data(true, send_of(1, 10, true, 0, 4) + send_of(2, 10, true, 0, 5) + send_of(3, 10, true, 0, 6));
    EXPECT_EQ(script.messages(true, Operation::send_invalidate), 2u);
    EXPECT_EQ(script.messages(true, Operation::send), 1u);
}

TEST(Messages, immediate_data_belongs_to_the_write_before_it) {
    Script script;
    script.establish();
    script.data(true, write_of(5, 0, 40));
    EXPECT_EQ(script.messages(true, Operation::write), 1u);
    script.after_us(10);
    script.data(true, immediate(1));
    EXPECT_EQ(script.messages(true, Operation::write), 0u);
    EXPECT_EQ(script.bytes(true, Operation::write), 0u);
    EXPECT_EQ(script.messages(true, Operation::write_immediate), 1u);
    EXPECT_EQ(script.bytes(true, Operation::write_immediate), 40u);
    EXPECT_EQ(script.flow(true)->ledger.messages(), 1u);
    script.data(true, immediate(2));
    EXPECT_EQ(script.messages(true, Operation::send_immediate), 1u);
    script.after_us(20);
    script.ack(false, script.sent(true));
    EXPECT_EQ(script.latency(true, Operation::write_immediate).max(), 20'000u);
    EXPECT_EQ(script.latency(true, Operation::write).count(), 0u);
    EXPECT_EQ(script.flow(true)->ledger.messages(), 0u);
}

/// A Write may be acknowledged before it is known what it was.
TEST(Messages, latency_is_of_what_the_write_turns_out_to_be) {
    Script script;
    script.establish();
    const auto acknowledged = [&script](std::int64_t us) {
        script.after_us(us);
        script.ack(false, script.sent(true));
    };
    script.data(true, write_of(5, 0, 40));
    acknowledged(30);
    EXPECT_EQ(script.latency(true, Operation::write).max(), 30'000u) << "as far as is known";
    script.data(true, immediate(1));
    acknowledged(20);
    EXPECT_EQ(script.latency(true, Operation::write).count(), 0u);
    EXPECT_EQ(script.latency(true, Operation::write_immediate).count(), 1u);
    EXPECT_EQ(script.latency(true, Operation::write_immediate).max(), 30'000u);
    script.data(true, write_of(5, 0, 40));
    acknowledged(50);
    script.data(true, immediate(2));
    EXPECT_EQ(script.latency(true, Operation::write_immediate).count(), 2u);

    // What does not belong to a Write leaves the Write what it was.
    for (const bool read : {false, true}) {
        script.data(true, write_of(5, 0, 40));
        acknowledged(70);
        script.data(true, read ? read_request(1, 10) : send_of(3, 10));
        script.data(true, immediate(read ? 6 : 4));
        acknowledged(10);
    }
    EXPECT_EQ(script.messages(true, Operation::write), 2u);
    EXPECT_EQ(script.latency(true, Operation::write).count(), 2u);
    EXPECT_EQ(script.latency(true, Operation::write).min(), 70'000u);
    EXPECT_EQ(script.latency(true, Operation::write_immediate).count(), 2u);
    EXPECT_EQ(script.latency(true, Operation::send_immediate).count(), 2u);
    EXPECT_EQ(script.flow(true)->ledger.messages(), 0u);
}

TEST(Messages, a_read_waits_for_its_response_not_for_the_acknowledgement) {
    Script script;
    script.establish();
    script.data(true, read_request(1, 3000));
    script.after_us(5);
    script.data(true, send_of(1, 10));
    script.after_us(15);
    script.ack(false, script.sent(true));
    EXPECT_EQ(script.latency(true, Operation::send).max(), 15'000u);
    EXPECT_EQ(script.messages(true, Operation::read), 1u);
    EXPECT_EQ(script.bytes(true, Operation::read), 3000u);
    EXPECT_EQ(script.latency(true, Operation::read).count(), 0u);
    EXPECT_EQ(script.shown(true).responses_max, 1u);
    EXPECT_EQ(script.shown(true).messages_max, 2u);
    script.after_us(30);
    script.data(false, read_response(7, 0, 1000, false));
    script.after_us(40);
    script.data(false, read_response(7, 1000, 2000));
    EXPECT_EQ(script.histogram(true, FlowHistogram::first_response).max(), 50'000u);
    EXPECT_EQ(script.latency(true, Operation::read).max(), 90'000u);
    EXPECT_EQ(script.flow(false)->counts.payload_bytes, 3000u);
    EXPECT_EQ(script.messages(false, Operation::write), 0u);
    // outstanding: the READ for 90 µs, the Send for 15, of the 290 µs since the MPA request
    script.ack(true, script.sent(false));
    const double wall_us = 290;
    EXPECT_NEAR(script.shown(true).messages_mean, (90 + 15) / wall_us, 1e-9);
}

TEST(Messages, reads_of_nothing_and_several_at_once_are_answered_in_order) {
    Script script;
    script.establish();
    script.data(true, read_request(1, 0) + read_request(2, 8));
    script.after_us(10);
    script.data(true, atomic_request(3, true, 77) + atomic_request(4, false, 78));
    EXPECT_EQ(script.shown(true).responses_max, 4u);
    script.after_us(10);
    script.data(false, read_response(7, 0, 0));
    script.after_us(10);
    script.data(false, read_response(7, 0, 8));
    script.after_us(10);
    script.data(false, atomic_response(1, 77) + atomic_response(2, 78));
    EXPECT_EQ(script.latency(true, Operation::read).min(), 20'000u);
    EXPECT_EQ(script.latency(true, Operation::read).max(), 30'000u);
    EXPECT_EQ(script.latency(true, Operation::compare_swap).max(), 30'000u);
    EXPECT_EQ(script.latency(true, Operation::fetch_add).max(), 30'000u);
    EXPECT_EQ(script.bytes(true, Operation::fetch_add), 8u);
    EXPECT_EQ(script.messages(true, Operation::read), 2u);
}

/// Two responses to requests that passed before the capture began must not be taken for answers to those seen.
TEST(Messages, responses_to_requests_before_the_capture_are_told_by_what_they_acknowledge) {
    Script script;
    script.establish();
    const std::int64_t before = script.sent(true);
    script.data(true, read_request(1, 500));
    script.after_us(10);
    script.segment(false, script.sent(false), read_response(7, 0, 300), before);
    EXPECT_EQ(script.latency(true, Operation::read).count(), 0u);
    EXPECT_EQ(script.messages(true, Operation::read), 2u) << "the unseen request counts when it is answered";
    EXPECT_EQ(script.bytes(true, Operation::read), 800u);
    script.after_us(10);
    script.data(false, read_response(7, 0, 500));
    EXPECT_EQ(script.latency(true, Operation::read).max(), 20'000u);
    EXPECT_EQ(script.messages(true, Operation::read), 2u);
}

TEST(Messages, a_terminate_is_shown_with_what_it_says) {
    Script script;
    script.establish();
    script.data(false, terminate(1, 2, 5));
    EXPECT_EQ(script.value_max(false, EventKind::terminate), 0x1205u);
    EXPECT_EQ(script.store.trouble_of(*script.flow(false))->terminates, 1u);
}

TEST(Messages, an_fpdu_with_a_wrong_crc_is_damage_and_no_message) {
    Script script;
    script.establish();
    Octets bad = send_of(1, 100);
    bad[40] ^= std::byte{1};
    script.data(true, bad);
    EXPECT_EQ(script.flow(true)->counts.crc_bad, 1u);
    EXPECT_EQ(script.count(true, EventKind::crc_bad), 1u);
    EXPECT_EQ(script.messages(true, Operation::send), 0u);
}

/// The receiver drops the segment for its TCP checksum; what it held comes again.
TEST(Messages, damage_that_tcp_finds_counts_once_and_its_repetition_is_a_retransmission) {
    Script script;
    script.establish();
    script.data(true, send_of(1, 100));
    Octets bad = send_of(2, 100);
    bad[40] ^= std::byte{1};
    Extras extras;
    extras.wrong_checksum = true;
    const std::int64_t at = script.sent(true);
    script.data(true, bad, extras);
    EXPECT_EQ(script.flow(true)->counts.crc_bad, 1u);
    script.after_us(300'000);
    script.segment(true, at, send_of(2, 100), script.sent(false));
    EXPECT_EQ(script.messages(true, Operation::send), 2u);
    EXPECT_EQ(script.flow(true)->request.repeated, 1u);
    EXPECT_EQ(script.flow(true)->counts.crc_bad, 1u);
}

TEST(Messages, an_fpdu_over_two_segments_is_in_mid_message_between_them) {
    Script script;
    script.establish();
    const Octets whole = send_of(1, 2000);
    script.data(true, Octets(whole.begin(), whole.begin() + 1000));
    script.after_us(70);
    script.data(true, Octets(whole.begin() + 1000, whole.end()));
    EXPECT_EQ(script.messages(true, Operation::send), 1u);
    EXPECT_EQ(script.flow(true)->attribution.last_gap_ns(), 70'000u);
    EXPECT_EQ(script.flow(true)->attribution.last_state(), State::nic_stall);
}

/// A Write of three FPDUs of 100 octets each, 10 us apart: 300 octets, 20 us. An FPDU takes 2 + 14 + 100 + 4 = 120.
void write_in_three(Script& script, unsigned captured = 0b111) {
    for (unsigned i = 0; i < 3; ++i) {
        const Octets octets = write_of(5, 100 * i, 100, i == 2);
        if ((captured >> i & 1) != 0)
            script.data(true, octets);
        else
            script.skip(true, octets.size());
        script.after_us(10);
    }
}

TEST(Messages, a_write_that_the_capture_cut_goes_on_but_has_no_size_and_no_duration) {
    Script script;
    script.establish();
    write_in_three(script);
    script.ack(false, script.sent(true));
    write_in_three(script, 0b101);
    script.ack(false, script.sent(true));  // so the hole will not be filled
    write_in_three(script);
    script.ack(false, script.sent(true));
    script.finish();
    EXPECT_EQ(script.messages(true, Operation::write), 3u);
    EXPECT_EQ(script.bytes(true, Operation::write), 900u);
    EXPECT_EQ(script.flow(true)->counts.payload_bytes, 800u);
    EXPECT_EQ(script.shown(true).message_bytes.count(), 2u);
    EXPECT_EQ(script.shown(true).message_bytes.min(), 300u);
    EXPECT_EQ(script.shown(true).message_bytes.max(), 300u);
    EXPECT_EQ(script.histogram(true, FlowHistogram::message_duration).count(), 2u);
    EXPECT_EQ(script.histogram(true, FlowHistogram::message_duration).min(), 20'000u);
    EXPECT_EQ(script.histogram(true, FlowHistogram::message_duration).max(), 20'000u);
}

/// One ends in the hole, the next begins in it, at the same place.
TEST(Messages, writes_are_not_joined_over_a_hole_that_one_of_them_lies_behind) {
    Script script;
    script.establish();
    write_in_three(script);
    script.ack(false, script.sent(true));
    write_in_three(script, 0b011);
    write_in_three(script, 0b110);
    script.ack(false, script.sent(true));
    write_in_three(script);
    script.ack(false, script.sent(true));
    script.finish();
    EXPECT_EQ(script.messages(true, Operation::write), 3u) << "of one the end was not seen";
    EXPECT_EQ(script.bytes(true, Operation::write), 800u);
    EXPECT_EQ(script.shown(true).message_bytes.count(), 2u);
    EXPECT_EQ(script.shown(true).message_bytes.min(), 300u);
    EXPECT_EQ(script.histogram(true, FlowHistogram::message_duration).count(), 2u);
}

/// The capture begins in the midst of a Write, or of a Send, which others follow.
TEST(Messages, the_message_that_the_capture_begins_in_has_no_size) {
    Script writes;
    writes.skip(true, 5000);
    write_in_three(writes, 0b110);
    for (unsigned i = 0; i < 5; ++i) write_in_three(writes);
    writes.finish();
    EXPECT_EQ(writes.messages(true, Operation::write), 6u);
    EXPECT_EQ(writes.bytes(true, Operation::write), 1700u);
    EXPECT_EQ(writes.shown(true).message_bytes.count(), 5u);
    EXPECT_EQ(writes.shown(true).message_bytes.min(), 300u);
    EXPECT_EQ(writes.histogram(true, FlowHistogram::message_duration).count(), 5u);
    EXPECT_EQ(writes.histogram(true, FlowHistogram::message_duration).min(), 20'000u);
    Script sends;
    sends.skip(true, 5000);
    for (std::uint32_t i = 0; i < 6; ++i) {
        if (i != 0) sends.data(true, send_of(1 + i, 100, false));
        sends.after_us(10);
        sends.data(true, send_of(1 + i, 100, false, 100));
        sends.after_us(10);
        sends.data(true, send_of(1 + i, 100, true, 200));
    }
    sends.finish();
    EXPECT_EQ(sends.messages(true, Operation::send), 6u);
    EXPECT_EQ(sends.bytes(true, Operation::send), 1800u);
    EXPECT_EQ(sends.shown(true).message_bytes.count(), 5u);
    EXPECT_EQ(sends.histogram(true, FlowHistogram::message_duration).min(), 20'000u);
}

/// FPDUs are known for what they are after a few of them only.
TEST(Messages, a_connection_met_in_the_middle_counts_from_the_first_message_that_ends) {
    Script middle;
    middle.after_us(1'000'000);
    for (std::uint32_t i = 0; i < 20; ++i) {
        middle.after_us(100);
        middle.segment(true, 5000 + 124 * i, send_of(50 + i, 100), 20);
        middle.after_us(50);
        middle.segment(false, 20, {}, 5000 + 124 * (i + 1));
    }
    ASSERT_NE(middle.flow(true), nullptr);
    EXPECT_EQ(middle.messages(true, Operation::send), 20u);
    EXPECT_EQ(middle.bytes(true, Operation::send), 2000u);
    EXPECT_EQ(middle.flow(true)->request.repeated, 0u);
    EXPECT_EQ(middle.flow(true)->request.missing, 0u);
    EXPECT_EQ(middle.count(true, EventKind::ack_unseen), 0u);
    EXPECT_EQ(middle.flow(true)->ledger.messages(), 0u);
}

}  // namespace
