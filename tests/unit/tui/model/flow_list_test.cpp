#include "tui/model/flow_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller_bench.h"
#include "tui/model/columns.h"
#include "tui/model/groups.h"

namespace tui::test {
namespace {

using exporters::is_pace;
using exporters::filter::FlowFilter;
using Ids = std::vector<std::uint64_t>;

struct Table {
    FlowChoice choice;
    FlowList list;
    FlowFilter filter;
    const metrics::HostNames* names = nullptr;

    Table& sort(const char* column, bool descending) {
        choice.order = {column_named(column)->field, descending};
        return *this;
    }
    Ids ids(const ReadingPtr& reading) {
        list.build(reading, choice, filter, names);
        Ids ids;
        for (const FlowLine& line : list.lines()) ids.push_back(line.group ? 0 : line.id());
        return ids;
    }
    std::string cell(std::size_t row, const char* column, const Reading& reading) const {
        const FlowLine& line = list.lines()[row];
        const auto context = context_of(line, choice.window, reading, names);
        const exporters::FlowField* field = column_named(column)->field;
        return field->text ? field->text({*line.flow, context})
                           : exporters::readable(field->value({*line.flow, context}), field->unit);
    }
};

TEST(FlowList, nothing_is_fine) {
    Table table;
    EXPECT_EQ(table.ids(nullptr), (Ids{}));
    EXPECT_EQ(table.ids(reading_of(1, {})), (Ids{}));
    EXPECT_EQ(table.list.find(1), std::nullopt);
}

TEST(FlowList, sorts_numbers_and_texts_both_ways_and_leaves_equals_by_id) {
    const auto reading =
        reading_of(1, {writes(1, 3, 9, 10), writes(2, 1, 9, 30), writes(3, 2, 9, 10), writes(4, 1, 9, 20)});
    Table table;
    EXPECT_EQ(table.sort("message_count", true).ids(reading), (Ids{2, 4, 1, 3}));
    EXPECT_EQ(table.sort("message_count", false).ids(reading), (Ids{1, 3, 4, 2}));
    EXPECT_EQ(table.sort("source.address", false).ids(reading), (Ids{2, 4, 3, 1}));
    EXPECT_EQ(table.sort("source.address", true).ids(reading), (Ids{1, 3, 2, 4}));
    EXPECT_EQ(table.sort("goodput", true).ids(reading), (Ids{2, 4, 1, 3}));
    EXPECT_EQ(table.list.find(4), 1U);
    EXPECT_EQ(table.list.find(7), std::nullopt);
}

TEST(FlowList, what_is_unknown_comes_last_whatever_the_direction) {
    auto unreliable = writes(2, 1, 9, 30);
    unreliable.retransmitted_packets.reset();
    const auto reading = reading_of(1, {writes(1, 1, 9, 10), unreliable, writes(3, 1, 9, 10)});
    Table table;
    EXPECT_EQ(table.sort("resent", true).ids(reading), (Ids{1, 3, 2}));
    EXPECT_EQ(table.sort("resent", false).ids(reading), (Ids{1, 3, 2}));
}

TEST(FlowList, negative_and_small_fractions_are_in_order) {
    std::vector<metrics::FlowSnapshot> flows;
    const std::vector<double> means{0.5, 0.25, 100.125, 0, 3e9};
    for (std::size_t i = 0; i < means.size(); ++i) {
        flows.push_back(writes(i + 1, 1, 2, 1));
        flows.back().messages_mean = means[i];
    }
    Table table;
    EXPECT_EQ(table.sort("outstanding.messages_mean", true).ids(reading_of(1, flows)), (Ids{5, 3, 1, 2, 4}));
}

TEST(FlowList, silent_flows_are_listed_behind_with_what_they_have_been) {
    // In this second flow 2 wrote 5 messages; flow 1 did nothing, but 50 before.
    auto total = std::vector{writes(1, 1, 9, 50), writes(2, 1, 9, 20)};
    const auto reading = reading_of(2, total, {writes(2, 1, 9, 5, second)});
    Table table;
    EXPECT_EQ(table.sort("message_count", true).ids(reading), (Ids{2, 1}));
    EXPECT_FALSE(table.list.lines()[0].idle);
    EXPECT_EQ(table.list.lines()[0].flow->messages_total(), 5U);
    EXPECT_EQ(table.list.lines()[0].whole->messages_total(), 20U);
    EXPECT_TRUE(table.list.lines()[1].idle);
    EXPECT_EQ(table.list.lines()[1].flow->messages_total(), 50U);
    EXPECT_EQ(table.cell(0, "goodput", *reading), "40.0kbit/s");
    EXPECT_EQ(table.list.idle(), 1U);
    table.choice.window = Window::total;
    EXPECT_EQ(table.ids(reading), (Ids{1, 2}));
    EXPECT_FALSE(table.list.lines()[0].idle);
    EXPECT_EQ(table.list.lines()[1].flow->messages_total(), 20U);
}

TEST(FlowList, silent_flows_are_not_sorted_by_rates_that_were) {
    auto total = std::vector{writes(1, 1, 9, 10), writes(2, 1, 9, 50), writes(3, 1, 9, 20)};
    const auto reading = reading_of(2, total, {writes(3, 1, 9, 5, second)});
    Table table;
    for (const char* const pace : {"goodput", "message_rate", "latency_p99", "depth", "message_bytes.mean"})
        EXPECT_EQ(table.sort(pace, true).ids(reading), (Ids{3, 1, 2})) << pace;
    EXPECT_EQ(table.sort("packets", true).ids(reading), (Ids{3, 2, 1}));
    // Nor does a filter find them by those.
    table.filter = FlowFilter::compile("goodput > 1").value();
    EXPECT_EQ(table.ids(reading), (Ids{3}));
    EXPECT_EQ(table.list.idle(), 0U);
    table.filter = FlowFilter::compile("packets > 10").value();
    EXPECT_EQ(table.ids(reading), (Ids{2}));
}

TEST(FlowList, what_is_a_pace) {
    for (const char* const name : {"goodput", "goodput_bytes_per_sec", "message_rate", "latency_p50", "latency_p99",
                                   "depth", "depth_used", "queue", "latency_ns.write.p999", "message_duration_ns.min",
                                   "outstanding.messages_mean", "tcp.round_trip_ns.p50"})
        EXPECT_TRUE(is_pace(*column_named(name)->field)) << name;
    for (const char* const name :
         {"id", "kind", "flow", "operations", "message_count", "resent", "nak_rnr", "ce_cnp", "packets", "wire_bytes",
          "messages.write.bytes", "latency_ns.write.count", "state_ns.rnr_wait", "first_ns", "vantage"})
        EXPECT_FALSE(is_pace(*column_named(name)->field)) << name;
}

TEST(FlowList, in_an_interval_rates_and_depths_of_a_group_are_the_sum_of_its_members) {
    // The second flow's last packet before was twenty seconds ago, which is where its time begins.
    constexpr std::int64_t at = 30 * second;
    auto early = writes(2, 1, 9, 5, at);
    early.first_ns = at - 20 * second;
    early.messages_mean = 0.25;
    const auto flows = std::vector{writes(1, 1, 9, 10, at), early};
    const auto reading = reading_of(31, flows, flows);
    Table table;
    table.choice.grouping = Grouping::destination;
    EXPECT_EQ(table.sort("message_count", true).ids(reading), (Ids{0, 1, 2}));
    EXPECT_EQ(table.cell(0, "message_rate", *reading), "15") << "10 and 5";
    EXPECT_DOUBLE_EQ(table.list.lines()[0].flow->messages_mean, 1.25);
    // Since the beginning they are of the time from the first one's begin to the last one's end: 15 in 21 s.
    table.choice.window = Window::total;
    table.ids(reading);
    EXPECT_EQ(table.cell(0, "message_rate", *reading), "0.71");
    EXPECT_NEAR(table.list.lines()[0].flow->messages_mean, (1 + 0.25 * 21) / 21, 1e-9);
}

TEST(FlowList, pinned_flows_stand_first) {
    const auto reading = reading_of(1, {writes(1, 1, 9, 10), writes(2, 1, 9, 30), writes(3, 1, 9, 20)});
    Table table;
    table.choice.pinned = {1, 3};
    EXPECT_EQ(table.sort("message_count", true).ids(reading), (Ids{3, 1, 2}));
    EXPECT_TRUE(table.list.lines()[1].pinned);
    EXPECT_FALSE(table.list.lines()[2].pinned);
}

TEST(FlowList, counts_what_the_filter_keeps_back) {
    const auto reading = reading_of(1, {writes(1, 1, 9, 10), writes(2, 2, 9, 30), writes(3, 1, 9, 20)});
    Table table;
    table.filter = FlowFilter::compile("source.address == \"10.0.0.1\"").value();
    EXPECT_EQ(table.sort("message_count", true).ids(reading), (Ids{3, 1}));
    EXPECT_EQ(table.list.flows(), 3U);
    EXPECT_EQ(table.list.hidden(), 1U);
}

TEST(FlowList, a_group_is_the_sum_of_its_members) {
    auto a = writes(1, 1, 9, 10);
    auto b = writes(2, 1, 8, 30);
    b.operations[metrics::index_of(metrics::Operation::write)].latency_ns = {};
    b.operations[metrics::index_of(metrics::Operation::write)].latency_ns.record(40'000, 30);
    a.retransmitted_packets = 3;
    b.retransmitted_packets.reset();
    b.messages_mean = 2;
    b.messages_max = 6;
    b.ecn_ce_packets = 5;
    a.naks[0] = 2;
    b.rnr_naks = 1;
    b.state_ns = {};
    b.state_ns[metrics::index_of(metrics::State::ack_window)] = second;
    const auto reading = reading_of(1, {a, b, writes(3, 2, 9, 35)});
    Table table;
    table.choice.grouping = Grouping::source;
    EXPECT_EQ(table.sort("message_count", true).ids(reading), (Ids{0, 2, 1, 0, 3}));
    const FlowLine& group = table.list.lines()[0];
    EXPECT_EQ(*group.title, "10.0.0.1");
    EXPECT_EQ(group.members, 2U);
    EXPECT_EQ(group.whole, nullptr);
    EXPECT_EQ(group.flow->messages_total(), 40U);
    EXPECT_EQ(table.cell(0, "goodput", *reading), "320kbit/s");
    EXPECT_EQ(table.cell(0, "message_rate", *reading), "40");
    // 10 of 10 us, 30 of 40 us: half of the forty are at most 40 us, within 1 %.
    EXPECT_NEAR(static_cast<double>(*group.flow->operations[3].latency_ns.quantile(0.5)), 40'000, 400);
    EXPECT_NEAR(static_cast<double>(*group.flow->operations[3].latency_ns.quantile(0.25)), 10'000, 100);
    EXPECT_EQ(group.flow->retransmitted_packets, 3U);
    EXPECT_EQ(table.cell(0, "nak_rnr", *reading), "2/1");
    EXPECT_EQ(table.cell(0, "ce_cnp", *reading), "5/0");
    // One and two outstanding on average, in the same second; at most four and six.
    EXPECT_EQ(table.cell(0, "depth", *reading), "3/10");
    // A second of idling, a second of a full window.
    EXPECT_EQ(table.cell(0, "stalled", *reading), "50%");
    EXPECT_EQ(*table.list.lines()[3].title, "10.0.0.2");
    EXPECT_EQ(table.list.lines()[3].flow->messages_total(), 35U);
}

TEST(FlowList, every_column_can_be_shown_of_a_group) {
    const support::FakeFeed feed = support::FakeFeed::of_capture("rxe-loss1pct-send-bw.pcap.gz", 60'000'000'000);
    Table table;
    for (const Grouping grouping :
         {Grouping::source, Grouping::destination, Grouping::transport, Grouping::traffic_class, Grouping::process}) {
        table.choice.grouping = grouping;
        table.sort("goodput", true).ids(feed.readings.back());
        std::size_t members = 0;
        for (const FlowLine& line : table.list.lines()) {
            if (line.group) members += line.members;
            for (const auto* fields : {&exporters::brief_fields(), &exporters::flow_fields()})
                for (const exporters::FlowField& field : *fields) {
                    const auto context = context_of(line, Window::interval, *feed.readings.back(), nullptr);
                    EXPECT_NO_THROW(exporters::readable(field.value({*line.flow, context}), field.unit));
                }
        }
        EXPECT_EQ(members, feed.readings.back()->total.flows.size());
    }
}

TEST(FlowList, sums_of_a_capture_are_its_total) {
    // By transport there is one group of all RC flows: 150 Sends of 4 KiB were asked for, next to the set-up.
    const support::FakeFeed feed = support::FakeFeed::of_capture("demo-loopback.pcap.gz", 60'000'000'000);
    Table table;
    table.choice.grouping = Grouping::transport;
    table.choice.window = Window::total;
    table.choice.folded = {"iwarp"};
    EXPECT_EQ(table.sort("goodput", true).ids(feed.readings.back()), (Ids{0}));
    const FlowLine& group = table.list.lines().front();
    EXPECT_TRUE(group.folded);
    EXPECT_EQ(group.members, 10U);
    // What the endpoints counted themselves: pcaps/demo-loopback.json.
    const auto count = [&](metrics::Operation operation) {
        return group.flow->operations[metrics::index_of(operation)].count;
    };
    EXPECT_EQ(count(metrics::Operation::send), 1460U);
    EXPECT_EQ(count(metrics::Operation::write), 1258U);
    EXPECT_EQ(count(metrics::Operation::read), 460U);
    EXPECT_EQ(count(metrics::Operation::fetch_add), 600U);
    EXPECT_EQ(group.flow->message_bytes_total(), 1'512'816U + 41'222'144 + 7'503'872 + 4'800);
}

TEST(FlowList, idle_members_are_no_part_of_the_sum_while_others_move) {
    const auto reading =
        reading_of(2, {writes(1, 1, 9, 50), writes(2, 1, 9, 20), writes(3, 2, 9, 7)}, {writes(2, 1, 9, 5, second)});
    Table table;
    table.choice.grouping = Grouping::source;
    EXPECT_EQ(table.sort("message_count", true).ids(reading), (Ids{0, 2, 1, 0, 3}));
    EXPECT_EQ(table.list.lines()[0].flow->messages_total(), 5U);
    EXPECT_FALSE(table.list.lines()[0].idle);
    EXPECT_EQ(table.list.lines()[3].flow->messages_total(), 7U);
    EXPECT_TRUE(table.list.lines()[3].idle);
}

TEST(FlowList, groups_have_names_of_hosts_and_of_what_they_are) {
    auto iwarp = writes(3, 2, 9, 35);
    iwarp.transport = wire::Transport::iwarp;
    auto unreliable = writes(2, 1, 9, 30);
    unreliable.service = metrics::Service::ud;
    unreliable.traffic_class = 0x68;
    const auto reading = reading_of(1, {writes(1, 1, 9, 10), unreliable, iwarp});
    const GivenNames names{{"10.0.0.2", "storage-3"}};
    Table table;
    table.names = &names;
    const auto titles = [&](Grouping grouping) {
        table.choice.grouping = grouping;
        table.sort("message_count", true).ids(reading);
        std::vector<std::string> found;
        for (const FlowLine& line : table.list.lines())
            if (line.group) found.push_back(*line.title);
        return found;
    };
    EXPECT_EQ(titles(Grouping::source), (std::vector<std::string>{"10.0.0.1", "storage-3"})) << "40 and 35 messages";
    EXPECT_EQ(titles(Grouping::destination), (std::vector<std::string>{"10.0.0.9"}));
    EXPECT_EQ(titles(Grouping::transport), (std::vector<std::string>{"iwarp", "roce2 UD", "roce2 RC"}));
    EXPECT_EQ(titles(Grouping::traffic_class), (std::vector<std::string>{"class 0x00", "class 0x68"}));
}

TEST(FlowList, flows_of_a_process_are_a_group_with_the_depth_of_all_its_queues) {
    std::vector<metrics::FlowSnapshot> flows{writes(1, 1, 9, 10), writes(2, 1, 9, 30), writes(3, 2, 9, 35)};
    for (std::size_t i = 0; i < 2; ++i) {
        metrics::VerbsFigures& verbs = flows[i].verbs.emplace();
        verbs.process = {4711, "/usr/bin/ib_write_bw -q 2 10.0.0.9", {}};
        verbs.posts = 10;
        verbs.send_queue.mean = 7.5;
        verbs.send_queue.max = 8;
        verbs.send_queue.capacity = 16;
        verbs.send_queue.observed_ns = 1000;
    }
    const auto reading = reading_of(1, std::move(flows));
    Table table;
    table.choice.grouping = Grouping::process;
    table.sort("message_count", true).ids(reading);
    std::vector<std::string> titles;
    for (const FlowLine& line : table.list.lines()) {
        if (!line.group) continue;
        titles.push_back(*line.title);
        if (line.members != 2) continue;
        ASSERT_TRUE(line.flow->verbs);
        EXPECT_DOUBLE_EQ(line.flow->verbs->send_queue.mean, 15);
        EXPECT_EQ(line.flow->verbs->send_queue.max, 16U);
        EXPECT_EQ(line.flow->verbs->send_queue.capacity, 32U);
        EXPECT_EQ(line.flow->verbs->posts, 20U);
        EXPECT_EQ(line.flow->verbs->process.pid, 4711U);
    }
    EXPECT_EQ(titles, (std::vector<std::string>{"ib_write_bw[4711]", "(not traced)"}));
}

TEST(FlowList, folded_groups_and_pinned_flows) {
    const auto reading = reading_of(1, {writes(1, 1, 9, 10), writes(2, 1, 9, 30), writes(3, 2, 9, 35)});
    Table table;
    table.choice.grouping = Grouping::source;
    table.choice.folded = {"10.0.0.1"};
    table.choice.pinned = {1};
    EXPECT_EQ(table.sort("message_count", true).ids(reading), (Ids{1, 0, 0, 3}));
    EXPECT_TRUE(table.list.lines()[1].folded);
    EXPECT_EQ(table.list.lines()[1].members, 2U);
    EXPECT_EQ(table.list.lines()[1].flow->messages_total(), 40U) << "a pinned flow is part of its group";
}

TEST(Groups, ends_of_a_sum_are_those_that_all_members_share) {
    metrics::FlowSnapshot sum = writes(7, 1, 9, 10);
    sum.connection->initiator_depth = 16;
    metrics::FlowSnapshot other = writes(5, 1, 8, 10, 5 * second);
    other.connection->initiator_depth = 4;
    add_up(sum, other, Window::total);
    EXPECT_EQ(sum.id, 5U);
    EXPECT_EQ(sum.source.address, host(1));
    EXPECT_EQ(sum.destination.address.family, wire::AddressFamily::none);
    EXPECT_EQ(sum.destination.qpn, std::nullopt);
    EXPECT_EQ(sum.connection->initiator_depth, 20U);
    EXPECT_EQ(sum.wall_ns(), 6U * second) << "from the first one's begin to the last one's end";
    EXPECT_NEAR(sum.messages_mean, 2.0 / 6, 1e-9) << "one outstanding in two of six seconds";
}

TEST(Groups, a_sum_has_the_greatest_and_the_first_of_all_members) {
    metrics::FlowSnapshot sum = writes(7, 1, 9, 10);
    metrics::FlowSnapshot other = writes(5, 1, 8, 10);
    sum.tcp = metrics::TcpFigures{};
    sum.tcp->fpdu_bytes_max = 1460;
    sum.tcp->handshake_ns = 20'000;
    other.tcp = metrics::TcpFigures{};
    other.tcp->fpdu_bytes_max = 8960;
    other.tcp->handshake_ns = 30'000;
    sum.event_summaries = {{metrics::EventKind::cnp, 2, {40, 60}}};
    other.event_summaries = {{metrics::EventKind::cnp, 1, {50}}};
    add_up(sum, other, Window::total);
    EXPECT_EQ(sum.tcp->fpdu_bytes_max, 8960U);
    EXPECT_FALSE(sum.tcp->handshake_ns) << "two connections have no common one";
    ASSERT_EQ(sum.event_summaries.size(), 1U);
    EXPECT_EQ(sum.event_summaries[0].count, 3U);
    EXPECT_EQ(sum.event_summaries[0].frames, (std::vector<std::uint64_t>{40, 50, 60}));
}

}  // namespace
}  // namespace tui::test
