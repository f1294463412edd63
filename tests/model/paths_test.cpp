/// What `why` and the figures of paths say of traffic whose routes are known: 200 seeds of each kind.
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <mutex>

#include "tests/model/routes_analysis.h"

namespace {

using namespace model;

constexpr std::uint64_t seeds = 200;

/// Routes of a fabric whose queues are short and whose cables differ a little.
std::vector<Route> healthy_routes(std::uint32_t count, std::int64_t step_ns = 0) {
    std::vector<Route> routes(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        routes[i].delay_ns += step_ns * i;
        routes[i].jitter_ns = 600;
    }
    return routes;
}

/// Collects what failed, so that a message says the seeds and no thread writes into another's.
class Failures {
public:
    void add(std::uint64_t seed, const std::string& what) {
        const std::lock_guard lock(mutex_);
        ++count_;
        if (count_ <= 3) text_ += "seed " + std::to_string(seed) + ": " + what + "\n";
    }
    std::uint64_t count() const { return count_; }
    const std::string& text() const { return text_; }

private:
    std::mutex mutex_;
    std::uint64_t count_ = 0;
    std::string text_;
};

// --- disorder without harm, and with harm ----------------------------------------------------------------------------

struct SprayCase {
    Spread spread;
    Order order;
    bool tap_after;
    std::string name;
};

class CleanSpray : public testing::TestWithParam<SprayCase> {};

TEST_P(CleanSpray, RaisesNoAlarm) {
    Failures failures;
    std::atomic<std::uint64_t> late{0};
    for_each_seed(seeds, [&](std::uint64_t seed) {
        RoutePlan plan;
        plan.routes = healthy_routes(8, 400);
        plan.pairs = alike(4, 2000);
        plan.spread = GetParam().spread;
        plan.order = GetParam().order;
        plan.tap_after = GetParam().tap_after;
        plan.counts = seed % 2 == 0;
        plan.seed = seed;
        const RoutedOutcome out = analyse(plan);
        late += out.truth.late;
        if (out.alarm({"path_sick", "path_slow", "path_marked", "reordering", "go_back_n_violation"}))
            failures.add(seed, out.alarms());
    });
    EXPECT_GT(late, seeds * 1000) << "the routes do not put packets out of order";
    EXPECT_EQ(failures.count(), 0u) << failures.text();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, CleanSpray,
    testing::Values(SprayCase{Spread::by_adapter, Order::selective, true, "adapter_selective_after"},
                    SprayCase{Spread::by_adapter, Order::placing, true, "adapter_placing_after"},
                    SprayCase{Spread::by_network, Order::selective, true, "network_selective_after"},
                    SprayCase{Spread::by_network, Order::placing, true, "network_placing_after"},
                    SprayCase{Spread::by_adapter, Order::placing, false, "adapter_placing_before"},
                    SprayCase{Spread::by_network, Order::selective, false, "network_selective_before"}),
    [](const auto& each) { return each.param.name; });

/// A receiver that needs the order repairs what was not lost.
TEST(SprayInOrder, IsReordering) {
    Failures failures;
    for_each_seed(40, [&](std::uint64_t seed) {
        RoutePlan plan;
        plan.routes = healthy_routes(8, 400);
        plan.pairs = alike(4, 2000);
        plan.spread = seed % 2 == 0 ? Spread::by_adapter : Spread::by_network;
        plan.seed = seed;
        const RoutedOutcome out = analyse(plan);
        if (!out.alarm({"reordering"})) failures.add(seed, out.alarms());
    });
    EXPECT_EQ(failures.count(), 0u) << failures.text();
}

// --- one path that loses ---------------------------------------------------------------------------------------------

struct SickCase {
    std::uint32_t entropies;
    std::uint32_t packets;
    std::uint32_t loss_elsewhere;  ///< millionths
    std::uint32_t burst;
    Order order;
    bool tap_after;
    std::string name;
};

class SickPath : public testing::TestWithParam<SickCase> {};

/// The loss on one route is 0.001. It is the first that is called sick in 95 % of the seeds, and no other is in more
/// than 1 %.
TEST_P(SickPath, IsNamedFirst) {
    const SickCase& sizes = GetParam();
    Failures missed;
    std::atomic<std::uint64_t> others{0};
    for_each_seed(seeds, [&](std::uint64_t seed) {
        RoutePlan plan;
        plan.routes = healthy_routes(sizes.entropies);
        for (Route& route : plan.routes) {
            route.loss = sizes.loss_elsewhere;
            route.burst = sizes.burst;
        }
        const std::uint64_t sick = seed % sizes.entropies;
        plan.routes[sick].loss = 1000;
        plan.pairs = alike(sizes.entropies, sizes.packets);
        plan.one_each = true;
        plan.order = sizes.order;
        plan.tap_after = sizes.tap_after;
        plan.seed = seed;
        const RoutedOutcome out = analyse(plan);
        const std::vector<Entropy> named = out.sick();
        const bool first = !named.empty() && named[0].port == plan.pairs[sick].port;
        if (!first || !out.alarm({"path_sick"}))
            missed.add(seed, std::to_string(out.pair()->loss_episodes()) + " episodes seen, " +
                                 std::to_string(named.size()) + " named\n" + out.alarms());
        others += named.size() > (first ? 1u : 0u) ? 1 : 0;
    });
    EXPECT_LE(missed.count(), seeds / 20) << missed.text();
    EXPECT_LE(others, seeds / 100);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, SickPath,
    // Two entropies need more: with 20,000 packets 96 % are found, which is too near for 200 seeds.
    testing::Values(SickCase{2, 24'000, 10, 1, Order::in_order, true, "two_after"},
                    SickCase{4, 20'000, 10, 1, Order::in_order, true, "four_after"},
                    SickCase{8, 20'000, 10, 1, Order::in_order, true, "eight_after"},
                    SickCase{8, 10'000, 0, 1, Order::in_order, true, "eight_short_after"},
                    SickCase{4, 20'000, 10, 1, Order::in_order, false, "four_before"},
                    SickCase{8, 20'000, 10, 1, Order::in_order, false, "eight_before"},
                    SickCase{4, 20'000, 10, 1, Order::selective, true, "four_selective_after"},
                    SickCase{4, 20'000, 10, 1, Order::selective, false, "four_selective_before"},
                    SickCase{4, 20'000, 10, 1, Order::placing, true, "four_placing_after"}),
    [](const auto& each) { return each.param.name; });

struct BurstCase {
    std::uint32_t burst;
    std::uint32_t packets;  ///< of an entropy, on average
    Order order;
    bool tap_after;
    bool uneven;
    std::string name;
};

class LossOnAllPaths : public testing::TestWithParam<BurstCase> {};

/// All routes lose 0.001 of their packets, in bursts: no entropy is sick.
TEST_P(LossOnAllPaths, MakesNoneSick) {
    Failures failures;
    for_each_seed(seeds, [&](std::uint64_t seed) {
        RoutePlan plan;
        plan.routes = healthy_routes(8);
        for (Route& route : plan.routes) {
            route.loss = 1000;
            route.burst = GetParam().burst;
        }
        plan.pairs = alike(8, GetParam().packets);
        // 30 %, 22 %, ... 1 % of the packets.
        constexpr std::array<std::uint32_t, 8> shares{30, 22, 16, 12, 9, 6, 4, 1};
        if (GetParam().uneven)
            for (std::size_t i = 0; i < 8; ++i) {
                plan.pairs[i].packets = GetParam().packets / 100 * 8 * shares[i];
                plan.pairs[i].gap_ns = 30'000 / shares[i];
            }
        plan.one_each = true;
        plan.order = GetParam().order;
        plan.tap_after = GetParam().tap_after;
        plan.seed = seed;
        const RoutedOutcome out = analyse(plan);
        if (out.alarm({"path_sick", "path_slow", "path_marked"}) || !out.sick().empty())
            failures.add(seed, out.alarms());
    });
    EXPECT_LE(failures.count(), seeds / 100) << failures.text();
}

INSTANTIATE_TEST_SUITE_P(Bursts, LossOnAllPaths,
                         testing::Values(BurstCase{1, 10'000, Order::in_order, true, false, "of_1_after"},
                                         BurstCase{10, 20'000, Order::in_order, true, false, "of_10_after"},
                                         BurstCase{10, 10'000, Order::in_order, false, false, "of_10_before"},
                                         BurstCase{10, 10'000, Order::selective, true, false, "of_10_selective_after"},
                                         BurstCase{10, 10'000, Order::placing, true, false, "of_10_placing_after"},
                                         BurstCase{3, 10'000, Order::in_order, true, true, "of_3_uneven_after"}),
                         [](const auto& each) { return each.param.name; });

/// Hashed routes: those that are called sick lie on the route that loses, and several of them do.
TEST(HashedSickPath, NamesEntropiesOfTheRoute) {
    Failures failures;
    std::atomic<std::uint64_t> found{0};
    for_each_seed(20, [&](std::uint64_t seed) {
        RoutePlan plan;
        plan.routes = healthy_routes(8);
        plan.routes[3].loss = 2000;
        plan.pairs = alike(24, 10'000);
        plan.seed = seed;
        const RoutedOutcome out = analyse(plan);
        const std::vector<Entropy> named = out.sick();
        found += named.size();
        for (const Entropy& each : named)
            if (out.truth.entropies.at(each).route != 3) failures.add(seed, std::to_string(each.port));
    });
    // 24 / 8 of 24 on average; at most a quarter can be named.
    EXPECT_GT(found, 20 * 2);
    EXPECT_EQ(failures.count(), 0u) << failures.text();
}

// --- figures ---------------------------------------------------------------------------------------------------------

/// Packets, bytes and marks of every entropy are the model's own, and evenness is what the bytes say.
void expect_figures(const RoutedOutcome& out) {
    std::map<Entropy, const metrics::PathRow*> rows;
    for (const bool from_b : {false, true}) {
        const metrics::PathPair* pair = out.pair(from_b);
        if (pair == nullptr) continue;
        double sum = 0;
        double squares = 0;
        for (const metrics::PathRow& row : pair->rows) {
            rows[entropy_of(row.figures.entropy, from_b)] = &row;
            const auto bytes = static_cast<double>(row.figures.wire_bytes);
            sum += bytes;
            squares += bytes * bytes;
        }
        const metrics::Evenness even = metrics::evenness_of(pair->bytes());
        EXPECT_NEAR(even.effective, sum * sum / squares, 1e-9 * even.effective);
        EXPECT_NEAR(even.fairness, sum * sum / squares / static_cast<double>(pair->rows.size()), 1e-9);
        EXPECT_EQ(pair->entropies, pair->rows.size());
    }
    ASSERT_EQ(rows.size(), out.truth.entropies.size());
    for (const auto& [entropy, truth] : out.truth.entropies) {
        ASSERT_TRUE(rows.contains(entropy)) << entropy.port << ' ' << entropy.label << ' ' << entropy.outer_port;
        const metrics::EntropyFigures& figures = rows[entropy]->figures;
        EXPECT_EQ(figures.packets, truth.packets) << entropy.port;
        EXPECT_EQ(figures.wire_bytes, truth.octets) << entropy.port;
        EXPECT_EQ(figures.ecn_ce_packets, truth.marked) << entropy.port;
    }
}

RoutePlan uneven_plan(std::uint32_t pairs) {
    RoutePlan plan;
    plan.routes = healthy_routes(4);
    plan.routes[1].marks = 50'000;
    plan.pairs = alike(pairs, 0);
    for (std::uint32_t i = 0; i < pairs; ++i) plan.pairs[i].packets = 100 + 211 * i;
    return plan;
}

TEST(PathFigures, AreThoseOfUnevenShares) { expect_figures(analyse(uneven_plan(12))); }

TEST(PathFigures, AreThoseOfBothDirections) {
    RoutePlan plan = uneven_plan(12);
    for (std::size_t i = 0; i < plan.pairs.size(); i += 3) plan.pairs[i].from_b = true;
    for (const bool tap_after : {false, true}) {
        plan.tap_after = tap_after;
        expect_figures(analyse(plan));
    }
}

TEST(PathFigures, AreThoseOfFlowLabels) {
    RoutePlan plan = uneven_plan(12);
    plan.framing = Framing::roce2_ipv6;
    for (std::uint32_t i = 0; i < 12; ++i) {
        // One port, labels that differ; the first has none.
        plan.pairs[i].port = 0xc123;
        plan.pairs[i].label = i * 0x11111;
    }
    const RoutedOutcome out = analyse(plan);
    expect_figures(out);
    EXPECT_EQ(out.pair()->rows.size(), 12u);
}

TEST(PathFigures, AreThoseOfATunnel) {
    for (const Framing framing : {Framing::roce2_ipv4, Framing::roce2_ipv6}) {
        RoutePlan plan = uneven_plan(12);
        plan.tunnelled = true;
        plan.framing = framing;
        expect_figures(analyse(plan));
    }
}

TEST(PathFigures, AreThoseOfOneEntropy) {
    const RoutedOutcome out = analyse(uneven_plan(1));
    expect_figures(out);
    const metrics::Evenness even = metrics::evenness_of(out.pair()->bytes());
    EXPECT_DOUBLE_EQ(even.effective, 1);
    EXPECT_DOUBLE_EQ(even.fairness, 1);
    EXPECT_FALSE(out.alarm({"path_sick", "path_slow", "path_marked", "low_entropy", "lag_idle"})) << out.alarms();
}

TEST(PathFigures, AreThoseOfOnePacket) {
    RoutePlan plan = uneven_plan(1);
    plan.pairs[0].packets = 1;
    const RoutedOutcome out = analyse(plan);
    expect_figures(out);
    EXPECT_EQ(out.pair()->packets(), 1u);
    EXPECT_TRUE(out.sick().empty());
}

/// An adapter that gives each packet another of 10,000 ports: the number within what HyperLogLog of 64 registers has as
/// its standard error, 1.04 / sqrt(64) = 13 %, four times; rows stay bounded, and packets are not lost from the sum.
TEST(PathFigures, AreBoundedForTenThousandEntropiesOfAQueuePair) {
    RoutePlan plan = uneven_plan(1);
    plan.spread = Spread::by_adapter;
    plan.order = Order::placing;
    plan.ports = 10'000;
    plan.pairs[0].packets = 50'000;
    const RoutedOutcome out = analyse(plan);
    const metrics::PathPair* pair = out.pair();
    ASSERT_NE(pair, nullptr);
    EXPECT_NEAR(static_cast<double>(pair->entropies), 10'000, 5'200);
    EXPECT_LE(pair->rows.size(), metrics::PathFigures::most_rows);
    EXPECT_FALSE(out.alarm({"path_sick", "path_slow", "path_marked"})) << out.alarms();
}

/// And as many queue pairs with a port each: all rows are there.
TEST(PathFigures, AreThoseOfTenThousandQueuePairs) {
    RoutePlan plan = uneven_plan(1);
    plan.pairs = alike(10'000, 3);
    expect_figures(analyse(plan));
}

/// Episodes at a tap after the loss are the model's. Rarely two count as one, or one as two, where a repeat is lost.
TEST(PathFigures, CountLossesAsEpisodes) {
    for (const Order order : {Order::in_order, Order::selective, Order::placing}) {
        for (const std::uint32_t burst : {1u, 5u}) {
            RoutePlan plan;
            plan.routes = healthy_routes(4);
            for (Route& route : plan.routes) {
                route.loss = 2000;
                route.burst = burst;
            }
            plan.pairs = alike(4, 50'000);
            plan.one_each = true;
            plan.order = order;
            const RoutedOutcome out = analyse(plan);
            for (const metrics::PathRow& row : out.pair()->rows) {
                const auto truth =
                    static_cast<double>(out.truth.entropies.at(entropy_of(row.figures.entropy, false)).episodes);
                EXPECT_NEAR(static_cast<double>(row.figures.loss_episodes), truth, 0.1 * truth + 1)
                    << static_cast<int>(order) << ' ' << burst;
            }
        }
    }
}

}  // namespace
