/// What `why` and the figures of paths say of traffic whose routes are known: 200 seeds of each kind.
#include <atomic>
#include <gtest/gtest.h>
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

// --- disorder that harms nobody, and disorder that does
// ---------------------------------------------------------------

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

}  // namespace
