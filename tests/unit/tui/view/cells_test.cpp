// Cells of the table of flows: what they say, how they are shortened, when they warn.
#include <gtest/gtest.h>

#include "tests/unit/tui/view/screens.h"
#include "tui/view/flow_cells.h"

namespace tui {
namespace {

using metrics::Operation;

metrics::FlowSnapshot flow_with(std::initializer_list<std::pair<Operation, std::uint64_t>> operations) {
    metrics::FlowSnapshot flow;
    for (const auto& [operation, count] : operations) flow.operations[metrics::index_of(operation)].count = count;
    return flow;
}

TEST(Mix, counts_kin_together_and_says_the_most_first) {
    EXPECT_EQ(mix_text(flow_with({})), "-");
    EXPECT_EQ(mix_text(flow_with({{Operation::write, 5}})), "WRITE");
    EXPECT_EQ(mix_text(flow_with({{Operation::write, 5}, {Operation::write_immediate, 1}})), "WRITE");
    EXPECT_EQ(mix_text(flow_with({{Operation::fetch_add, 2}, {Operation::compare_swap, 1}})), "ATOMIC");
    EXPECT_EQ(mix_text(flow_with({{Operation::read, 7}, {Operation::write, 93}})), "W 93 R 7");
    // 421 + 3 of 804 and so on: 52.7 %, 47.0 %, 0.25 %.
    EXPECT_EQ(
        mix_text(flow_with(
            {{Operation::send, 400}, {Operation::send_invalidate, 24}, {Operation::write, 378}, {Operation::read, 2}})),
        "S 53 W 47 R <1");
    EXPECT_EQ(mix_text(flow_with({{Operation::send, 999}, {Operation::read, 1}})), "S >99 R <1");
    metrics::FlowSnapshot acks;
    acks.acknowledgement_packets = 3;
    EXPECT_EQ(mix_text(acks), "(acks)");
    acks.payload_bytes = 9;
    EXPECT_EQ(mix_text(acks), "(responses)");
    acks.messages_max = 1;
    EXPECT_EQ(mix_text(acks), "(unfinished)");
    // In an interval later in its life nothing was outstanding.
    acks.last_ns = acks.first_ns + 1;
    EXPECT_EQ(mix_text(acks), "(responses)");
    acks.messages_mean = 0.5;
    EXPECT_EQ(mix_text(acks), "(unfinished)");
}

TEST(FlowText, shortens_hosts_and_keeps_their_numbers) {
    metrics::FlowSnapshot flow = write_flow(1, ipv4(192, 0, 2, 1), ipv4(192, 0, 2, 2), 1);
    GivenNames names;
    exporters::Context context{&names, true, {}};
    EXPECT_EQ(flow_text({flow, context}, utf8_letters, 80), "192.0.2.1/0x101 → 192.0.2.2/0x1101");
    EXPECT_EQ(flow_text({flow, context}, ascii_letters, 80), "192.0.2.1/0x101 > 192.0.2.2/0x1101");
    EXPECT_EQ(flow_text({flow, context}, utf8_letters, 30), "….0.2.1/0x101 → ….0.2.2/0x1101");
    // A piece of 192 would be another number.
    EXPECT_EQ(flow_text({flow, context}, utf8_letters, 32), "….0.2.1/0x101 → ….0.2.2/0x1101");
    names.names = {{"192.0.2.1", "a"}, {"192.0.2.2", "storage-in-the-cellar"}};
    // What the short one does not need, the long one gets.
    EXPECT_EQ(flow_text({flow, context}, utf8_letters, 30), "a/0x101 → storage-in-t…/0x1101");
    names.names = {{"192.0.2.1", "記憶装置一号機"}, {"192.0.2.2", "b"}};
    const std::string wide = flow_text({flow, context}, utf8_letters, 26);
    EXPECT_EQ(wide, "記憶装置…/0x101 → b/0x1101");
    EXPECT_EQ(width_of(wide), 26);
}

TEST(FlowText, keeps_both_ends_of_an_ipv6_address) {
    const metrics::FlowSnapshot flow = write_flow(1, ipv6({0x2001, 0xdb8, 0, 1, 0x5054, 0xff, 0xfe12, 0x3456}),
                                                  ipv6({0x2001, 0xdb8, 0, 1, 0x5054, 0xff, 0xfe12, 0x789a}), 1);
    const exporters::Context context;
    const std::string text = flow_text({flow, context}, utf8_letters, 44);
    EXPECT_LE(width_of(text), 44);
    EXPECT_NE(text.find("3456/0x101"), std::string::npos) << text;
    EXPECT_NE(text.find("789a/0x1101"), std::string::npos) << text;
    EXPECT_EQ(text.substr(0, 5), "2001:");
}

metrics::FlowProblem problem_of_grade(metrics::Grade grade) {
    metrics::FlowProblem problem;
    problem.grade = grade;
    problem.cause = "rnr";
    return problem;
}

TEST(Cause, is_coloured_by_its_grade) {
    const metrics::FlowProblem wrong = problem_of_grade(metrics::Grade::wrong);
    const metrics::FlowProblem minor = problem_of_grade(metrics::Grade::minor);
    const metrics::FlowProblem suspected = problem_of_grade(metrics::Grade::suspected);
    EXPECT_EQ(cause_cell(nullptr).text, "-");
    EXPECT_EQ(cause_cell(nullptr).style.role, Role::dim);
    EXPECT_EQ(cause_cell(&wrong).text, "rnr");
    EXPECT_EQ(cause_cell(&wrong).style.role, Role::bad);
    EXPECT_EQ(cause_cell(&minor).style.role, Role::warning);
    EXPECT_EQ(cause_cell(&suspected).text, "rnr?");
    EXPECT_EQ(cause_cell(&suspected).style.role, Role::warning);
    EXPECT_EQ(role_of(nullptr), Role::normal);
}

TEST(FlowText, of_reads_points_as_the_data_goes) {
    metrics::FlowSnapshot flow = write_flow(1, ipv4(192, 0, 2, 1), ipv4(192, 0, 2, 2), 1);
    std::swap(flow.operations[metrics::index_of(Operation::write)],
              flow.operations[metrics::index_of(Operation::read)]);
    const exporters::Context context;
    EXPECT_EQ(flow_text({flow, context}, utf8_letters, 80), "192.0.2.1/0x101 ← 192.0.2.2/0x1101");
    EXPECT_EQ(flow_text({flow, context}, ascii_letters, 80), "192.0.2.1/0x101 < 192.0.2.2/0x1101");
}

Role role_in(std::string_view name, const metrics::FlowSnapshot& flow) {
    const exporters::Context context;
    return flow_cell(*column_named(name), {flow, context}, utf8_letters, false).style.role;
}

TEST(FlowCell, warns_of_what_is_wrong_and_is_quiet_of_nothing) {
    metrics::FlowSnapshot flow = write_flow(1, ipv4(192, 0, 2, 1), ipv4(192, 0, 2, 2), 1000);
    for (const char* column : {"resent", "nak_rnr", "ce_cnp", "timeouts"}) EXPECT_EQ(role_in(column, flow), Role::dim);
    EXPECT_EQ(role_in("latency_p99", flow), Role::normal);
    flow.retransmitted_packets = 40;
    flow.ecn_ce_packets = 1;
    flow.rnr_naks = 1;
    EXPECT_EQ(role_in("resent", flow), Role::bad);
    EXPECT_EQ(role_in("ce_cnp", flow), Role::warning);
    EXPECT_EQ(role_in("nak_rnr", flow), Role::warning);
    flow.naks[1] = 1;
    EXPECT_EQ(role_in("nak_rnr", flow), Role::bad);
    flow.operations[metrics::index_of(Operation::write)].latency_ns.record(1'000'000, 50);
    EXPECT_EQ(role_in("latency_p99", flow), Role::warning);
}

TEST(FlowCell, of_an_idle_flow_is_dim_unless_it_is_sick) {
    metrics::FlowSnapshot flow = write_flow(1, ipv4(192, 0, 2, 1), ipv4(192, 0, 2, 2), 1000);
    flow.rnr_naks = 1;
    const exporters::Context context;
    const auto idle_role = [&](std::string_view name) {
        return flow_cell(*column_named(name), {flow, context}, utf8_letters, true).style.role;
    };
    for (const char* column : {"goodput", "latency_p99", "nak_rnr"}) EXPECT_EQ(idle_role(column), Role::dim) << column;
    flow.naks[0] = 1;
    EXPECT_EQ(idle_role("nak_rnr"), Role::bad);
    EXPECT_EQ(idle_role("goodput"), Role::dim);
}

TEST(FlowCell, of_an_idle_flow_has_no_rate_and_no_time) {
    metrics::FlowSnapshot flow = write_flow(1, ipv4(192, 0, 2, 1), ipv4(192, 0, 2, 2), 1000);
    flow.reverse = 2;
    flow.retransmitted_packets = 7;
    const exporters::Context context;
    const auto text = [&](std::string_view name, bool idle) {
        return flow_cell(*column_named(name), {flow, context}, utf8_letters, idle).text;
    };
    for (const char* column : {"goodput", "message_rate", "latency_p50", "latency_p99", "depth", "depth_used"}) {
        EXPECT_EQ(text(column, true), "-") << column;
        EXPECT_NE(text(column, false), "-") << column;
    }
    for (const auto& [column, count] : {std::pair{"resent", "7"}, {"message_count", "1000"}, {"packets", "4000"}})
        EXPECT_EQ(text(column, true), count) << column;
}

TEST(FlowCell, holds_outstanding_reads_against_what_was_agreed_on) {
    metrics::FlowSnapshot flow = flow_with({{Operation::read, 100}});
    flow.reverse = 2;
    flow.messages_mean = 3.94;
    flow.messages_max = 4;
    flow.responses_max = 4;
    const exporters::Context context;
    const Column depth = *column_named("depth");
    EXPECT_EQ(flow_cell(depth, {flow, context}, utf8_letters, false).text, "3.94/4");
    flow.connection->initiator_depth = 16;
    flow.connection->responder_resources = 4;
    TableCell cell = flow_cell(depth, {flow, context}, utf8_letters, false);
    EXPECT_EQ(cell.text, "3.94/4 of 4");
    EXPECT_EQ(cell.style.role, Role::warning);
    flow.connection->responder_resources = 128;
    cell = flow_cell(depth, {flow, context}, utf8_letters, false);
    EXPECT_EQ(cell.text, "3.94/4 of 16");
    EXPECT_EQ(cell.style.role, Role::normal);
    // WRITEs are not bounded by it.
    flow.operations[metrics::index_of(Operation::write)].count = 1;
    EXPECT_EQ(flow_cell(depth, {flow, context}, utf8_letters, false).text, "3.94/4");
}

}  // namespace
}  // namespace tui
