#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "tests/model/model_analysis.h"
#include "tests/model/scenarios.h"

/// What must not change the figures: where sequence numbers wrap, what else is in the capture, how many work on it, and
/// in how many parts it is read.
namespace {

using namespace model;
using metrics::FlowSnapshot;
using metrics::Snapshot;

/// The scenarios of two hosts side by side, each between hosts of its own. `places` says which host is which.
Plan side_by_side(const std::vector<std::string>& names, const std::vector<std::uint32_t>& places) {
    Plan plan = pair_plan();
    plan.connections.clear();
    plan.hosts.resize(names.size() * 2);
    for (std::uint32_t i = 0; i < names.size(); ++i) {
        Connection connection = scenario(names[i]).plan.connections[0];
        connection.seed = i + 1;
        connection.a.host = places[2 * i];
        connection.b.host = places[2 * i + 1];
        connection.a.qpn = 0x100 + i;
        connection.b.qpn = 0x200 + i;
        plan.connections.push_back(connection);
    }
    plan.network.loss_behind = 2000;
    plan.network.reordered = 500;
    plan.network.doubled = 500;
    return plan;
}

const std::vector<std::string> several{"window", "idle", "request_reply", "reads", "mix", "rnr", "credits", "stalls"};

std::vector<std::uint32_t> in_order() {
    std::vector<std::uint32_t> places(several.size() * 2);
    for (std::uint32_t i = 0; i < places.size(); ++i) places[i] = i;
    return places;
}

/// The first hosts' and their partners' taps together: everything, once, as the switch sees it.
Frames at_the_switch(const History& history) { return capture(history, middle_tap, false); }

class WrapTest : public testing::TestWithParam<std::string> {};

TEST_P(WrapTest, FiguresDoNotDependOnTheStartingPsn) {
    Plan plan = scenario(GetParam()).plan;
    plan.connections[0].a.application.messages = 60;
    plan.connections[0].b.application.messages =
        std::min<std::uint64_t>(plan.connections[0].b.application.messages, 60);
    const auto describe = [&](std::uint32_t a, std::uint32_t b, Tap tap) {
        plan.connections[0].a.start_psn = a & 0xffffff;
        plan.connections[0].b.start_psn = b & 0xffffff;
        const History history = run(plan);
        return text_of(analyse(capture(history, tap, false), options_for(history)));
    };
    for (const Tap tap : {tap_at(0), tap_at(1)}) {
        const std::string expected = describe(0x345678, 0x876543, tap);
        for (std::uint32_t offset = 0; offset <= 80; ++offset)
            ASSERT_EQ(describe((1u << 24) - 40 + offset, (1u << 24) + 40 - offset, tap), expected) << offset;
    }
}
INSTANTIATE_TEST_SUITE_P(Scenarios, WrapTest,
                         testing::Values("window", "request_reply", "reads", "mix", "rnr", "loss_behind", "loss_before",
                                         "nak_wait", "timeouts", "reordered", "doubled", "credits"),
                         [](const auto& each) { return each.param; });

TEST(Independence, WhichHostIsWhichDoesNotMatter) {
    const std::vector<std::uint32_t> plain = in_order();
    const History first = run(side_by_side(several, plain));
    const Snapshot expected = analyse(at_the_switch(first), options_for(first));
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        std::vector<std::uint32_t> places = plain;
        Random random(seed);
        for (std::size_t i = places.size(); i-- > 1;) std::swap(places[i], places[random.below(i + 1)]);
        const History history = run(side_by_side(several, places));
        const Snapshot snapshot = analyse(at_the_switch(history), options_for(history));
        for (std::uint32_t side = 0; side < history.sides.size(); ++side) {
            const FlowSnapshot* here = flow_of(snapshot, history, side);
            const FlowSnapshot* there = flow_of(expected, first, side);
            ASSERT_TRUE(here != nullptr && there != nullptr);
            EXPECT_EQ(text_of(*here, false), text_of(*there, false)) << side;
        }
    }
}

TEST(Independence, OthersInTheCaptureDoNotMatter) {
    const History all = run(side_by_side(several, in_order()));
    const Frames frames = at_the_switch(all);
    const Snapshot together = analyse(frames, options_for(all));
    const std::vector<const Passage*> passages = seen(all, middle_tap);
    for (std::uint32_t connection = 0; connection < several.size(); ++connection) {
        Frames alone;
        for (std::size_t i = 0; i < frames.size(); ++i)
            if (passages[i]->packet.side / 2 == connection) alone.push_back(frames[i]);
        const Snapshot snapshot = analyse(alone, options_for(all));
        for (const std::uint32_t side : {connection * 2, connection * 2 + 1}) {
            const FlowSnapshot* here = flow_of(snapshot, all, side);
            const FlowSnapshot* there = flow_of(together, all, side);
            ASSERT_TRUE(here != nullptr && there != nullptr);
            EXPECT_EQ(text_of(*here, false), text_of(*there, false)) << several[connection];
        }
    }
}

/// The order of frames of different pairs in the file is free where their times are equal.
TEST(Independence, TheOrderOfOthersAtTheSameTimeDoesNotMatter) {
    const History history = run(side_by_side(several, in_order()));
    const std::vector<const Passage*> passages = seen(history, middle_tap);
    Frames frames = at_the_switch(history);
    for (support::KeptFrame& frame : frames) frame.time_ns -= frame.time_ns % 1'000;  // a coarser clock: many are equal
    const Snapshot expected = analyse(frames, options_for(history));
    Frames shuffled;
    for (std::size_t begin = 0, end = 0; begin < frames.size(); begin = end) {
        std::map<std::uint32_t, std::vector<std::size_t>, std::greater<>> pairs;
        for (; end < frames.size() && frames[end].time_ns == frames[begin].time_ns; ++end)
            pairs[passages[end]->packet.side / 2].push_back(end);
        for (const auto& [pair, indices] : pairs)
            for (const std::size_t i : indices) shuffled.push_back(frames[i]);
    }
    const Snapshot snapshot = analyse(shuffled, options_for(history));
    for (std::uint32_t side = 0; side < history.sides.size(); ++side) {
        const FlowSnapshot* here = flow_of(snapshot, history, side);
        const FlowSnapshot* there = flow_of(expected, history, side);
        ASSERT_TRUE(here != nullptr && there != nullptr);
        EXPECT_EQ(text_of(*here, false), text_of(*there, false)) << side;
    }
}

TEST(Threads, TheirNumberDoesNotMatter) {
    for (const bool shared : {false, true}) {
        const History history = run(shared ? scenario("link_shared").plan : side_by_side(several, in_order()));
        const Frames frames = at_the_switch(history);
        const std::string one = text_of(analyse(frames, options_for(history, 1)));
        EXPECT_EQ(text_of(analyse(frames, options_for(history, 2))), one);
        EXPECT_EQ(text_of(analyse(frames, options_for(history, 3))), one);
    }
}

TEST(Threads, TheirNumberDoesNotMatterWhereTheLinkIsLearnt) {
    const History history = run(side_by_side(several, in_order()));
    const Frames frames = at_the_switch(history);
    metrics::AnalyzerOptions options;
    const std::string one = text_of(analyse(frames, options));
    for (options.threads = 2; options.threads <= 3; ++options.threads)
        EXPECT_EQ(text_of(analyse(frames, options)), one) << options.threads;
}

/// Both parts of the frames, cut before `at`, as one.
Snapshot in_two(const History& history, const Frames& frames, std::size_t at) {
    const std::span<const support::KeptFrame> all(frames);
    Snapshot whole = analyse(all.first(at), options_for(history));
    merge(whole, analyse(all.subspan(at), options_for(history), at + 1));
    return whole;
}

std::string additive_text(const FlowSnapshot& flow) {
    std::string text;
    for (const std::uint64_t value :
         {flow.packets, flow.wire_bytes, flow.acknowledgement_packets, flow.ecn_ce_packets, flow.ecn_capable_packets})
        text += std::to_string(value) + " ";
    return text;
}

class SplitTest : public testing::TestWithParam<std::string> {};

TEST_P(SplitTest, AnywherePacketsAddUp) {
    const History history = run(scenario(GetParam()).plan);
    const Frames frames = capture(history, tap_at(0), false);
    const Snapshot whole = analyse(frames, options_for(history));
    const std::size_t step = std::max<std::size_t>(frames.size() / 23, 1);
    for (std::size_t at = 1; at < frames.size(); at += step) {
        const Snapshot joined = in_two(history, frames, at);
        ASSERT_EQ(joined.capture.packets, whole.capture.packets);
        ASSERT_EQ(joined.flows.size(), whole.flows.size()) << "cut before frame " << at + 1;
        for (std::size_t i = 0; i < whole.flows.size(); ++i) {
            EXPECT_EQ(joined.flows[i].id, whole.flows[i].id);
            EXPECT_EQ(additive_text(joined.flows[i]), additive_text(whole.flows[i])) << "cut before frame " << at + 1;
            EXPECT_LE(joined.flows[i].last_ns, whole.flows[i].last_ns);
            EXPECT_EQ(sum(joined.flows[i].state_ns), joined.flows[i].wall_ns()) << "cut before frame " << at + 1;
            // What is a repetition of something before the cut, the second part cannot know.
            if (whole.flows[i].retransmitted_packets.value_or(0) != 0) continue;
            EXPECT_EQ(joined.flows[i].messages_total(), whole.flows[i].messages_total())
                << "cut before frame " << at + 1;
        }
    }
}
INSTANTIATE_TEST_SUITE_P(Scenarios, SplitTest,
                         testing::Values("window", "idle", "request_reply", "reads", "mix", "rnr", "credits", "stalls",
                                         "congestion"),
                         [](const auto& each) { return each.param; });

TEST(Split, WhereAllIsQuietEveryCounterAddsUp) {
    Plan plan = scenario("idle").plan;
    plan.network.loss_behind = 3000;
    plan.connections[0].a.application.think_ns = 3'000'000;  // longer than any recovery
    plan.connections[0].a.application.messages = 400;
    const History history = run(plan);
    const Frames frames = capture(history, tap_at(0), false);
    const Snapshot whole = analyse(frames, options_for(history));
    unsigned cuts = 0;
    for (std::size_t at = 1; at < frames.size(); ++at) {
        if (frames[at].time_ns - frames[at - 1].time_ns < 500'000) continue;
        ++cuts;
        const Snapshot joined = in_two(history, frames, at);
        ASSERT_EQ(joined.flows.size(), whole.flows.size());
        for (std::size_t i = 0; i < whole.flows.size(); ++i) {
            const FlowSnapshot& a = joined.flows[i];
            const FlowSnapshot& b = whole.flows[i];
            SCOPED_TRACE("cut before frame " + std::to_string(at + 1));
            EXPECT_EQ(additive_text(a), additive_text(b));
            EXPECT_EQ(a.payload_bytes, b.payload_bytes);
            EXPECT_EQ(a.retransmitted_packets, b.retransmitted_packets);
            EXPECT_EQ(a.duplicate_packets, b.duplicate_packets);
            EXPECT_EQ(a.reordered_packets, b.reordered_packets);
            EXPECT_EQ(a.missing_packets, b.missing_packets);
            EXPECT_EQ(a.naks, b.naks);
            EXPECT_EQ(a.rnr_naks, b.rnr_naks);
            EXPECT_EQ(a.timeouts, b.timeouts);
            EXPECT_EQ(a.messages_max, b.messages_max);
            EXPECT_EQ(a.message_bytes, b.message_bytes);
            EXPECT_EQ(a.message_duration_ns, b.message_duration_ns);
            EXPECT_EQ(a.recovery.count, b.recovery.count);
            for (std::size_t k = 0; k < metrics::operation_count; ++k) {
                EXPECT_EQ(a.operations[k].count, b.operations[k].count);
                EXPECT_EQ(a.operations[k].bytes, b.operations[k].bytes);
                EXPECT_EQ(a.operations[k].latency_ns, b.operations[k].latency_ns);
            }
            EXPECT_EQ(sum(a.state_ns), a.wall_ns());
        }
    }
    EXPECT_GE(cuts, 50u);
}

}  // namespace
