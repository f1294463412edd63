#include "metrics/figures/latencies.h"

#include <gtest/gtest.h>

namespace metrics::test {
namespace {

/// 5 WRITEs of 10 ns, 3 Sends of 20 ns, 4 READs of 30 ns, one FetchAdd of 40 ns: small values have a bucket each.
FlowSnapshot mixed() {
    FlowSnapshot flow;
    const auto add = [&](Operation operation, std::uint64_t count, std::uint64_t ns) {
        OperationFigures& figures = flow.operations[index_of(operation)];
        figures.count = count;
        for (std::uint64_t i = 0; i < count; ++i) figures.latency_ns.record(ns);
    };
    add(Operation::write, 5, 10);
    add(Operation::send, 3, 20);
    add(Operation::read, 4, 30);
    add(Operation::fetch_add, 1, 40);
    return flow;
}

TEST(Latencies, SetsDifferAndHaveNames) {
    const FlowSnapshot flow = mixed();
    EXPECT_EQ(main_operation(flow), Operation::write);
    const LatencySet most = main_latencies(flow);
    EXPECT_EQ(most.of, "WRITEs");
    EXPECT_EQ(most.ns.quantile(0.5), 10u);
    // 10 10 10 10 10 20 20 20 30 30 30 30 40: the seventh of thirteen.
    const LatencySet all = all_latencies(flow);
    EXPECT_EQ(all.of, "all operations");
    EXPECT_EQ(all.ns.count(), 13u);
    EXPECT_EQ(all.ns.quantile(0.5), 20u);
    // Eight that are acknowledged, four READs, one atomic.
    const LatencySet alike = alike_latencies(flow);
    EXPECT_EQ(alike.of, "messages that are acknowledged");
    EXPECT_EQ(alike.ns.count(), 8u);
    EXPECT_EQ(alike.ns.quantile(0.5), 10u);
}

TEST(Latencies, ASetOfOneOperationHasItsName) {
    FlowSnapshot flow;
    EXPECT_FALSE(main_operation(flow));
    EXPECT_TRUE(main_latencies(flow).ns.empty());
    EXPECT_TRUE(all_latencies(flow).ns.empty());
    OperationFigures& reads = flow.operations[index_of(Operation::read)];
    reads.count = 2;
    reads.latency_ns.record(7);
    reads.latency_ns.record(7);
    // Counted, but without latencies: the set is of READs alone.
    flow.operations[index_of(Operation::write)].count = 1;
    EXPECT_EQ(main_latencies(flow).of, "READs");
    EXPECT_EQ(all_latencies(flow).of, "READs");
    EXPECT_EQ(alike_latencies(flow).of, "READs");
    EXPECT_EQ(alike_latencies(flow).ns.count(), 2u);
}

}  // namespace
}  // namespace metrics::test
