#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <set>

#include "tests/model/scenarios.h"
#include "tests/model/trace_records.h"

/// Trace and packets together, against what the model's programs, adapters and network really did.
namespace {

using namespace model;
using metrics::DelayFigures;
using metrics::State;
using metrics::VerbsFigures;
using metrics::posts::TraceJoin;

struct Sums {
    std::uint64_t count = 0;
    std::uint64_t post_to_wire = 0;
    std::uint64_t wire = 0;
    std::uint64_t wire_to_ack = 0;
    std::uint64_t ack_to_poll = 0;
    bool operator==(const Sums&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Sums& sums) {
    return out << sums.count << " messages: " << sums.post_to_wire << ' ' << sums.wire << ' ' << sums.wire_to_ack << ' '
               << sums.ack_to_poll;
}

/// Of the messages from `from` on that are signalled.
Sums sums_of(const std::vector<MessageTruth>& messages, std::uint32_t signal_every, std::size_t from = 0) {
    Sums out;
    const auto between = [](std::int64_t a, std::int64_t b) { return static_cast<std::uint64_t>(b - a); };
    for (std::size_t i = from; i < messages.size(); ++i) {
        const MessageTruth& one = messages[i];
        if ((i + 1) % signal_every != 0) continue;
        ++out.count;
        out.post_to_wire += between(one.post_ns, one.first_ns);
        out.wire += between(one.first_ns, one.last_ns);
        out.wire_to_ack += between(one.last_ns, one.ack_ns);
        out.ack_to_poll += between(one.ack_ns, one.poll_ns);
    }
    return out;
}

Sums sums_of(const DelayFigures& delays) {
    return {delays.whole_ns.count(), delays.post_to_wire_ns.sum(), delays.wire_ns.sum(), delays.wire_to_ack_ns.sum(),
            delays.ack_to_poll_ns.sum()};
}

void expect_parts_make_the_whole(const VerbsFigures& verbs) {
    for (const metrics::OperationWaits& one : verbs.operations) {
        const DelayFigures& d = one.delays;
        EXPECT_EQ(d.post_to_wire_ns.sum() + d.wire_ns.sum() + d.wire_to_ack_ns.sum() + d.ack_to_poll_ns.sum(),
                  d.whole_ns.sum());
        for (const metrics::Histogram* part : {&d.post_to_wire_ns, &d.wire_ns, &d.wire_to_ack_ns, &d.ack_to_poll_ns})
            EXPECT_EQ(part->count(), d.whole_ns.count());
    }
}

constexpr Recording usual{1, 200, 300, 0};

class TracedModel : public testing::TestWithParam<Scenario> {};

/// What is lost and repaired makes other latencies than those of a first transmission: there only sums must hold.
bool is_smooth(const std::string& name) {
    static const std::set<std::string> smooth{"window",    "deep_window",   "coalesced", "line_rate", "idle",
                                              "in_flight", "request_reply", "reads",     "atomics"};
    return smooth.contains(name);
}

TEST_P(TracedModel, EveryMessageHasItsWorkRequest) {
    const History history = run(GetParam().plan);
    TraceJoin join;
    const metrics::Snapshot snapshot =
        analyse_both(history, capture(history, tap_at(0), false), records(history, usual), join);
    for (std::uint32_t side = 0; side < history.sides.size(); ++side) {
        if (history.end(side).application.messages == 0) continue;
        const metrics::FlowSnapshot* flow = flow_of(snapshot, history, side);
        ASSERT_NE(flow, nullptr);
        ASSERT_TRUE(flow->verbs) << side;
        const VerbsFigures& verbs = *flow->verbs;
        EXPECT_EQ(verbs.process.pid, process_of(side));
        EXPECT_EQ(verbs.process.command, "program " + std::to_string(side));
        EXPECT_EQ(verbs.queue_pair, history.end(side).qpn);
        EXPECT_EQ(verbs.posts, history.sides[side].posted);
        EXPECT_EQ(verbs.completions, history.sides[side].completed);
        EXPECT_TRUE(verbs.exact());
        expect_parts_make_the_whole(verbs);
        EXPECT_EQ(sum(flow->state_ns), flow->wall_ns());
        if (!is_smooth(GetParam().name) || history.end(side).host != 0) continue;
        EXPECT_EQ(verbs.messages_matched, history.sides[side].posted);
        EXPECT_EQ(verbs.messages_unmatched, 0u);
        EXPECT_EQ(sums_of(verbs.delays()), sums_of(messages(history, tap_at(0), side, usual), 1));
    }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, TracedModel, testing::ValuesIn(scenarios()),
                         [](const auto& each) { return each.param.name; });

const VerbsFigures& verbs_of(const metrics::Snapshot& snapshot, const History& history, std::uint32_t side = 0) {
    static const VerbsFigures none;
    const metrics::FlowSnapshot* flow = flow_of(snapshot, history, side);
    return flow != nullptr && flow->verbs ? *flow->verbs : none;
}

TEST(TraceAndPackets, DepthIsTheProgramsOwn) {
    for (const char* const name : {"window", "deep_window", "line_rate"}) {
        const History history = run(scenario(name).plan);
        TraceJoin join;
        const metrics::Snapshot snapshot =
            analyse_both(history, capture(history, tap_at(0), false), records(history, {}), join);
        const metrics::LevelFigures& queue = verbs_of(snapshot, history).send_queue;
        EXPECT_EQ(queue.max, history.end(0).application.depth) << name;
        EXPECT_EQ(queue.capacity, history.end(0).application.depth) << name;
        // The integral, by every request's own time in the queue.
        const SideTruth& truth = history.sides[0];
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < truth.post_ns.size(); ++i)
            sum += static_cast<std::uint64_t>(truth.complete_ns[i] - truth.post_ns[i]);
        const auto wall = static_cast<std::uint64_t>(truth.complete_ns.back() - truth.post_ns.front());
        EXPECT_EQ(queue.observed_ns, wall) << name;
        EXPECT_NEAR(queue.mean, static_cast<double>(sum) / static_cast<double>(wall), 1e-9) << name;
    }
}

TEST(TraceAndPackets, OnlySignalledMessagesHaveACompletionOfTheirOwn) {
    const History history = run(scenario("deep_window").plan);
    Recording recording = usual;
    recording.signal_every = 4;
    TraceJoin join;
    const metrics::Snapshot snapshot =
        analyse_both(history, capture(history, tap_at(0), false), records(history, recording), join);
    const VerbsFigures& verbs = verbs_of(snapshot, history);
    EXPECT_EQ(verbs.messages_matched, 2000u);
    EXPECT_EQ(verbs.completions, 500u);
    EXPECT_EQ(sums_of(verbs.delays()), sums_of(messages(history, tap_at(0), 0, recording), 4));
}

/// What was posted, sent and completed before the capture began must not be taken for what came after.
TEST(TraceAndPackets, ACaptureThatBeginsMidwayFindsItsPlace) {
    for (const char* const name : {"deep_window", "idle", "reads", "coalesced"}) {
        const History history = run(scenario(name).plan);
        Frames frames = capture(history, tap_at(0), false);
        frames.erase(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(frames.size() / 3));
        TraceJoin join;
        const metrics::Snapshot snapshot = analyse_both(history, frames, records(history, usual), join);
        const VerbsFigures& verbs = verbs_of(snapshot, history);
        const std::vector<MessageTruth> truth = messages(history, tap_at(0), 0, usual);
        const std::uint64_t found = verbs.delays().whole_ns.count();
        EXPECT_GT(found, truth.size() / 2) << name;
        ASSERT_LE(found, truth.size()) << name;
        EXPECT_EQ(sums_of(verbs.delays()), sums_of(truth, 1, truth.size() - found)) << name;
    }
}

/// The second half of the records, after what says who the queue pairs are.
Records second_half(const History& history, const Recording& recording) {
    const Records all = records(history, recording);
    Records out(all.begin(), all.begin() + 6);
    for (wire::trace::Record& made : out) made.change.state = 3;  // ready long since
    out.insert(out.end(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    return out;
}

TEST(TraceAndPackets, ATraceThatBeginsMidwayFindsItsPlace) {
    const History history = run(scenario("deep_window").plan);
    Recording recording = usual;
    recording.ids = true;
    TraceJoin join;
    const metrics::Snapshot snapshot =
        analyse_both(history, capture(history, tap_at(0), false), second_half(history, recording), join);
    const VerbsFigures& verbs = verbs_of(snapshot, history);
    const std::vector<MessageTruth> truth = messages(history, tap_at(0), 0, recording);
    const std::uint64_t found = verbs.delays().whole_ns.count();
    EXPECT_GT(found, truth.size() / 4);
    ASSERT_LE(found, truth.size());
    EXPECT_EQ(sums_of(verbs.delays()), sums_of(truth, 1, truth.size() - found));
    EXPECT_GT(verbs.messages_unmatched, truth.size() / 4);
    EXPECT_FALSE(verbs.exact());
}

/// Completions of requests that were posted before look like those of the first ones after.
TEST(TraceAndPackets, WithoutIdsATraceThatBeginsMidwaySaysNothingOfCompletions) {
    const History history = run(scenario("deep_window").plan);
    TraceJoin join;
    const metrics::Snapshot snapshot =
        analyse_both(history, capture(history, tap_at(0), false), second_half(history, usual), join);
    const VerbsFigures& verbs = verbs_of(snapshot, history);
    EXPECT_FALSE(verbs.exact());
    EXPECT_GT(verbs.completions, 900u);
    EXPECT_EQ(verbs.delays().whole_ns.count(), 0u);
}

TEST(TraceAndPackets, LostRecordsAreCountedAndMadeUpFor) {
    for (const bool ids : {false, true}) {
        const History history = run(scenario("deep_window").plan);
        Recording recording = usual;
        recording.ids = ids;
        Records trace = records(history, recording);
        const std::size_t middle = trace.size() / 2;
        wire::trace::Record lost;
        lost.kind = wire::trace::RecordKind::lost;
        lost.process = process_of(0);
        lost.time_ns = trace[middle + 41].time_ns;
        lost.count = 41;
        trace.erase(trace.begin() + static_cast<std::ptrdiff_t>(middle),
                    trace.begin() + static_cast<std::ptrdiff_t>(middle + 41));
        trace.insert(trace.begin() + static_cast<std::ptrdiff_t>(middle), lost);
        TraceJoin join;
        const metrics::Snapshot snapshot = analyse_both(history, capture(history, tap_at(0), false), trace, join);
        const VerbsFigures& verbs = verbs_of(snapshot, history);
        EXPECT_EQ(verbs.records_lost, 41u);
        EXPECT_FALSE(verbs.exact());
        const std::uint64_t found = verbs.delays().whole_ns.count();
        // Half of the messages come before; what was posted in the millisecond before is given up.
        EXPECT_GT(found, ids ? 1700u : 700u);
        // No message was given another's work request: each that was measured is one of the truth's.
        expect_parts_make_the_whole(verbs);
        std::int64_t longest = 0;
        std::uint64_t shortest_to_wire = UINT64_MAX;
        for (const MessageTruth& one : messages(history, tap_at(0), 0, recording)) {
            longest = std::max(longest, one.poll_ns - one.post_ns);
            shortest_to_wire = std::min(shortest_to_wire, static_cast<std::uint64_t>(one.first_ns - one.post_ns));
        }
        EXPECT_LE(verbs.delays().whole_ns.max(), static_cast<std::uint64_t>(longest));
        EXPECT_GE(verbs.delays().post_to_wire_ns.min(), shortest_to_wire);
    }
}

/// The adapter was rung 20 us after the posts were recorded: of gaps that packets call idle, this time was not idle.
TEST(TraceAndPackets, TimeBehindThePostIsNotTheApplications) {
    constexpr std::int64_t early_ns = 20'000;
    const History history = run(scenario("idle").plan);
    Recording recording;
    recording.early_ns = early_ns;
    TraceJoin without_delay;
    const metrics::Snapshot before =
        analyse_both(history, capture(history, tap_at(0), false), records(history, {}), without_delay);
    TraceJoin join;
    const metrics::Snapshot snapshot =
        analyse_both(history, capture(history, tap_at(0), false), records(history, recording), join);
    const metrics::FlowSnapshot& flow = *flow_of(snapshot, history, 0);
    const std::uint64_t gaps = history.sides[0].posted / history.end(0).application.burst - 1;
    std::uint64_t held = 0;
    for (const std::uint64_t one : flow.verbs->held_ns) held += one;
    const auto expected = static_cast<double>(gaps * early_ns);
    EXPECT_NEAR(static_cast<double>(held), expected, 0.02 * expected);
    const metrics::FlowSnapshot& plain = *flow_of(before, history, 0);
    EXPECT_EQ(sum(flow.state_ns), flow.wall_ns());
    const auto idle = index_of(State::application_idle);
    EXPECT_NEAR(static_cast<double>(plain.state_ns[idle] - flow.state_ns[idle]), static_cast<double>(held),
                0.02 * static_cast<double>(held));
    EXPECT_EQ(flow.state_ns[index_of(State::nic_stall)] - plain.state_ns[index_of(State::nic_stall)],
              plain.state_ns[idle] - flow.state_ns[idle] +
                  (plain.state_ns[index_of(State::application_in_flight)] -
                   flow.state_ns[index_of(State::application_in_flight)]) +
                  (plain.state_ns[index_of(State::peer_wait)] - flow.state_ns[index_of(State::peer_wait)]));
}

/// For months: nothing remembers what the engine has forgotten, and a program that goes on is found again.
TEST(TraceAndPackets, FlowsThatAreForgottenLeaveNothing) {
    const History history = run(scenario("window").plan);
    const Frames frames = capture(history, tap_at(0), false);
    const Records all = records(history, usual);
    TraceJoin join;
    metrics::AnalyzerOptions options = options_for(history);
    options.engine.observer = &join;
    metrics::Analyzer analyzer(options);
    const auto posts = [&](const metrics::Snapshot& snapshot) {
        const metrics::FlowSnapshot* const flow = flow_of(snapshot, history, 0);
        return flow == nullptr || !flow->verbs ? 0 : flow->verbs->posts;
    };
    EXPECT_GT(posts(analyse_both(history, frames, all, join, analyzer)), 0u);
    EXPECT_GT(join.flows(), 0u);
    EXPECT_GT(analyzer.begin_interval(std::numeric_limits<std::int64_t>::max()), 0u);
    EXPECT_EQ(join.flows(), 0u);
    EXPECT_GT(posts(analyse_both(history, frames, all, join, analyzer)), 0u);
    EXPECT_GT(join.flows(), 0u);
}

TEST(TraceAndPackets, ALatePollIsSeen) {
    const History history = run(scenario("window").plan);
    TraceJoin join;
    Recording recording;
    recording.poll_ns = 250;  // of the 300 ns until the next post
    const metrics::Snapshot snapshot =
        analyse_both(history, capture(history, tap_at(0), false), records(history, recording), join);
    const VerbsFigures& verbs = verbs_of(snapshot, history);
    EXPECT_EQ(verbs.delays().ack_to_poll_ns.min(), 250u);
}

}  // namespace
