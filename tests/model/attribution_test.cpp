#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/model/model_analysis.h"
#include "tests/model/scenarios.h"

/// Where the time went, against what the sender really did.
namespace {

using namespace model;
using metrics::State;
using metrics::StateTimes;

/// The share of the time on which both agree: 1 - half of the sum of the differences.
double agreement(const StateTimes& measured, const StateTimes& truth) {
    std::uint64_t apart = 0;
    for (std::size_t i = 0; i < truth.size(); ++i)
        apart += measured[i] > truth[i] ? measured[i] - truth[i] : truth[i] - measured[i];
    return 1 - static_cast<double>(apart) / 2 / static_cast<double>(sum(truth));
}

/// A responder's silences are its requester's, whatever their names.
void join_idle(StateTimes& times) {
    for (const State state : {State::application_in_flight, State::peer_wait}) {
        times[index_of(State::application_idle)] += times[index_of(state)];
        times[index_of(state)] = 0;
    }
}

/// Of READs among other messages in a short queue, only the set-up of the connection shows whether ORD or the queue's
/// depth holds them.
void join_windows(StateTimes& times) {
    times[index_of(State::ack_window)] += times[index_of(State::read_window)];
    times[index_of(State::read_window)] = 0;
}

void print(const std::string& heading, const StateTimes& measured, const StateTimes& truth) {
    fmt::print("{} {:.1f} %\n", heading, agreement(measured, truth) * 100);
    const auto wall = static_cast<double>(sum(truth));
    for (std::size_t i = 0; i < truth.size(); ++i)
        if (measured[i] + truth[i] != 0)
            fmt::print("    {:<22} {:6.2f} % {:6.2f} %\n", metrics::state_names[i],
                       static_cast<double>(measured[i]) / wall * 100, static_cast<double>(truth[i]) / wall * 100);
}

class AttributionTest : public testing::TestWithParam<Scenario> {
protected:
    void compare(Tap tap, const char* place, double least) {
        const History history = run(GetParam().plan);
        const std::vector<Figures> truth = figures(history, tap);
        const std::vector<Figures> at_sender[2] = {figures(history, tap_at(0)), figures(history, tap_at(1))};
        const metrics::Snapshot snapshot = analyse(capture(history, tap, false), options_for(history));
        for (std::uint32_t side = 0; side < truth.size() && side < 2; ++side) {
            const metrics::FlowSnapshot* flow = flow_of(snapshot, history, side);
            ASSERT_NE(flow, nullptr);
            const Figures& own = at_sender[history.end(side).host % 2][side];
            // What the sender did while the flow lived at the tap, as early as it did it.
            const std::int64_t epoch = history.plan.epoch_ns;
            StateTimes real = history.sides[side].states(own.first_ns + (flow->first_ns - epoch - truth[side].first_ns),
                                                         own.last_ns + (flow->last_ns - epoch - truth[side].last_ns));
            StateTimes measured = flow->state_ns;
            if (own.packets == own.acknowledgement_packets) continue;
            if (history.end(side).application.messages == 0) join_idle(real), join_idle(measured);
            if (GetParam().name == "mix" || GetParam().name == "implied_naks")
                join_windows(real), join_windows(measured);
            print(fmt::format("{} at the {}, side {}:", GetParam().name, place, side), measured, real);
            EXPECT_GE(agreement(measured, real), least);
        }
    }
};

TEST_P(AttributionTest, AtTheSender) { compare(tap_at(0), "sender", 0.95); }
TEST_P(AttributionTest, AtTheReceiver) { compare(tap_at(1), "receiver", 0.90); }
TEST_P(AttributionTest, InTheMiddle) { compare(middle_tap, "switch", 0); }

/// A sender that paces itself, and a capture that begins when half of it is over.
class PacedTest : public testing::TestWithParam<Scenario> {
protected:
    void compare(Tap tap, const char* place) {
        const History history = run(GetParam().plan);
        const std::vector<Figures> truth = figures(history, tap);
        const std::vector<Figures> at_sender[2] = {figures(history, tap_at(0)), figures(history, tap_at(1))};
        Frames frames = capture(history, tap, false);
        frames.erase(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(frames.size() / 2));
        const metrics::Snapshot snapshot = analyse(frames, options_for(history));
        for (std::uint32_t side = 0; side < truth.size(); ++side) {
            const Figures& own = at_sender[history.end(side).host % 2][side];
            if (own.packets == own.acknowledgement_packets) continue;
            const metrics::FlowSnapshot* flow = flow_of(snapshot, history, side);
            ASSERT_NE(flow, nullptr);
            const std::int64_t epoch = history.plan.epoch_ns;
            StateTimes real = history.sides[side].states(own.first_ns + (flow->first_ns - epoch - truth[side].first_ns),
                                                         own.last_ns + (flow->last_ns - epoch - truth[side].last_ns));
            StateTimes measured = flow->state_ns;
            if (history.end(side).application.messages == 0) {
                join_idle(real);
                join_idle(measured);
            }
            print(fmt::format("{} at the {}, side {}:", GetParam().name, place, side), measured, real);
            EXPECT_GE(agreement(measured, real), 0.95);
        }
    }
};

TEST_P(PacedTest, AtTheSender) { compare(tap_at(0), "sender"); }
TEST_P(PacedTest, AtTheReceiver) { compare(tap_at(1), "receiver"); }
TEST_P(PacedTest, InTheMiddle) { compare(middle_tap, "switch"); }

INSTANTIATE_TEST_SUITE_P(Paced, PacedTest, testing::ValuesIn(paced_scenarios()),
                         [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(Scenarios, AttributionTest, testing::ValuesIn(scenarios()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
