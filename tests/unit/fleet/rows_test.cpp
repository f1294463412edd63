#include <gmock/gmock.h>

#include "fleet/rows/amounts.h"
#include "fleet/rows/command_rows.h"
#include "fleet/rows/flow_event_rows.h"
#include "fleet/rows/flow_rows.h"
#include "fleet/rows/path_rows.h"
#include "fleet/rows/row_json.h"
#include "fleet/rows/row_table.h"
#include "fleet/rows/row_tables.h"
#include "fleet/schema/sql.h"

namespace fleet::rows {
namespace {

using metrics::FlowSnapshot;

metrics::Address address(std::uint8_t last) {
    metrics::Address out;
    out.family = wire::AddressFamily::ipv4;
    out.octets = {192, 0, 2, last};
    return out;
}

FlowSnapshot busy_flow() {
    FlowSnapshot flow;
    flow.id = 17;
    flow.source.address = address(1);
    flow.destination.address = address(2);
    flow.destination.qpn = 0x11;
    flow.first_ns = 1'000;
    flow.last_ns = 5'001'000;
    flow.packets = 40;
    flow.retransmitted_packets = 2;
    flow.missing_packets = 0;
    flow.timeouts = 1;
    metrics::OperationFigures& write = flow.operations[metrics::index_of(metrics::Operation::write)];
    write.count = 3;
    write.bytes = 12'288;
    for (const std::uint64_t latency : {10'000u, 20'000u, 20'000u}) write.latency_ns.record(latency);
    flow.naks[0] = 4;
    flow.state_ns[metrics::index_of(metrics::State::transmit_new)] = 5'000'000;
    metrics::TcpFigures tcp;
    tcp.retransmitted_segments = 9;
    tcp.round_trip_ns.record(777);
    flow.tcp = tcp;
    metrics::EventSummary& refused = flow.event_summaries.emplace_back();
    refused.kind = metrics::EventKind::rnr_nak;
    refused.count = 6;
    return flow;
}

/// LEB128 and little-endian numbers, as ClickHouse's manual has RowBinary.
TEST(FleetRows, row_binary_has_lengths_and_little_endian_numbers) {
    const Table table{.name = "t",
                      .columns = {{"a", Type::u16, Nature::note},
                                  {"b", Type::text, Nature::note},
                                  {"c", Type::u32_list, Nature::note},
                                  {"d", Type::i64, Nature::note}},
                      .key = "a"};
    std::string out;
    append_row_binary(out, table,
                      {std::uint64_t{0x1234}, std::string(200, 'x'), Numbers{1, 0x01020304}, std::int64_t{-2}});
    std::string expected("\x34\x12\xc8\x01", 4);
    expected += std::string(200, 'x');
    expected += std::string("\x02\x01\x00\x00\x00\x04\x03\x02\x01", 9);
    expected += std::string("\xfe\xff\xff\xff\xff\xff\xff\xff", 8);
    EXPECT_EQ(out, expected);
}

TEST(FleetRows, every_row_has_as_many_cells_as_its_table_has_columns) {
    EXPECT_EQ(flow_row({}, {}, {}).size(), flows_table().columns.size());
    EXPECT_EQ(answer_row({}, 1, {}).size(), answers_table().columns.size());
    EXPECT_EQ(host_row({}, {}).size(), hosts_table().columns.size());
    EXPECT_EQ(counter_row({}, {}).size(), counters_table().columns.size());
    EXPECT_EQ(health_row({}, {}, {}).size(), health_table().columns.size());
    metrics::Snapshot snapshot;
    snapshot.flows.push_back(busy_flow());
    snapshot.flows.front().entropy = metrics::Entropy::of_udp(50'000);
    snapshot.flows.front().commands.obtain().kinds.emplace_back().kind = "read";
    PathSums sums;
    sums.add(snapshot, {}, 1);
    for (const auto& [table, rows] :
         {std::pair(&commands_table(), command_rows(snapshot, {})),
          std::pair(&events_table(), event_rows(snapshot, {})), std::pair(&paths_table(), sums.rows(1))}) {
        ASSERT_FALSE(rows.empty()) << table->name;
        for (const StateRow& row : rows) EXPECT_EQ(row.row.size(), table->columns.size()) << table->name;
    }
}

std::uint64_t cell(const Table& table, const Row& row, std::string_view column) {
    const auto at = std::ranges::find(table.columns, column, &Column::name) - table.columns.begin();
    return std::get<std::uint64_t>(row[static_cast<std::size_t>(at)]);
}

std::uint64_t amount(const Table& table, const Row& row, std::uint32_t key) {
    const auto list = [&](std::string_view column) {
        const auto at = std::ranges::find(table.columns, column, &Column::name) - table.columns.begin();
        return std::get<Numbers>(row[static_cast<std::size_t>(at)]);
    };
    const Numbers keys = list("amount_keys");
    const auto at = std::ranges::find(keys, std::uint64_t{key}) - keys.begin();
    return at == std::ssize(keys) ? 0 : list("amounts")[static_cast<std::size_t>(at)];
}

/// The windows of an interval begin again when routes change; what was before stays in the sum.
TEST(FleetRows, signs_add_up_over_changes_of_routes) {
    PathSums sums;
    metrics::Snapshot difference;
    FlowSnapshot& flow = difference.flows.emplace_back(busy_flow());
    flow.entropy = metrics::Entropy::of_udp(50'000);
    metrics::PathWindowFigures& windows = difference.path_windows.emplace_back();
    windows.source = flow.source.address;
    windows.destination = flow.destination.address;
    windows.rows.push_back({.entropy = flow.entropy, .marks = {5, 1}});
    sums.add(difference, {}, 1);
    windows.rows.front() = {.entropy = flow.entropy, .marks = {2, 0}, .rerouted_ns = 7};
    sums.add(difference, {}, 2);
    const StateRows rows = sums.rows(2);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(amount(paths_table(), rows[1].row, amount_key(AmountKind::path_sign, 0)), 7u);
    EXPECT_EQ(amount(paths_table(), rows[1].row, amount_key(AmountKind::path_sign, 1)), 1u);
}

std::int64_t state(const Row& row, std::string_view column) {
    const auto at = std::ranges::find(paths_table().columns, column, &Column::name) - paths_table().columns.begin();
    return std::visit(
        [](const auto& value) -> std::int64_t {
            if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>) return static_cast<std::int64_t>(value);
            return -1;
        },
        row[static_cast<std::size_t>(at)]);
}

/// 10 losses of 1000 packets; 2 of 100 until routes change at 9; 300 packets without a loss after that.
TEST(FleetRows, losses_begin_again_when_routes_change) {
    PathSums sums;
    metrics::Snapshot difference;
    FlowSnapshot& flow = difference.flows.emplace_back(busy_flow());
    flow.entropy = metrics::Entropy::of_udp(50'000);
    metrics::PathWindowFigures& windows = difference.path_windows.emplace_back();
    windows.source = flow.source.address;
    windows.destination = flow.destination.address;
    metrics::EntropyWindows& one = windows.rows.emplace_back();
    one.entropy = flow.entropy;
    one.losses = {.packets = 1000, .episodes = 10, .packets_since = 50, .widest_gap = 200, .last_ns = 7};
    sums.add(difference, {}, 1);
    const Row before = before_its_first(paths_table(), sums.rows(1)[1].row);
    one.losses = {.packets = 300, .packets_since = 300};
    one.losses_before = {.packets = 100, .episodes = 2, .last_ns = 8};
    one.rerouted_ns = 9;
    sums.add(difference, {}, 2);
    const Row row = sums.rows(2)[1].row;
    metrics::EntropyWindows back;
    std::vector<std::int64_t> states;
    for (const Column& column : path_state_columns()) {
        states.push_back(state(row, column.name));
        EXPECT_EQ(state(before, column.name), 0) << column.name;
    }
    set_path_states(back, states);
    EXPECT_EQ(back.losses, one.losses);
    EXPECT_EQ(back.losses_before.packets, 1100u);
    EXPECT_EQ(back.losses_before.episodes, 12u);
    EXPECT_EQ(back.losses_before.last_ns, 8);
    EXPECT_EQ(back.rerouted_ns, 9);
    EXPECT_EQ(state(row, "present_packets"), 300);
    EXPECT_EQ(state(row, "former_episodes"), 12);
}

TEST(FleetRows, sums_of_entropies_outlive_the_flows) {
    PathSums sums;
    metrics::Snapshot difference;
    FlowSnapshot& flow = difference.flows.emplace_back(busy_flow());
    flow.entropy = metrics::Entropy::of_udp(50'000);
    sums.add(difference, {}, 1);
    flow.id = 18;  // the first one has ended
    flow.packets = 2;
    sums.add(difference, {}, 2);
    const StateRows rows = sums.rows(2);
    ASSERT_EQ(rows.size(), 2u);  // the pair, and its entropy
    EXPECT_EQ(cell(paths_table(), rows[0].row, "entropy"), 0u);
    EXPECT_EQ(cell(paths_table(), rows[1].row, "entropy"), flow.entropy.number());
    EXPECT_EQ(cell(paths_table(), rows[1].row, "packets"), 42u);
    EXPECT_EQ(cell(paths_table(), rows[1].row, "since"), 1u);
    EXPECT_EQ(sums.rows(3).size(), 0u) << "no traffic in the interval";
    sums.add({}, {}, 3 + PathSums::most_idle_intervals);
    sums.add(difference, {}, 4 + PathSums::most_idle_intervals);
    const StateRows again = sums.rows(4 + PathSums::most_idle_intervals);
    ASSERT_EQ(again.size(), 2u);
    EXPECT_EQ(cell(paths_table(), again[1].row, "packets"), 2u);
    EXPECT_EQ(cell(paths_table(), again[1].row, "since"), 4u + PathSums::most_idle_intervals);
}

TEST(FleetRows, json_lines_are_the_cells_of_row_binary) {
    const Table table{.name = "t",
                      .columns = {{"a", Type::u64, Nature::note},
                                  {"b", Type::text, Nature::note},
                                  {"c", Type::u32_list, Nature::note},
                                  {"d", Type::i64, Nature::note},
                                  {"e", Type::f64, Nature::note}},
                      .key = "a"};
    std::string binary;
    append_row_binary(binary, table,
                      {~std::uint64_t{0}, std::string("it\"s\n\xff"), Numbers{1, 2}, std::int64_t{-2}, 0.5});
    append_row_binary(binary, table, {std::uint64_t{1}, std::string(), Numbers{}, std::int64_t{0}, 0.0});
    const auto columns = columns_named(table, "a,b,c,d,e");
    ASSERT_TRUE(columns);
    std::string lines;
    ASSERT_TRUE(append_json_lines(lines, "t", *columns, binary));
    EXPECT_EQ(lines,
              "{\"table\":\"t\",\"a\":18446744073709551615,\"b\":\"it\\\"s\\n\xef\xbf\xbd\",\"c\":[1,2],\"d\":-2,"
              "\"e\":0.5}\n{\"table\":\"t\",\"a\":1,\"b\":\"\",\"c\":[],\"d\":0,\"e\":0}\n");
    EXPECT_FALSE(columns_named(table, "a,z"));
    for (std::size_t length = binary.size() - 1; length > binary.size() - 20; --length) {
        std::string cut;
        EXPECT_FALSE(append_json_lines(cut, "t", *columns, std::string_view(binary).substr(0, length))) << length;
    }
}

TEST(FleetRows, amounts_give_back_the_figures_of_a_flow) {
    const FlowSnapshot flow = busy_flow();
    Row row;
    append_amounts(row, amounts_of(flow));
    const auto keys = std::get<Numbers>(row.at(0));
    const auto values = std::get<Numbers>(row.at(1));
    EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
    EXPECT_THAT(values, testing::Not(testing::Contains(0u)));
    Amounts amounts;
    for (std::size_t i = 0; i < keys.size(); ++i) amounts[static_cast<std::uint32_t>(keys[i])] = values[i];
    FlowSnapshot back;
    set_amounts(back, amounts);
    const metrics::OperationFigures& write = back.operations[metrics::index_of(metrics::Operation::write)];
    EXPECT_EQ(write.count, 3u);
    EXPECT_EQ(write.bytes, 12'288u);
    EXPECT_EQ(write.latency_ns.count(), 3u);
    EXPECT_EQ(write.latency_ns.sum(), 50'000u);
    EXPECT_NEAR(static_cast<double>(write.latency_ns.quantile(0.5).value()), 20'000, 200);
    EXPECT_EQ(back.naks[0], 4u);
    EXPECT_EQ(back.state_ns[metrics::index_of(metrics::State::transmit_new)], 5'000'000u);
    ASSERT_TRUE(back.tcp);
    EXPECT_EQ(back.tcp->retransmitted_segments, 9u);
    EXPECT_EQ(back.tcp->round_trip_ns.sum(), 777u);
    ASSERT_NE(back.find_event_summary(metrics::EventKind::rnr_nak), nullptr);
    EXPECT_EQ(back.find_event_summary(metrics::EventKind::rnr_nak)->count, 6u);
}

TEST(FleetRows, columns_give_back_the_members_of_a_flow) {
    const FlowSnapshot flow = busy_flow();
    FlowSnapshot back;
    for (const FlowColumn& column : flow_columns())
        if (column.set != nullptr) column.set(back, column.get(flow));
    EXPECT_EQ(back.id, 17u);
    EXPECT_EQ(back.source.address, address(1));
    EXPECT_EQ(back.destination.qpn, 0x11u);
    EXPECT_EQ(back.packets, 40u);
    EXPECT_EQ(back.retransmitted_packets, 2u);
    EXPECT_EQ(back.missing_packets, 0u);
    EXPECT_FALSE(back.duplicate_packets);
    EXPECT_EQ(back.timeouts, 1u);
}

TEST(FleetRows, addresses_come_back_from_their_texts) {
    EXPECT_EQ(address_of("192.0.2.1"), address(1));
    EXPECT_EQ(metrics::to_text(address_of("2001:DB8:0::1")), "2001:db8::1");
    const metrics::Address lid = address_of("lid 4660");
    EXPECT_EQ(lid.family, wire::AddressFamily::lid);
    EXPECT_EQ(lid.octets[0], 0x12);
    EXPECT_EQ(lid.octets[1], 0x34);
    for (const char* wrong : {"", "?", "node-7", "192.0.2", "lid", "lid ", "lid 65536", "lid 7x"})
        EXPECT_EQ(address_of(wrong).family, wire::AddressFamily::none) << wrong;
}

TEST(FleetRows, a_row_begins_a_minute_or_an_hour_by_the_end_of_its_interval) {
    constexpr std::int64_t second = 1'000'000'000;
    constexpr std::int64_t hour = 3600 * second;
    EXPECT_EQ(begins_of(hour - 10 * second, hour), 0);  // an interval that ends with the hour belongs to it
    EXPECT_EQ(begins_of(hour, hour + 10 * second), begins_minute | begins_hour);
    EXPECT_EQ(begins_of(hour + 10 * second, hour + 20 * second), 0);
    EXPECT_EQ(begins_of(hour + 60 * second, hour + 70 * second), begins_minute);
}

TEST(FleetRows, own_ends_are_those_of_own_addresses) {
    const FlowSnapshot flow = busy_flow();
    const std::array near{address(1)};
    const std::array far{address(2), address(9)};
    const std::array both{address(1), address(2)};
    EXPECT_EQ(own_end(flow, near), "source");
    EXPECT_EQ(own_end(flow, far), "destination");
    EXPECT_EQ(own_end(flow, both), "both");
    EXPECT_EQ(own_end(flow, {}), "");
}

TEST(FleetSql, no_byte_of_a_text_ends_its_literal) {
    EXPECT_EQ(schema::text("it's"), R"('it\'s')");
    EXPECT_EQ(schema::text(R"(\')"), R"('\\\'')");
    EXPECT_EQ(schema::text("a\nb\xff"), R"('a\x0Ab\xFF')");
    for (int c = 0; c < 256; ++c) {
        const std::string literal = schema::text(std::string(1, static_cast<char>(c)));
        for (const char each : literal) EXPECT_TRUE(each >= 0x20 && each <= 0x7e) << c;
        if (c == '\'' || c == '\\') {
            EXPECT_EQ(literal.size(), 4u);
        }
    }
}

TEST(FleetSql, names_are_words) {
    EXPECT_TRUE(schema::is_name("rdmascope_2"));
    for (const char* wrong : {"", "2a", "a b", "a;b", "a'b", "a.b", "a`b"})
        EXPECT_FALSE(schema::is_name(wrong)) << wrong;
    EXPECT_FALSE(schema::is_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace fleet::rows
