// What messages of each operation waited for, as columns. The waits are made up, and means written out.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "exporters/json.h"

namespace exporters {
namespace {

nlohmann::json json_of(const metrics::FlowSnapshot& flow) {
    std::string text;
    append_json(text, in_json_order(all_columns(false)), {flow, {}});
    return nlohmann::json::parse(text);
}

TEST(Waits, are_told_by_operation_and_sum_up) {
    metrics::FlowSnapshot flow;
    metrics::VerbsFigures& verbs = flow.verbs.emplace();
    // Two WRITEs and a READ: 2 and 4 us to the wire, 0 on it, 10 and 20 to the ACK, 1 and 3 until polled.
    metrics::DelayFigures& writes = verbs.waits(metrics::Operation::write).delays;
    for (const std::uint64_t n : {1U, 2U}) {
        writes.post_to_wire_ns.record(n * 2000, 1);
        writes.wire_ns.record(0, 1);
        writes.wire_to_ack_ns.record(n * 10'000, 1);
        writes.ack_to_poll_ns.record(n * 2000 - 1000, 1);
        writes.whole_ns.record(n * 14'000 - 1000, 1);
    }
    verbs.waits(metrics::Operation::read).delays.post_to_wire_ns.record(700, 1);
    verbs.waits(metrics::Operation::read).delays.whole_ns.record(900, 1);
    const auto waits = json_of(flow)["waits"];
    EXPECT_EQ(waits["write"]["count"], 2);
    EXPECT_EQ(waits["write"]["post_to_wire_ns"]["mean"], 3000);
    EXPECT_EQ(waits["write"]["on_wire_ns"]["mean"], 0);
    EXPECT_EQ(waits["write"]["wire_to_ack_ns"]["mean"], 15'000);
    EXPECT_EQ(waits["write"]["ack_to_poll_ns"]["mean"], 2000);
    EXPECT_EQ(waits["write"]["post_to_poll_ns"]["mean"], 3000 + 0 + 15'000 + 2000);
    EXPECT_NEAR(waits["write"]["wire_to_ack_ns"]["p99"].get<double>(), 20'000, 200) << "kept to 1 %";
    EXPECT_EQ(waits["read"]["count"], 1);
    EXPECT_EQ(waits["read"]["post_to_wire_ns"]["mean"], 700);
    EXPECT_TRUE(waits["send"]["count"].is_null()) << "none was posted";
    EXPECT_TRUE(waits["send"]["post_to_poll_ns"]["mean"].is_null());
}

TEST(Waits, are_null_where_nobody_was_traced) { EXPECT_TRUE(json_of({})["waits"].is_null()); }

}  // namespace
}  // namespace exporters
