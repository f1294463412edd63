/// The model of several routes itself: what its plan says must hold before the engine is measured against it.
#include "tests/model/routes.h"

#include <gtest/gtest.h>

#include "dissect/dissector.h"
#include "tests/model/routed_traffic.h"

namespace {

using namespace model;

struct Parsed final : dissect::Sink {
    void on_unit(const dissect::Unit& unit) override {
        ++units;
        bad += unit.dissection.bth.icrc == dissect::CrcStatus::good ? 0 : 1;
    }
    std::uint64_t units = 0;
    std::uint64_t bad = 0;
};

RoutePlan plan_of(std::uint32_t routes, std::uint32_t pairs, std::uint32_t packets) {
    RoutePlan plan;
    plan.routes.resize(routes);
    plan.pairs = alike(pairs, packets);
    return plan;
}

RouteTruth run(const RoutePlan& plan) {
    return RoutedTraffic(plan, [](support::KeptFrame&&) {}).run();
}

std::uint64_t sum(const RouteTruth& truth, std::uint64_t EntropyTruth::*figure) {
    std::uint64_t all = 0;
    for (const auto& [entropy, found] : truth.entropies) all += found.*figure;
    return all;
}

TEST(Routes, FramesAreWellFormed) {
    for (const Framing framing : {Framing::roce2_ipv4, Framing::roce2_ipv6}) {
        for (const bool tunnelled : {false, true}) {
            RoutePlan plan = plan_of(4, 3, 500);
            plan.framing = framing;
            plan.tunnelled = tunnelled;
            plan.routes[0].loss = 20'000;
            for (RoutedPair& pair : plan.pairs) pair.label = framing == Framing::roce2_ipv6 ? 0x12345 : 0;
            dissect::Dissector dissector;
            Parsed parsed;
            std::uint64_t frames = 0;
            std::int64_t last_ns = 0;
            RoutedTraffic traffic(
                plan,
                [&](support::KeptFrame&& kept) {
                    EXPECT_GE(kept.time_ns, last_ns);
                    last_ns = kept.time_ns;
                    dissector.dissect(kept.frame(++frames), parsed);
                },
                true);
            const RouteTruth truth = traffic.run();
            EXPECT_EQ(parsed.units, frames);
            EXPECT_EQ(parsed.bad, 0u);
            EXPECT_EQ(sum(truth, &EntropyTruth::packets), frames);
            EXPECT_EQ(dissector.counters().malformed, 0u);
            EXPECT_EQ(dissector.counters().odd, 0u);
        }
    }
}

/// Every order of receiver gets every packet acknowledged, whatever is lost, marked or late.
TEST(Routes, EveryPacketIsDelivered) {
    for (const Order order : {Order::in_order, Order::selective, Order::placing}) {
        for (const Spread spread : {Spread::by_flow, Spread::by_adapter, Spread::by_network}) {
            RoutePlan plan = plan_of(8, 6, 3001);
            plan.order = order;
            plan.spread = spread;
            for (std::size_t i = 0; i < plan.routes.size(); ++i)
                plan.routes[i] = {5000 + 500 * static_cast<std::int64_t>(i), 300, 3000, 3, 1000};
            plan.pairs[2].from_b = true;
            const RouteTruth truth = run(plan);
            EXPECT_EQ(truth.undelivered, 0u);
            EXPECT_GT(sum(truth, &EntropyTruth::lost), 0u);
            EXPECT_GE(sum(truth, &EntropyTruth::repeats), sum(truth, &EntropyTruth::episodes));
            EXPECT_EQ(sum(truth, &EntropyTruth::sent), 6 * 3001 + sum(truth, &EntropyTruth::repeats));
        }
    }
}

/// Of 2 million packets the share p = 0.001 is lost, in runs of the mean length 10: within four standard deviations.
/// The count of runs has the mean n p / b = 200 and, as they are rare, nearly that variance; the sum of geometric runs
/// of mean b and variance b (b - 1) has the variance n p / b (b (b - 1) + b b) = 200 x 190.
TEST(Routes, LossComesInRuns) {
    RoutePlan plan = plan_of(1, 1, 2'000'000);
    plan.order = Order::selective;
    plan.routes[0].loss = 1000;
    plan.routes[0].burst = 10;
    const RouteTruth truth = run(plan);
    const EntropyTruth& found = truth.entropies.at({false, 0xc000, 0, 0});
    EXPECT_NEAR(static_cast<double>(found.lost), 2000, 4 * 195);
    EXPECT_NEAR(static_cast<double>(found.episodes), 200, 4 * 14.2);
}

TEST(Routes, EntropiesKeepTheirRouteAndRoutesAreChosenEvenly) {
    RoutePlan plan = plan_of(8, 4000, 2);
    const RouteTruth truth = run(plan);
    // 8000 packets in pairs: 1000 on each route, standard deviation 2 sqrt(4000 x 1/8 x 7/8) = 42.
    for (const std::uint64_t packets : truth.route_packets) EXPECT_NEAR(static_cast<double>(packets), 1000, 4 * 42);
    EXPECT_EQ(truth.late, 0u);
}

/// Routes of different length: only spread packets overtake each other, and only receivers that need the order repair.
TEST(Routes, SpreadPacketsOvertakeEachOther) {
    for (const Spread spread : {Spread::by_flow, Spread::by_adapter, Spread::by_network}) {
        for (const Order order : {Order::in_order, Order::selective, Order::placing}) {
            RoutePlan plan = plan_of(4, 2, 5000);
            plan.spread = spread;
            plan.order = order;
            for (std::size_t i = 0; i < 4; ++i) plan.routes[i].delay_ns += 900 * static_cast<std::int64_t>(i);
            const RouteTruth truth = run(plan);
            EXPECT_EQ(truth.late > 0, spread != Spread::by_flow);
            EXPECT_EQ(truth.naks > 0, spread != Spread::by_flow && order == Order::in_order);
            EXPECT_EQ(sum(truth, &EntropyTruth::repeats) > 0, truth.naks > 0);
            // The last packets may be overtaken once more, and no packet follows that shows it.
            EXPECT_LE(truth.timeouts, order == Order::in_order && spread != Spread::by_flow ? 2u : 0u);
        }
    }
}

TEST(Routes, TheSameSeedGivesTheSameFrames) {
    RoutePlan plan = plan_of(4, 4, 2000);
    plan.routes[1].loss = 5000;
    plan.spread = Spread::by_network;
    plan.order = Order::placing;
    std::vector<std::int64_t> times[2];
    for (auto& each : times)
        RoutedTraffic(plan, [&](const support::KeptFrame& kept) { each.push_back(kept.time_ns); }).run();
    EXPECT_EQ(times[0], times[1]);
}

}  // namespace
