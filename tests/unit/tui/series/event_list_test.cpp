// Events: what the snapshots of intervals hold, in the words of `dump`.
#include "tui/model/event_list.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "tests/support/fake_feed.h"

namespace tui {
namespace {

using metrics::EventKind;
using testing::ElementsAre;

metrics::FlowSnapshot flow_with(std::uint64_t id, EventKind kind, std::uint64_t count, std::uint64_t sum,
                                std::uint64_t max = 0) {
    metrics::FlowSnapshot flow;
    flow.id = id;
    flow.event_summaries = {{kind, count, {10, 20}, max == 0 ? sum : max, sum}};
    return flow;
}

EventLine line_of(const metrics::FlowSnapshot& flow) {
    Reading reading;
    reading.start_ns = 5;
    reading.interval.flows.push_back(flow);
    EventList list;
    list.add(reading, nullptr);
    return list.lines().empty() ? EventLine{} : list.lines().front();
}

std::string words_of(const metrics::FlowSnapshot& flow) { return describe(line_of(flow)); }

TEST(EventList, a_line_has_count_frames_and_interval) {
    const EventLine line = line_of(flow_with(3, EventKind::retransmission, 7, 7));
    EXPECT_EQ(line.serial, 1u);
    EXPECT_EQ(line.start_ns, 5);
    EXPECT_EQ(line.flow, 3u);
    EXPECT_EQ(line.count, 7u);
    EXPECT_THAT(line.frames, ElementsAre(10, 20));
    EXPECT_TRUE(line.bad);
    EXPECT_EQ(describe(line), "retransmission");
}

TEST(EventList, gaps_are_of_packets_or_octets) {
    metrics::FlowSnapshot flow = flow_with(1, EventKind::gap, 1, 3);
    EXPECT_EQ(words_of(flow), "gap of 3 packets");
    flow.transport = wire::Transport::iwarp;
    EXPECT_EQ(words_of(flow), "gap of 3 bytes");
    // The greatest is that of the whole life: of the interval, only the sum is known.
    EXPECT_EQ(words_of(flow_with(1, EventKind::gap, 2, 5, 99)), "gaps, together 5 packets");
}

TEST(EventList, naks_have_the_name_of_their_code) {
    metrics::FlowSnapshot flow = flow_with(1, EventKind::nak, 2, 4);
    flow.naks[2] = 2;
    EXPECT_EQ(words_of(flow), "NAK remote access error");
    flow.naks = {};
    flow.naks[0] = 2;
    EXPECT_EQ(words_of(flow), "NAK PSN sequence error");
    flow.naks[1] = 1;
    EXPECT_EQ(words_of(flow), "NAK, of several codes");
}

TEST(EventList, rnr_naks_have_the_timer_that_was_sent) {
    metrics::FlowSnapshot flow = flow_with(1, EventKind::rnr_nak, 1, 655'360'000);
    // The interval's: a difference of histograms knows it within 1 %. IBTA table 46: 01100 is 0.64 ms.
    metrics::Histogram before;
    before.record(655'360'000);
    metrics::Histogram after = before;
    after.record(640'000);
    flow.rnr_timer_ns = after.since(before);
    EXPECT_EQ(words_of(flow), "RNR NAK, timer 640 us");
}

TEST(EventList, a_terminate_says_layer_type_and_code) {
    // RFC 5040, Figure 9: layer 0, type 1, code 0. RFC 5044, 8: layer 2, type 0, code 2.
    EXPECT_EQ(words_of(flow_with(1, EventKind::terminate, 1, 0x0100, 0x0100)),
              "Terminate, RDMAP remote protection error: invalid STag");
    EXPECT_EQ(words_of(flow_with(1, EventKind::terminate, 1, 0x2002, 0x2002)),
              "Terminate, LLP MPA error: received MPA CRC does not match");
}

TEST(EventList, timeouts_say_how_long_it_was_silent) {
    EXPECT_EQ(words_of(flow_with(1, EventKind::timeout, 1, 536'000'000)), "time-out after 536 ms of silence");
    EXPECT_EQ(words_of(flow_with(1, EventKind::timeout, 3, 900'000'000, 536'000'000)),
              "time-out after up to 536 ms of silence");
}

TEST(EventList, the_longest_silence_is_no_event) {
    EXPECT_EQ(line_of(flow_with(1, EventKind::long_gap, 1, 5)).serial, 0u);
    EXPECT_EQ(line_of(flow_with(1, EventKind::established, 1, 5)).serial, 0u);
}

TEST(EventList, every_kind_has_words_of_its_own) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < metrics::event_kind_count; ++i) {
        EventLine line;
        line.kind = static_cast<EventKind>(i);
        line.count = 1;
        all.push_back(describe(line));
        EXPECT_FALSE(all.back().empty());
        EXPECT_EQ(all.back().find('_'), std::string::npos) << all.back();
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(EventList, what_the_capture_lost_and_who_was_refused) {
    Reading reading;
    reading.interval.capture.kernel_dropped = 12;
    metrics::ConnectionAttempt attempt;
    attempt.outcome = metrics::AttemptOutcome::rejected;
    attempt.reason = "Invalid Service ID";
    attempt.request_frame = 4;
    attempt.end_frame = 5;
    reading.interval.attempts = {attempt};
    attempt.outcome = metrics::AttemptOutcome::established;
    reading.interval.attempts.push_back(attempt);
    attempt = {};
    attempt.outcome = metrics::AttemptOutcome::unanswered;
    attempt.request_frame = 8;
    attempt.requests = 3;
    reading.interval.attempts.push_back(attempt);
    EventList list;
    list.add(reading, nullptr);
    ASSERT_EQ(list.lines().size(), 3u);
    EXPECT_EQ(list.lines()[0].source, EventLine::Source::capture);
    EXPECT_EQ(list.lines()[0].count, 12u);
    EXPECT_THAT(describe(list.lines()[0]), testing::HasSubstr("12 packets dropped by the kernel"));
    EXPECT_EQ(list.lines()[1].source, EventLine::Source::attempt);
    EXPECT_EQ(describe(list.lines()[1]), "connection rejected: Invalid Service ID");
    EXPECT_THAT(list.lines()[1].frames, ElementsAre(4, 5));
    EXPECT_EQ(describe(list.lines()[2]), "connection unanswered (3 requests)");
    EXPECT_THAT(list.lines()[2].frames, ElementsAre(8));
}

TEST(EventList, keeps_the_newest_and_counts_the_rest) {
    EventList list(10);
    for (std::uint64_t i = 1; i <= 25; ++i) {
        Reading reading;
        reading.start_ns = static_cast<std::int64_t>(i);
        reading.interval.flows = {flow_with(i % 2 + 1, EventKind::cnp, 1, 0)};
        list.add(reading, nullptr);
    }
    EXPECT_EQ(list.lines().size(), 10u);
    EXPECT_EQ(list.lines().front().serial, 16u);
    EXPECT_EQ(list.lines().back().serial, 25u);
    EXPECT_EQ(list.forgotten(), 15u);
    const auto newest = list.of_flow(2, 0, 3);
    ASSERT_EQ(newest.size(), 3u);
    EXPECT_EQ(newest[0]->serial, 25u);
    EXPECT_EQ(newest[1]->serial, 23u);
    EXPECT_EQ(list.of_flow(2, 1, 100).size(), 10u);
    EXPECT_TRUE(list.of_flow(9, 0, 100).empty());
    Reading back;
    back.restarted = true;
    list.add(back, nullptr);
    EXPECT_TRUE(list.lines().empty());
}

TEST(EventList, the_end_of_a_connection_is_told_once) {
    Reading reading;
    metrics::FlowSnapshot flow;
    flow.id = 6;
    flow.connection->end = "DREQ";
    flow.connection->end_kind = metrics::EndKind::disconnect_request;
    flow.connection->end_frame = 77;
    reading.interval.flows = {flow};
    EventList list;
    list.add(reading, nullptr);
    list.add(reading, nullptr);
    ASSERT_EQ(list.lines().size(), 1u);
    EXPECT_EQ(describe(list.lines().front()), "connection ended: DREQ");
    EXPECT_THAT(list.lines().front().frames, ElementsAre(77));
}

/// FIN and RST have exhibits of their own; a REJ is bad news.
TEST(EventList, the_end_of_a_connection_by_its_kind) {
    using metrics::EndKind;
    for (const EndKind kind : {EndKind::disconnect_request, EndKind::disconnect_reply, EndKind::rejected,
                               EndKind::mpa_rejected, EndKind::tcp_reset, EndKind::tcp_fin, EndKind::ports_reused}) {
        Reading reading;
        metrics::FlowSnapshot flow;
        flow.id = 6;
        flow.connection->end = "its words";
        flow.connection->end_kind = kind;
        flow.connection->end_frame = 77;
        reading.interval.flows = {flow};
        EventList list;
        list.add(reading, nullptr);
        const bool has_exhibit = kind == EndKind::tcp_reset || kind == EndKind::tcp_fin;
        ASSERT_EQ(list.lines().size(), has_exhibit ? 0u : 1u) << name_of(kind);
        if (has_exhibit) continue;
        EXPECT_EQ(describe(list.lines().front()), "connection ended: its words");
        EXPECT_EQ(list.lines().front().bad, kind == EndKind::rejected) << name_of(kind);
    }
}

/// The interval [start, start + 100).
Reading reading_at(std::int64_t start_ns, std::vector<metrics::FlowSnapshot> flows) {
    Reading reading;
    reading.start_ns = start_ns;
    reading.length_ns = 100;
    reading.interval.flows = std::move(flows);
    return reading;
}

metrics::FlowSnapshot flow_of(std::uint64_t id, std::vector<metrics::EventSummary> event_summaries,
                              std::uint64_t end_frame = 0) {
    metrics::FlowSnapshot flow;
    flow.id = id;
    flow.event_summaries = std::move(event_summaries);
    flow.connection->end_frame = end_frame;
    if (end_frame == 0) return flow;
    flow.connection->end = "DREQ";
    flow.connection->end_kind = metrics::EndKind::disconnect_request;
    return flow;
}

std::vector<std::string> words_in(const EventList& list) {
    std::vector<std::string> all;
    for (const EventLine& line : list.lines()) all.push_back(describe(line));
    return all;
}

TEST(EventList, is_in_the_order_of_the_frames) {
    // Flow 1 ends before flow 2 has its gap, and has marks after that frame by the first of which it stands.
    EventList list;
    list.add(
        reading_at(1000, {flow_of(1, {{EventKind::ce_mark, 3, {4, 9}, 0, 0}}, 6),
                          flow_of(2, {{EventKind::retransmission, 1, {8}, 1, 1}, {EventKind::gap, 1, {7}, 2, 2}})}),
        nullptr, [](std::uint64_t frame) { return std::optional(1000 + static_cast<std::int64_t>(frame)); });
    EXPECT_THAT(words_in(list), ElementsAre("ECN: congestion experienced (CE)", "connection ended: DREQ",
                                            "gap of 2 packets", "retransmission"));
    std::vector<std::int64_t> times;
    for (const EventLine& line : list.lines()) times.push_back(line.time_ns.value_or(0));
    EXPECT_THAT(times, ElementsAre(1004, 1006, 1007, 1008));
}

TEST(EventList, of_one_frame_the_end_comes_last) {
    EventList list;
    list.add(reading_at(1000, {flow_of(1, {}, 5), flow_of(2, {{EventKind::gap, 1, {5}, 2, 2}})}), nullptr,
             [](std::uint64_t) { return std::optional<std::int64_t>(1001); });
    EXPECT_THAT(words_in(list), ElementsAre("gap of 2 packets", "connection ended: DREQ"));
}

TEST(EventList, where_times_are_unknown_an_end_comes_after_what_happened) {
    EventList list;
    list.add(reading_at(1000, {flow_of(1, {}, 6), flow_of(2, {{EventKind::gap, 1, {7}, 2, 2}})}), nullptr);
    list.add(reading_at(1100, {flow_of(2, {{EventKind::retransmission, 1, {8}, 1, 1}})}), nullptr);
    EXPECT_THAT(words_in(list), ElementsAre("gap of 2 packets", "connection ended: DREQ", "retransmission"));
    EXPECT_EQ(list.lines()[1].time_ns, std::nullopt);
    EXPECT_EQ(list.lines()[1].start_ns, 1000);
    EXPECT_EQ(list.lines()[1].end_ns, 1100);
}

TEST(EventList, what_is_told_late_goes_where_its_frame_is) {
    EventList list;
    const auto times = [](std::uint64_t frame) { return std::optional(static_cast<std::int64_t>(frame)); };
    list.add(reading_at(1000, {flow_of(1, {{EventKind::gap, 1, {1050}, 2, 2}})}), nullptr, times);
    list.add(reading_at(1100, {flow_of(1, {{EventKind::retransmission, 1, {1020}, 1, 1}})}), nullptr, times);
    EXPECT_THAT(words_in(list), ElementsAre("retransmission", "gap of 2 packets"));
    EXPECT_EQ(list.lines().front().serial, 2U);
}

TEST(EventList, a_refused_connection_has_the_time_of_its_request) {
    Reading reading = reading_at(1000, {});
    metrics::ConnectionAttempt attempt;
    attempt.outcome = metrics::AttemptOutcome::rejected;
    attempt.request_frame = 4;
    attempt.request_ns = 1030;
    reading.interval.attempts = {attempt};
    EventList list;
    list.add(reading, nullptr);
    EXPECT_EQ(list.lines().front().time_ns, 1030);
}

/// All events of a capture, by kind, as far as intervals show them.
std::map<EventKind, std::uint64_t> counts_of(const std::string& capture, std::uint64_t interval_ns) {
    auto feed = support::FakeFeed::of_capture(capture, interval_ns);
    EventList list;
    for (const ReadingPtr& reading : feed.readings) list.add(*reading, nullptr);
    std::map<EventKind, std::uint64_t> counts;
    for (const EventLine& line : list.lines())
        if (line.source == EventLine::Source::flow) counts[line.kind] += line.count;
    return counts;
}

TEST(EventList, intervals_together_have_what_the_capture_has) {
    for (const char* const capture : {"rxe-rxdrop1pct-write-bw.pcap.gz", "rxe-verbs-rnr.pcap",
                                      "siw-loss1pct-send-bw.pcap", "rxe-ecn-ce-write-bw.pcap.gz"}) {
        auto whole = counts_of(capture, 1'000'000'000'000);
        auto parts = counts_of(capture, 20'000'000);
        EXPECT_FALSE(whole.empty()) << capture;
        EXPECT_EQ(whole, parts) << capture;
    }
}

}  // namespace
}  // namespace tui
