#include <gtest/gtest.h>

#include "script.h"

/// What TCP does under the messages. An FPDU of a Send of 100 octets takes 2 + 18 + 100 + 4 = 124.
namespace {

using namespace metrics;
using namespace stream_test;

constexpr std::int64_t unit_ns = 124;
Octets sent_message(std::uint32_t msn) { return send_of(msn, 100); }

TEST(Sender, silence_and_then_the_same_octets_is_a_timeout) {
    Script script;
    script.establish();
    const std::int64_t at = script.sent(true);
    script.data(true, sent_message(1));
    script.after_us(250'000);
    script.segment(true, at, sent_message(1), script.sent(false));
    EXPECT_EQ(script.flow(true)->request.repeated, 1u);
    EXPECT_EQ(script.shown(true).tcp->retransmitted_bytes, 124u);
    EXPECT_EQ(script.store.trouble_of(*script.flow(true))->timeouts, 1u);
    EXPECT_EQ(script.value_max(true, EventKind::timeout), 250'000'000u);
    EXPECT_EQ(script.flow(true)->attribution.last_state(), State::recover_timeout);
    EXPECT_EQ(script.messages(true, Operation::send), 1u);
    script.after_us(100);
    script.ack(false, script.sent(true));
    EXPECT_EQ(script.latency(true, Operation::send).count(), 0u) << "Karn";
    EXPECT_EQ(script.flow(true)->ledger.messages(), 0u);
}

TEST(Sender, three_duplicate_acknowledgements_explain_a_repetition) {
    Script script;
    script.establish();
    const std::int64_t at = script.sent(true);
    script.data(true, sent_message(1));
    script.data(true, sent_message(2) + sent_message(3) + sent_message(4));
    for (int i = 0; i < 4; ++i) {
        script.after_us(100);
        script.ack(false, at);
    }
    // the first acknowledges the MPA request and no more; three repeat it
    EXPECT_EQ(script.shown(true).tcp->duplicate_acks, 4u - (script.flow(true)->request.acknowledged == 0 ? 1 : 0) - 0u);
    script.segment(true, at, sent_message(1), script.sent(false));
    EXPECT_EQ(script.flow(true)->attribution.last_state(), State::recover_nak);
    EXPECT_EQ(script.count(true, EventKind::timeout), 0u);
    EXPECT_EQ(script.count(true, EventKind::retransmission), 1u);
}

TEST(Sender, a_changed_window_or_octets_make_no_duplicate_acknowledgement) {
    Script script;
    script.establish();
    const std::int64_t at = script.sent(true);
    script.data(true, sent_message(1));
    script.ack(false, at);
    const std::uint64_t before = script.shown(true).tcp->duplicate_acks;
    Extras window;
    window.window = 900;
    script.ack(false, at, window);
    EXPECT_EQ(script.shown(true).tcp->duplicate_acks, before);
    script.segment(false, script.sent(false), sent_message(1), at, window);
    EXPECT_EQ(script.shown(true).tcp->duplicate_acks, before);
    script.ack(false, at, window);
    EXPECT_EQ(script.shown(true).tcp->duplicate_acks, before + 1);
}

TEST(Sender, a_sack_explains_a_repetition_and_a_second_one_without_news_is_a_timeout) {
    Script script;
    script.establish();
    const std::int64_t at = script.sent(true);
    script.data(true, sent_message(1));
    script.data(true, sent_message(2));
    script.after_us(100);
    script.ack(false, at, sacked(at + unit_ns, at + 2 * unit_ns));
    EXPECT_EQ(script.shown(true).tcp->sack_blocks, 1u);
    script.after_us(10);
    script.segment(true, at, sent_message(1), script.sent(false));
    EXPECT_EQ(script.flow(true)->attribution.last_state(), State::recover_nak);
    script.after_us(200'000);
    script.segment(true, at, sent_message(1), script.sent(false));
    EXPECT_EQ(script.flow(true)->attribution.last_state(), State::recover_timeout);
    EXPECT_EQ(script.store.trouble_of(*script.flow(true))->timeouts, 1u);
    EXPECT_EQ(script.flow(true)->request.repeated, 2u);
}

/// Of twelve in flight the first is lost, and its fast retransmit: eleven repeat the acknowledgement, of which three
/// passed before the repeat. RFC 6582, 3.2: none of the others begins another one.
TEST(Sender, duplicates_from_the_flight_of_a_loss_explain_no_second_repetition) {
    for (const bool selective : {false, true}) {
        Script script;
        script.establish();
        const std::int64_t at = script.sent(true);
        script.ack(false, at);
        for (std::uint32_t i = 1; i <= 12; ++i) script.data(true, sent_message(i));
        script.after_us(20);
        for (int i = 1; i <= 11; ++i) {
            script.after_us(1);
            script.ack(false, at, selective ? sacked(at + unit_ns, at + (i + 1) * unit_ns) : Extras{});
            if (i == 3) {
                script.segment(true, at, sent_message(1), script.sent(false));
                EXPECT_EQ(script.flow(true)->attribution.last_state(), State::recover_nak);
                EXPECT_EQ(script.count(true, EventKind::timeout), 0u);
            }
        }
        script.after_us(199'992);  // 8 µs after the repeat
        script.segment(true, at, sent_message(1), script.sent(false));
        EXPECT_EQ(script.flow(true)->attribution.last_state(), State::recover_timeout);
        EXPECT_EQ(script.count(true, EventKind::timeout), 1u);
        EXPECT_EQ(script.value_max(true, EventKind::timeout), 200'000'000u);
        EXPECT_EQ(script.flow(true)->request.repeated, 2u);
    }
}

/// RFC 8985, 6.2: what was sent after the repeat has arrived, new or itself sent again, and the repeat has not.
TEST(Sender, a_sack_of_what_was_sent_behind_a_repetition_explains_the_next_one) {
    Script fresh;
    fresh.establish();
    const std::int64_t at = fresh.sent(true);
    for (std::uint32_t i = 1; i <= 3; ++i) fresh.data(true, sent_message(i));
    fresh.after_us(100);
    fresh.ack(false, at, sacked(at + unit_ns, at + 3 * unit_ns));
    fresh.segment(true, at, sent_message(1), fresh.sent(false));
    fresh.data(true, sent_message(4));
    fresh.after_us(100);
    fresh.ack(false, at, sacked(at + unit_ns, at + 4 * unit_ns));
    fresh.segment(true, at, sent_message(1), fresh.sent(false));
    EXPECT_EQ(fresh.flow(true)->attribution.last_state(), State::recover_nak);
    EXPECT_EQ(fresh.count(true, EventKind::timeout), 0u);

    Script again;
    again.establish();
    for (std::uint32_t i = 1; i <= 5; ++i) again.data(true, sent_message(i));
    again.after_us(100);
    Extras two = sacked(at + 3 * unit_ns, at + 5 * unit_ns);
    two.sack.emplace_back(at + unit_ns, at + 2 * unit_ns);
    again.ack(false, at, two);
    again.segment(true, at, sent_message(1), again.sent(false));
    again.segment(true, at + 2 * unit_ns, sent_message(3), again.sent(false));
    again.after_us(100);
    again.ack(false, at, sacked(at + unit_ns, at + 5 * unit_ns));
    again.segment(true, at, sent_message(1), again.sent(false));
    EXPECT_EQ(again.flow(true)->attribution.last_state(), State::recover_nak);
    EXPECT_EQ(again.count(true, EventKind::timeout), 0u);
    EXPECT_EQ(again.flow(true)->request.repeated, 3u);
}

TEST(Sender, a_sack_below_the_acknowledgement_reports_a_double_and_no_loss) {
    Script script;
    script.establish();
    const std::int64_t at = script.sent(true);
    script.data(true, sent_message(1));
    script.data(true, sent_message(2));
    script.after_us(100);
    script.ack(false, at + unit_ns, sacked(at, at + unit_ns));  // RFC 2883
    script.after_us(250'000);
    script.segment(true, at + unit_ns, sent_message(2), script.sent(false));
    EXPECT_EQ(script.flow(true)->attribution.last_state(), State::recover_timeout);
}

TEST(Sender, octets_made_before_those_that_overtook_them_are_late) {
    Script script;
    script.establish();
    for (std::uint32_t i = 1; i <= 6; ++i) script.data(true, sent_message(i));  // 104 to 109
    const std::int64_t at = script.sent(true);
    Extras first;
    first.identification = 110;
    Extras second;
    second.identification = 111;
    Extras third;
    third.identification = 112;
    script.segment(true, at + unit_ns, sent_message(8), script.sent(false), second);
    script.after_us(500'000);
    script.segment(true, at, sent_message(7), script.sent(false), first);
    EXPECT_EQ(script.flow(true)->request.reordered, 1u);
    EXPECT_EQ(script.flow(true)->request.repeated, 0u);
    EXPECT_EQ(script.flow(true)->request.missing, 0u);
    EXPECT_EQ(script.shown(true).tcp->out_of_order_segments, 1u) << "the one that was ahead";
    script.data(true, sent_message(9), third);
    EXPECT_EQ(script.messages(true, Operation::send), 9u);
    EXPECT_EQ(script.value_max(true, EventKind::reordered), 2u);
}

TEST(Sender, timestamps_tell_late_octets_from_repeated_ones) {
    for (const std::uint32_t stamp : {99u, 101u}) {
        Script script;
        script.establish();
        const std::int64_t at = script.sent(true);
        Extras now;
        now.timestamp = 100;
        now.identification = 0;
        script.data(true, sent_message(1), now);
        script.segment(true, at + 2 * unit_ns, sent_message(3), script.sent(false), now);
        script.after_us(1'000'000);
        Extras then = now;
        then.timestamp = stamp;
        script.segment(true, at + unit_ns, sent_message(2), script.sent(false), then);
        EXPECT_EQ(script.flow(true)->request.reordered, stamp == 99u ? 1u : 0u);
        EXPECT_EQ(script.flow(true)->request.repeated, stamp == 99u ? 0u : 1u);
    }
}

/// The segments do not show it; the round trip (100 µs to the server, 100 µs to the client) does.
TEST(Sender, without_order_in_the_segments_late_is_what_comes_before_a_round_trip) {
    for (const std::int64_t us : {150, 250}) {
        Script script;
        script.establish();
        const std::int64_t at = script.sent(true);
        Extras none;
        none.identification = 0;
        script.data(true, sent_message(1), none);
        script.segment(true, at + 2 * unit_ns, sent_message(3), script.sent(false), none);
        script.after_us(us);
        script.segment(true, at + unit_ns, sent_message(2), script.sent(false), none);
        EXPECT_EQ(script.flow(true)->request.reordered, us == 150 ? 1u : 0u);
        EXPECT_EQ(script.flow(true)->request.repeated, us == 150 ? 0u : 1u);
    }
}

TEST(Sender, the_same_datagram_again_was_doubled_by_the_network) {
    Script script;
    script.establish();
    Extras extras;
    extras.identification = 777;
    const std::int64_t at = script.sent(true);
    script.data(true, sent_message(1), extras);
    script.after_us(2);
    script.segment(true, at, sent_message(1), script.sent(false), extras);
    EXPECT_EQ(script.flow(true)->request.duplicates, 1u);
    EXPECT_EQ(script.flow(true)->request.repeated, 0u);
    script.after_us(30);
    script.ack(false, script.sent(true));
    EXPECT_EQ(script.latency(true, Operation::send).max(), 32'000u);
}

TEST(Sender, keep_alives_and_window_probes_are_neither_data_nor_repetition) {
    Script script;
    script.establish();
    script.data(true, sent_message(1));
    script.after_us(100);
    script.ack(false, script.sent(true));
    script.after_us(7'000'000);
    script.segment(true, script.sent(true) - 1, {}, script.sent(false));                       // Linux
    script.segment(true, script.sent(true) - 1, Octets(1, std::byte{0}), script.sent(false));  // with one octet
    Extras closed;
    closed.window = 0;
    script.ack(false, script.sent(true), closed);
    EXPECT_EQ(script.count(true, EventKind::zero_window), 1u);
    script.segment(true, script.sent(true), Octets(1, std::byte{0}), script.sent(false));
    EXPECT_EQ(script.flow(true)->request.repeated, 0u);
    EXPECT_EQ(script.flow(true)->request.missing, 0u);
    EXPECT_EQ(script.count(true, EventKind::ack_unseen), 0u);
}

/// Windows of 1000 << 7 = 128000 octets, then 0 for 400 µs, in a gap of 600.
TEST(Sender, the_receive_window_is_scaled_and_the_time_below_the_next_fpdu_counted) {
    Script script;
    script.establish(7);
    script.data(true, sent_message(1));
    script.after_us(100);
    Extras closed;
    closed.window = 0;
    script.ack(false, script.sent(true), closed);
    script.after_us(400);
    script.ack(false, script.sent(true));
    script.after_us(100);
    script.data(true, sent_message(2));
    const TcpFigures tcp = *script.shown(true).tcp;
    EXPECT_EQ(tcp.zero_windows, 1u);
    EXPECT_EQ(tcp.window_limited_ns, 400'000u);
    EXPECT_EQ(tcp.receive_window_min, 0u);
    EXPECT_EQ(tcp.receive_window_max, 128000u);
    EXPECT_EQ(script.flow(true)->attribution.last_state(), State::credit);
}

/// The window holds 10 << 4 = 160 octets, of which the first FPDU takes 124: the second, as long, must wait.
struct Held {
    Script script;
    std::int64_t at = 0;
    explicit Held(std::uint16_t window = 10) {
        script.establish(4);
        script.data(true, sent_message(1));
        script.after_us(100);
        Extras narrow;
        narrow.window = window;
        script.ack(false, script.sent(true), narrow);
        script.after_us(100);
        at = script.sent(true);
        script.data(true, sent_message(2));
        script.after_us(5'000);
        script.segment(true, at, sent_message(2), script.sent(false));
    }
};

/// RFC 8985, 7. What the sender waits for is the window: 5000 + 3000 µs, and 20 to react.
TEST(Sender, a_tail_loss_probe_while_the_window_holds_is_neither_a_loss_nor_the_end_of_the_wait) {
    Held held;
    Script& script = held.script;
    EXPECT_EQ(script.flow(true)->request.repeated, 1u);
    EXPECT_EQ(script.shown(true).tcp->retransmitted_bytes, 124u);
    EXPECT_EQ(script.count(true, EventKind::retransmission), 1u);
    EXPECT_EQ(script.value_max(true, EventKind::retransmission), 0u) << "a run of nothing";
    EXPECT_EQ(script.count(true, EventKind::timeout), 0u);
    script.after_us(3'000);
    script.ack(false, script.sent(true), sacked(held.at, held.at + unit_ns));
    script.after_us(20);
    script.data(true, sent_message(3));
    EXPECT_EQ(script.flow(true)->attribution.last_state(), State::credit);
    EXPECT_EQ(script.flow(true)->attribution.last_gap_ns(), 8'020'000u);
    EXPECT_EQ(script.latency(true, Operation::send).count(), 1u) << "Karn";
}

TEST(Sender, the_last_segment_sent_again_with_room_in_the_window_may_be_lost) {
    Held held(1000);
    EXPECT_EQ(held.script.flow(true)->attribution.last_state(), State::recover_timeout);
    EXPECT_EQ(held.script.count(true, EventKind::timeout), 1u);
    EXPECT_EQ(held.script.value_max(true, EventKind::retransmission), 1u);
}

TEST(Sender, a_second_repeat_and_one_that_the_receiver_asked_for_are_no_probes) {
    Held twice;
    twice.script.after_us(200'000);
    twice.script.segment(true, twice.at, sent_message(2), twice.script.sent(false));
    EXPECT_EQ(twice.script.flow(true)->attribution.last_state(), State::recover_timeout);
    EXPECT_EQ(twice.script.value_max(true, EventKind::timeout), 205'000'000u);

    Script script;
    script.establish(4);
    Extras narrow;
    narrow.window = 20;  // 320 octets: two FPDUs and no third
    script.data(true, sent_message(1));
    script.ack(false, script.sent(true), narrow);
    const std::int64_t at = script.sent(true);
    script.data(true, sent_message(2));
    script.data(true, sent_message(3));
    for (int i = 0; i < 3; ++i) script.ack(false, at, narrow);
    script.after_us(5'000);
    script.segment(true, at + unit_ns, sent_message(3), script.sent(false));
    EXPECT_EQ(script.flow(true)->attribution.last_state(), State::recover_nak);
}

TEST(Sender, without_the_syns_no_window_is_known) {
    Script script;
    script.data(true, mpa_start(true));
    script.data(false, mpa_start(false));
    script.data(true, sent_message(1));
    script.ack(false, script.sent(true));
    EXPECT_FALSE(script.shown(true).tcp->receive_window_max.has_value());
    EXPECT_FALSE(script.shown(true).tcp->handshake_ns.has_value());
    EXPECT_FALSE(script.shown(true).tcp->mss.has_value());
    EXPECT_EQ(script.messages(true, Operation::send), 1u);
}

TEST(Sender, congestion_marks_echoes_and_reductions_are_the_marked_flows) {
    Script script;
    script.establish();
    Extras marked;
    marked.ecn = 3;
    script.data(true, sent_message(1), marked);
    Extras echo;
    echo.flags = 0x40;
    script.ack(false, script.sent(true), echo);
    Extras reduced;
    reduced.ecn = 2;
    reduced.flags = 0x80;
    script.data(true, sent_message(2), reduced);
    EXPECT_EQ(script.flow(true)->counts.ce, 1u);
    EXPECT_EQ(script.flow(true)->counts.ecn_capable, 2u);
    EXPECT_EQ(script.shown(true).tcp->ece_acks, 1u);
    EXPECT_EQ(script.shown(true).tcp->cwr_segments, 1u);
    EXPECT_EQ(script.shown(false).tcp->ece_acks, 0u);
    EXPECT_EQ(script.first_frame(true, EventKind::ce_mark), 6u);
}

/// Everything that happens must be reported the same wherever in it the sequence numbers wrap.
TEST(Sender, sequence_numbers_may_wrap_anywhere) {
    std::vector<std::uint64_t> expected;
    for (std::uint32_t back = 0; back <= 800; ++back) {
        Script script(0u - back, 0u - back / 2);
        script.establish();
        const std::int64_t at = script.sent(true);
        script.data(true, sent_message(1));
        script.data(true, write_of(5, 0, 300, false));
        script.after_us(100);
        script.ack(false, at + unit_ns);
        script.segment(true, script.sent(true) + unit_ns, sent_message(3), script.sent(false));
        script.after_us(100);
        script.ack(false, at + unit_ns, sacked(script.sent(true) - unit_ns, script.sent(true)));
        script.after_us(100);
        script.segment(true, at + unit_ns, write_of(5, 0, 300, false), script.sent(false));
        script.after_us(300);
        script.segment(true, script.sent(true) - 2 * unit_ns, write_of(5, 300, 104), script.sent(false));
        script.data(true, read_request(1, 200));
        script.after_us(50);
        script.data(false, read_response(7, 0, 200));
        script.after_us(50);
        script.ack(true, script.sent(false));
        const FlowSnapshot shown = script.shown(true);
        const Flow& flow = *script.flow(true);
        const std::vector<std::uint64_t> found{script.messages(true, Operation::send),
                                               script.messages(true, Operation::write),
                                               script.bytes(true, Operation::write),
                                               script.messages(true, Operation::read),
                                               flow.request.repeated,
                                               flow.request.missing,
                                               flow.request.reordered,
                                               shown.tcp->retransmitted_bytes,
                                               shown.tcp->duplicate_acks,
                                               script.latency(true, Operation::send).sum(),
                                               script.latency(true, Operation::read).sum(),
                                               script.histogram(true, FlowHistogram::round_trip).sum(),
                                               script.histogram(false, FlowHistogram::round_trip).sum(),
                                               flow.ledger.messages(),
                                               script.count(true, EventKind::ack_unseen),
                                               flow.counts.crc_bad};
        if (back == 0) {
            expected = found;
            EXPECT_EQ(found[0], 2u);
            EXPECT_EQ(found[1], 1u);
            EXPECT_EQ(found[2], 404u);
            EXPECT_EQ(found[3], 1u);
            EXPECT_EQ(found[4], 2u) << "the Write's two segments, one seen before and one not";
            EXPECT_EQ(found[10], 50'000u);
            EXPECT_EQ(found[14], 0u);
        }
        ASSERT_EQ(found, expected) << "wrap " << back << " octets in";
    }
}

/// 128 TiB on: positions are moved back before the ledger's 48 bits end.
TEST(Sender, connections_may_last_for_ever) {
    Script script;
    script.establish();
    constexpr std::uint64_t far = (std::uint64_t{1} << 47) - (std::uint64_t{1} << 32);
    script.flow(true)->request.next += far;
    script.flow(true)->request.acknowledged += far;
    script.data(true, sent_message(1));
    EXPECT_LT(script.flow(true)->request.next, std::uint64_t{1} << 33);
    script.after_us(20);
    script.ack(false, script.sent(true));
    script.data(true, sent_message(2));
    script.after_us(30);
    script.ack(false, script.sent(true));
    EXPECT_EQ(script.messages(true, Operation::send), 2u);
    EXPECT_EQ(script.latency(true, Operation::send).max(), 30'000u);
    EXPECT_EQ(script.flow(true)->ledger.messages(), 0u);
    EXPECT_EQ(script.count(true, EventKind::ack_unseen), 0u);
    EXPECT_EQ(script.flow(true)->request.repeated, 0u);
}

TEST(Sender, a_syn_sent_twice_tells_the_set_up_but_no_round_trip) {
    Script script;
    Extras syn;
    syn.flags = 2;
    syn.no_ack = true;
    script.segment(true, -1, {}, 0, syn);
    script.after_us(1'000'000);
    script.establish();
    EXPECT_EQ(script.shown(true).tcp->handshake_ns, 1'000'200'000u);
    EXPECT_EQ(script.flow(false)->request.reaction_min_ns, 0xffffffffu) << "which of the two was answered?";
    EXPECT_EQ(script.flow(false)->request.round_trip_min_ns, 0xffffffffu);
}

}  // namespace
