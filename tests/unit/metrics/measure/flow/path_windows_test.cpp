// Entropies of two hosts compared in windows of 2^20 ns. Counted by hand.
#include "metrics/measure/flow/path_windows.h"

#include <gmock/gmock.h>
#include <memory>

namespace {

using metrics::Entropy;
using metrics::Flow;
using metrics::FlowPaths;
using metrics::LossTimes;
using metrics::PathWindowFigures;
using metrics::PathWindows;
using metrics::SignCounts;

constexpr std::int64_t window_ns = 1 << 20;

/// Flows from one host to another, one for each port.
class Bench {
public:
    explicit Bench(unsigned flows) {
        for (unsigned i = 0; i < flows; ++i) add();
    }
    void add() {
        const auto port = static_cast<std::uint16_t>(50'000 + flows_.size());
        Flow& flow = *flows_.emplace_back(std::make_unique<Flow>());
        flow.key.source.octets[0] = 1;
        flow.key.destination.octets[0] = 2;
        paths_.set_key(flow, metrics::PathKey::of_plain(port, 64));
        windows_.join(flow, 26);
    }
    /// Packets of a flow in a window, the first `marked` of them with a mark.
    void send(unsigned flow, std::int64_t window, unsigned packets, unsigned marked = 0) {
        for (unsigned i = 0; i < packets; ++i) {
            windows_.note(*flows_[flow], window * window_ns + i);
            ++flows_[flow]->counts.packets;
            flows_[flow]->counts.last_ns = window * window_ns + i;
            flows_[flow]->counts.wire_bytes += 1000;
            if (i < marked) flows_[flow]->count_ce();
        }
    }
    void lose(unsigned flow) { windows_.note_loss(*flows_[flow], flows_[flow]->counts.last_ns); }
    void take_back_loss(unsigned flow) { windows_.take_back_loss(*flows_[flow]); }
    /// Of the last packet.
    void change_hop_limit(unsigned flow) { windows_.note_hop_limit(*flows_[flow]); }
    void answer(unsigned flow, std::uint64_t ns) { windows_.note_round_trip(*flows_[flow], ns); }
    Flow& flow(unsigned number) { return *flows_[number]; }
    bool takes_part(unsigned number) const {
        const std::uint32_t path = flows_[number]->path;
        return path != FlowPaths::none && paths_[path].member.pair != metrics::PathMember::none;
    }
    PathWindows& windows() { return windows_; }
    PathWindowFigures figures() {
        windows_.close();
        std::vector<PathWindowFigures> all;
        windows_.describe(all);
        return all.empty() ? PathWindowFigures{} : all.front();
    }

private:
    std::vector<std::unique_ptr<Flow>> flows_;
    FlowPaths paths_{1000};
    PathWindows windows_{paths_, 1000};
};

TEST(PathWindowCounts, CompareSharesOfMarks) {
    Bench bench(3);
    for (std::int64_t window = 1; window <= 5; ++window) {
        bench.send(0, window, 10, 5);
        bench.send(1, window, 10, 1);
        bench.send(2, window, 10, 3);  // the mean of the others: a tie
    }
    const PathWindowFigures figures = bench.figures();
    ASSERT_EQ(figures.rows.size(), 3u);
    EXPECT_EQ(figures.dscp, 26);
    EXPECT_EQ(figures.rows[0].marks, (SignCounts{5, 0}));
    EXPECT_EQ(figures.rows[1].marks, (SignCounts{0, 5}));
    EXPECT_EQ(figures.rows[2].marks, (SignCounts{0, 0}));
}

TEST(PathWindowCounts, NeedFourPacketsOnBothSides) {
    Bench bench(2);
    bench.send(0, 1, 10, 5);
    bench.send(1, 1, 3, 0);
    bench.send(0, 2, 3, 3);
    bench.send(1, 2, 10, 0);
    bench.send(0, 3, 10, 5);  // alone
    const PathWindowFigures figures = bench.figures();
    EXPECT_EQ(figures.rows[0].marks, SignCounts{});
    EXPECT_EQ(figures.rows[1].marks, SignCounts{});
}

TEST(PathWindowCounts, CompareMediansOfRoundTrips) {
    Bench bench(4);
    for (std::int64_t window = 1; window <= 3; ++window)
        for (unsigned flow = 0; flow < 4; ++flow) {
            bench.send(flow, window, 5);
            for (const std::uint64_t ns : {9'000U, 10'000U, 90'000U})
                bench.answer(flow, ns + (flow == 2 ? 20'000 : flow));
        }
    const PathWindowFigures figures = bench.figures();
    // Medians 10,000, 10,001, 30,000 and 10,003: that of the three others is 10,003, 10,003, 10,001 and 10,001.
    EXPECT_EQ(figures.rows[2].delays, (SignCounts{3, 0}));
    EXPECT_EQ(figures.rows[2].longer_ns.min(), 19'999u);
    EXPECT_EQ(figures.rows[0].delays, (SignCounts{0, 3}));
    EXPECT_EQ(figures.rows[3].delays, (SignCounts{3, 0}));
    EXPECT_EQ(figures.rows[3].longer_ns.max(), 2u);
}

/// Two entropies that alternate from one interval to the next are even in total.
TEST(PathWindowCounts, SeeThatEntropiesAlternate) {
    constexpr std::int64_t interval = 128;
    Bench bench(2);
    for (std::int64_t round = 1; round <= 9; ++round) bench.send(round % 2 == 0 ? 0 : 1, round * interval, 10);
    const PathWindowFigures figures = bench.figures();
    EXPECT_EQ(figures.max_over_mean_permille.count(), 8u) << "the last interval has not ended";
    EXPECT_EQ(figures.max_over_mean_permille.min(), 2000u);
}

TEST(PathWindowCounts, OneFlowIsNotFollowed) {
    Bench bench(1);
    EXPECT_FALSE(bench.takes_part(0));
    EXPECT_TRUE(bench.figures().rows.empty());
}

TEST(PathWindowCounts, FlowsLeave) {
    Bench bench(3);
    bench.send(0, 1, 10, 5);
    bench.send(1, 1, 10);
    bench.windows().leave(bench.flow(1));
    bench.send(0, 2, 10, 5);
    bench.send(2, 2, 10);
    EXPECT_EQ(bench.figures().rows[0].marks, (SignCounts{2, 0}));
    bench.windows().leave(bench.flow(0));
    bench.windows().leave(bench.flow(2));
    EXPECT_TRUE(bench.figures().rows.empty()) << "nothing is left of the pair";
}

TEST(PathWindowCounts, EntropiesOfFlowsThatLeftAreNotOfTheMean) {
    constexpr std::int64_t interval = 128;
    Bench bench(3);
    bench.windows().leave(bench.flow(2));
    for (std::int64_t round = 1; round <= 9; ++round) bench.send(round % 2 == 0 ? 0 : 1, round * interval, 10);
    EXPECT_EQ(bench.figures().max_over_mean_permille.max(), 2000u);
}

TEST(PathWindowCounts, AnEntropyWithoutFlowsMakesRoom) {
    Bench bench(metrics::PathFigures::most_rows);
    bench.send(0, 1, 10);
    bench.send(5, 1, 10, 5);
    bench.add();
    EXPECT_FALSE(bench.takes_part(64));
    bench.windows().leave(bench.flow(5));
    bench.add();
    ASSERT_TRUE(bench.takes_part(65));
    bench.send(0, 2, 10, 5);
    bench.send(65, 2, 10);
    const PathWindowFigures figures = bench.figures();
    ASSERT_EQ(figures.rows.size(), metrics::PathFigures::most_rows);
    EXPECT_EQ(figures.rows.back().entropy, Entropy::of_udp(50'065));
    EXPECT_EQ(figures.rows.back().marks, (SignCounts{0, 1}));
    EXPECT_EQ(figures.rows[5].entropy, Entropy::of_udp(50'006));
}

TEST(PathLossTimes, CountPacketsBetweenLosses) {
    Bench bench(2);
    bench.send(0, 1, 10);
    bench.send(0, 2, 4);
    bench.lose(0);  // after 14 packets
    bench.send(0, 2, 6);
    bench.send(0, 3, 10);
    bench.lose(0);  // after 30
    bench.send(0, 4, 10);
    bench.send(0, 5, 1);
    bench.lose(0);  // after 41
    bench.send(0, 5, 9);
    for (std::int64_t window = 6; window <= 10; ++window) bench.send(0, window, 10);
    bench.send(1, 10, 10);
    const PathWindowFigures figures = bench.figures();
    EXPECT_EQ(
        figures.rows[0].losses,
        (LossTimes{.packets = 100, .episodes = 3, .packets_since = 59, .widest_gap = 16, .last_ns = 5 * window_ns}));
    EXPECT_EQ(figures.rows[1].losses, (LossTimes{.packets = 10, .packets_since = 10}));
}

/// A snapshot in the middle of a window ends no window, and is compared once.
TEST(PathLossTimes, DoNotDependOnSnapshots) {
    Bench bench(2);
    Bench undisturbed(2);
    for (Bench* each : {&bench, &undisturbed}) {
        each->send(0, 1, 10, 5);
        each->send(1, 1, 10);
        if (each == &bench) bench.figures();
        each->send(0, 1, 7, 7);
        each->lose(0);
        each->send(0, 1, 5, 5);
        if (each == &bench) bench.figures();
        each->send(0, 2, 10);
    }
    const PathWindowFigures figures = bench.figures();
    EXPECT_EQ(figures.rows[0].losses, undisturbed.figures().rows[0].losses);
    EXPECT_EQ(figures.rows[0].losses.packets, 32u);
    EXPECT_EQ(figures.rows[0].losses.packets_since, 15u);
    EXPECT_EQ(figures.rows[0].marks, (SignCounts{1, 0}));
}

TEST(PathLossTimes, TakeBackWhatWasNone) {
    Bench bench(2);
    bench.send(0, 1, 10);
    bench.take_back_loss(0);
    bench.lose(0);
    bench.take_back_loss(0);
    EXPECT_EQ(bench.figures().rows[0].losses, (LossTimes{.packets = 10, .packets_since = 10}));
}

/// One entropy alone takes another route; what is known of the others stays.
TEST(PathReroutes, BeginOneEntropyAgain) {
    Bench bench(3);
    for (unsigned flow = 0; flow < 3; ++flow) {
        bench.send(flow, 1, 10, flow == 1 ? 5 : 0);
        bench.lose(flow);
    }
    bench.send(0, 2, 1);
    bench.change_hop_limit(0);
    for (std::int64_t window = 3; window <= 4; ++window)
        for (unsigned flow = 0; flow < 3; ++flow) bench.send(flow, window, 10);
    const PathWindowFigures figures = bench.figures();
    EXPECT_EQ(figures.rows[0].rerouted_ns, 2 * window_ns);
    EXPECT_EQ(figures.rows[0].losses, (LossTimes{.packets = 20, .packets_since = 20}));
    EXPECT_EQ(figures.rows[0].losses_before, (LossTimes{.packets = 11, .episodes = 1, .last_ns = window_ns + 9}));
    EXPECT_EQ(figures.rows[0].marks, SignCounts{});
    EXPECT_EQ(figures.rows[1].rerouted_ns, 0);
    EXPECT_EQ(figures.rows[1].losses.episodes, 1u);
    EXPECT_EQ(figures.rows[1].marks, (SignCounts{1, 0}));
}

/// Two entropies within a second: routes have changed, and the third one's may have, too. Later it is something else.
TEST(PathReroutes, BeginAllAgain) {
    constexpr std::int64_t second = 954;  // windows
    Bench bench(3);
    for (unsigned flow = 0; flow < 3; ++flow) {
        bench.send(flow, 1, 10, flow == 1 ? 5 : 0);
        bench.lose(flow);
    }
    bench.send(0, 2, 1);
    bench.change_hop_limit(0);
    bench.send(1, second - 10, 1);
    bench.change_hop_limit(1);
    for (unsigned flow = 0; flow < 3; ++flow) bench.send(flow, second, 10);
    PathWindowFigures figures = bench.figures();
    for (const metrics::EntropyWindows& row : figures.rows) {
        EXPECT_EQ(row.rerouted_ns, (second - 10) * window_ns);
        EXPECT_EQ(row.losses, (LossTimes{.packets = 10, .packets_since = 10}));
        EXPECT_EQ(row.losses_before.episodes, 1u) << "what changes together has one time before";
        EXPECT_EQ(row.marks, SignCounts{});
    }
    bench.send(2, 4 * second, 1);
    bench.lose(2);
    bench.change_hop_limit(2);
    figures = bench.figures();
    EXPECT_EQ(figures.rows[0].rerouted_ns, (second - 10) * window_ns);
    EXPECT_EQ(figures.rows[2].rerouted_ns, 4 * second * window_ns);
    EXPECT_EQ(figures.rows[2].losses_before,
              (LossTimes{.packets = 11, .episodes = 1, .last_ns = 4 * second * window_ns}));
}

TEST(PathWindowCounts, AFlowThatSpraysTakesNoPart) {
    Bench bench(3);
    bench.windows().exclude(bench.flow(1));
    EXPECT_FALSE(bench.takes_part(1));
    bench.send(0, 1, 10, 5);
    bench.send(1, 1, 10, 9);
    bench.send(2, 1, 10);
    EXPECT_EQ(bench.figures().rows[0].marks, (SignCounts{1, 0}));
}

}  // namespace
