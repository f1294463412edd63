#include <cstdlib>
#include <ctime>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller_bench.h"
#include "tui/model/jump.h"

/// Keys of time, the mouse on what belongs to it, and what becomes of readings.
namespace tui::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::uint64_t>;

/// A file of two minutes that begins at 1000 s.
support::FakeFeed played() {
    support::FakeFeed feed;
    feed.state.kind = SourceKind::file;
    feed.state.health = FeedStatus::Health::good;
    feed.state.playable = true;
    feed.state.begin_ns = 1000 * second;
    feed.state.end_ns = 1120 * second;
    feed.state.now_ns = 1030 * second;
    feed.state.interval_ns = 1'000'000'000;
    return feed;
}

TEST(Time, space_pauses_and_goes_on) {
    Bench bench(played());
    bench.press("Space");
    EXPECT_FALSE(bench.state().feed.playing);
    bench.press("Space");
    EXPECT_THAT(bench.feed.orders, ElementsAre("play 0", "play 1"));
}

TEST(Time, space_at_the_end_begins_again) {
    support::FakeFeed feed = played();
    feed.state.at_end = true;
    Bench bench(feed);
    bench.press("Space");
    EXPECT_THAT(bench.feed.orders, ElementsAre("seek 1000000000000", "play 1"));
}

TEST(Time, a_live_screen_freezes) {
    Bench bench({reading_of(1, {writes(1, 1, 9, 10)}), reading_of(2, {writes(2, 1, 9, 10)}),
                 reading_of(3, {writes(3, 1, 9, 10)})});
    bench.next();
    bench.press("Space");
    EXPECT_TRUE(bench.state().frozen);
    EXPECT_TRUE(bench.feed.orders.empty());
    bench.next();
    EXPECT_EQ(bench.ids(), (Ids{1}));
    EXPECT_EQ(bench.state().timeline.pulses().size(), 1U);
    bench.press("r s Escape");
    EXPECT_EQ(bench.ids(), (Ids{1})) << "it can be looked at from all sides";
    bench.press("Space");
    bench.next();
    EXPECT_EQ(bench.ids(), (Ids{3}));
    EXPECT_EQ(bench.state().timeline.pulses().size(), 3U) << "what passed meanwhile is not lost";
}

TEST(Time, refresh_in_steps_from_a_tenth_to_ten_seconds) {
    Bench bench(played());
    bench.press("+ + + +");
    EXPECT_EQ(bench.state().settings.interval_ns, 100'000'000U);
    EXPECT_THAT(bench.feed.orders, ElementsAre("interval 500000000", "interval 200000000", "interval 100000000"));
    bench.feed.orders.clear();
    bench.press("- - - - - - - -");
    EXPECT_EQ(bench.state().settings.interval_ns, 10'000'000'000U);
    EXPECT_EQ(bench.feed.orders.size(), 6U);
    support::FakeFeed odd = played();
    odd.state.interval_ns = 700'000'000;
    Bench between(odd);
    between.press("+ -");
    EXPECT_THAT(between.feed.orders, ElementsAre("interval 500000000", "interval 1000000000"));
}

TEST(Time, speed_halves_and_doubles_up_to_as_fast_as_it_goes) {
    Bench bench(played());
    bench.press("[ [ ]");
    EXPECT_THAT(bench.feed.orders, ElementsAre("speed 0.5", "speed 0.25", "speed 0.5"));
    bench.feed.state.speed = 1024;
    bench.model.refresh(0);
    bench.feed.orders.clear();
    bench.press("] ] [");
    EXPECT_THAT(bench.feed.orders, ElementsAre("speed 0", "speed 0", "speed 1024"));
    bench.feed.state.speed = 1.0 / 64;
    bench.model.refresh(0);
    bench.press("[");
    EXPECT_EQ(bench.feed.orders.back(), "speed 0.015625");
}

TEST(Time, steps_pause_first) {
    Bench bench(played());
    bench.press(". , .");
    EXPECT_THAT(bench.feed.orders, ElementsAre("play 0", "step 1", "step -1", "step 1"));
}

TEST(Time, a_live_source_says_what_it_cannot) {
    Bench bench({reading_of(1, {})});
    for (const char* keys : {".", ",", "[", "]", ":", "J"}) {
        bench.press(keys);
        EXPECT_THAT(bench.state().message, HasSubstr("live traffic")) << keys;
        EXPECT_EQ(bench.state().overlay, Overlay::none);
    }
    EXPECT_TRUE(bench.feed.orders.empty());
}

TEST(Time, jumps) {
    Bench bench(played());
    bench.press(":").type(U"+10s").press("Enter");
    bench.press("J").type(U"-1m").press("Enter");
    bench.press("J").type(U"50%").press("Enter");
    EXPECT_THAT(bench.feed.orders, ElementsAre("seek 1040000000000", "seek 1000000000000", "seek 1060000000000"));
    EXPECT_EQ(bench.state().overlay, Overlay::none);
    bench.press(":").type(U"soon").press("Enter");
    EXPECT_EQ(bench.state().overlay, Overlay::prompt);
    EXPECT_THAT(bench.state().prompt.error, HasSubstr("is expected"));
    bench.press("Ctrl-U").type(U"25%").press("Enter");
    EXPECT_EQ(bench.feed.orders.back(), "seek 1030000000000");
    bench.press(": Escape");
    EXPECT_EQ(bench.state().overlay, Overlay::none);
    EXPECT_EQ(bench.feed.orders.size(), 4U);
}

TEST(Time, a_jump_as_fast_as_it_goes_stays_where_it_leads) {
    support::FakeFeed feed = played();
    feed.state.speed = 0;
    feed.state.at_end = true;
    Bench bench(feed);
    bench.press("J").type(U"50%").press("Enter");
    EXPECT_THAT(bench.feed.orders, ElementsAre("play 0", "seek 1060000000000"));
    EXPECT_FALSE(bench.state().feed.playing);
}

TEST(Jump, targets) {
    const char* const zone = std::getenv("TZ");
    const std::string before = zone == nullptr ? "" : zone;
    setenv("TZ", "UTC", 1);
    tzset();
    FeedStatus status = played().state;
    const auto to = [&](const char* text) { return jump_target(text, status); };
    EXPECT_EQ(to("00:16:50").value(), 1010 * second) << "1000 s are 16:40";
    EXPECT_EQ(to("00:18:30.5").value(), 1110 * second + second / 2);
    EXPECT_EQ(to("1970-01-01T00:17:00Z").value(), 1020 * second);
    EXPECT_EQ(to("@1005.25").value(), 1005 * second + second / 4);
    EXPECT_EQ(to("23:00").value(), 1120 * second) << "bounded";
    EXPECT_EQ(to("+500us").value(), 1030 * second + 500'000);
    EXPECT_EQ(to("-1h").value(), 1000 * second);
    EXPECT_EQ(to("start").value(), 1000 * second);
    EXPECT_EQ(to("end").value(), 1120 * second);
    EXPECT_EQ(to("0%").value(), 1000 * second);
    EXPECT_EQ(to("12.5%").value(), 1015 * second);
    for (const char* wrong : {"", "%", "101%", "-5%", "abc%", "+", "-", "+x", "25:00:00", "nan%", "+1e9d"})
        EXPECT_THAT(to(wrong).error().message, HasSubstr("is expected")) << wrong;
    status.end_ns.reset();
    EXPECT_THAT(to("50%").error().message, HasSubstr("read to the end"));
    EXPECT_EQ(to("start").value(), 1000 * second);
    EXPECT_EQ(to("+1000s").value(), 2030 * second) << "the source bounds it";
    before.empty() ? unsetenv("TZ") : setenv("TZ", before.c_str(), 1);
    tzset();
}

TEST(Refresh, says_whether_there_is_something_new) {
    Bench bench({reading_of(1, {writes(1, 1, 9, 10)}), reading_of(2, {writes(1, 1, 9, 20)})});
    EXPECT_FALSE(bench.model.refresh(0));
    bench.feed.next();
    EXPECT_TRUE(bench.model.refresh(0));
    EXPECT_FALSE(bench.model.refresh(0));
    bench.feed.state.health = FeedStatus::Health::lost;
    bench.feed.state.trouble = "gone";
    EXPECT_TRUE(bench.model.refresh(0));
    EXPECT_EQ(bench.state().feed.trouble, "gone");
    EXPECT_EQ(bench.ids(), (Ids{1})) << "the last figures stay";
}

TEST(Refresh, takes_every_reading_that_was_made_meanwhile) {
    Bench bench({reading_of(1, {writes(1, 1, 9, 10)}), reading_of(2, {writes(1, 1, 9, 20)}),
                 reading_of(3, {writes(1, 1, 9, 30)})});
    bench.all();
    EXPECT_EQ(bench.state().timeline.pulses().size(), 3U);
    EXPECT_EQ(bench.state().reading->serial, 3U);
}

TEST(Refresh, a_jump_in_time_empties_what_was_before) {
    auto flow = writes(1, 1, 9, 10);
    flow.event_summaries.push_back({metrics::EventKind::rnr_nak, 1, {10}, 1'280'000, 1'280'000});
    auto jumped = reading_of(3, {writes(1, 1, 9, 5)});
    jumped->restarted = true;
    Bench bench({reading_of(1, {flow}), reading_of(2, {flow}), jumped});
    bench.next();
    bench.next();
    EXPECT_EQ(bench.state().events.lines().size(), 2U);
    bench.press("4 g 1");
    bench.next();
    EXPECT_TRUE(bench.state().events.lines().empty());
    EXPECT_EQ(bench.state().timeline.pulses().size(), 1U);
    EXPECT_EQ(bench.state().places[3].count, 0U);
    EXPECT_EQ(bench.state().places[3].selected, 0U);
}

TEST(Refresh, a_finished_file_is_shown_as_a_whole) {
    support::FakeFeed feed = support::FakeFeed::of_capture("rxe-rping.pcap", 500'000'000);
    Bench bench(feed);
    bench.next();
    EXPECT_EQ(bench.state().choice.window, Window::interval);
    bench.all();
    EXPECT_EQ(bench.state().choice.window, Window::total);
    EXPECT_EQ(bench.state().settings.window, Window::interval) << "that is not what the user chose";
    EXPECT_THAT(bench.state().message, HasSubstr("figures of all of it"));
    bench.press("t");
    EXPECT_EQ(bench.state().choice.window, Window::interval);
    bench.model.refresh(0);
    EXPECT_EQ(bench.state().choice.window, Window::interval) << "and now it is";
    Bench chosen(feed);
    chosen.next();
    chosen.press("t t");
    chosen.all();
    EXPECT_EQ(chosen.state().choice.window, Window::interval);
}

TEST(Refresh, the_flow_looked_at_may_go) {
    Bench bench({reading_of(1, {writes(1, 1, 9, 10), writes(2, 1, 9, 20)}), reading_of(2, {writes(2, 1, 9, 20)}),
                 reading_of(3, {})});
    bench.next();
    bench.press("G Enter");
    EXPECT_EQ(bench.state().flow_id, 1U);
    ASSERT_NE(bench.state().flow_total(), nullptr);
    bench.next();
    EXPECT_EQ(bench.state().flow_total(), nullptr);
    EXPECT_EQ(bench.state().flow_id, 1U);
    bench.press("e");
    EXPECT_TRUE(bench.state().message_is_error);
    bench.press("o j");
    EXPECT_EQ(bench.state().flow_id, 2U) << "j takes the nearest that there is";
    bench.next();
    bench.press("j k e o p Escape Enter e Escape p");
    EXPECT_TRUE(bench.ids().empty());
}

TEST(Refresh, before_the_first_reading_every_key_is_harmless) {
    Bench bench(std::vector<ReadingPtr>{});
    bench.model.refresh(0);
    for (const KeyText& text : key_texts())
        for (const Key& key : keys_named(text.keys)) bench.model.press(key);
    EXPECT_EQ(bench.state().reading, nullptr);
}

TEST(Answers, are_about_the_flow_or_about_all) {
    support::FakeFeed feed = support::FakeFeed::of_capture("rxe-loss1pct-send-bw.pcap.gz", 60'000'000'000);
    Bench bench(feed);
    bench.all();
    bench.press("e");
    EXPECT_EQ(bench.state().overlay, Overlay::answers);
    ASSERT_FALSE(bench.state().answers.empty());
    EXPECT_THAT(bench.state().message, HasSubstr("about this flow"));
    bench.draw(3, {}, 30);
    bench.press("j Space");
    EXPECT_EQ(bench.state().overlay_place.top, 4U);
    bench.press("G");
    EXPECT_EQ(bench.state().overlay_place.top, 27U);
    bench.press("k g");
    EXPECT_EQ(bench.state().overlay_place.top, 0U);
    bench.press("q 2 e");
    EXPECT_THAT(bench.state().message, HasSubstr("about all flows"));
    EXPECT_GE(bench.state().answers.size(), metrics::usual_question_count);
}

}  // namespace
}  // namespace tui::test
