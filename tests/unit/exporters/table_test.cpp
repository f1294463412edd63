#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "exporters/csv.h"
#include "exporters/text_table.h"
#include "flow_samples.h"

namespace exporters::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(FlowFields, paths_are_unique_named_once_and_explained_on_one_line) {
    std::set<std::string> paths;
    for (const auto* table : {&brief_fields(), &interval_fields(), &flow_fields()})
        for (const FlowField& field : *table) {
            EXPECT_TRUE(paths.insert(field.path).second) << field.path;
            EXPECT_FALSE(field.help.empty()) << field.path;
            EXPECT_EQ(field.help.find('\n'), std::string::npos) << field.path;
            EXPECT_FALSE(field.title.empty()) << field.path;
        }
    // A name that is a column as well as a group of columns would mean two things.
    for (const std::string& path : paths)
        for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1))
            EXPECT_EQ(paths.count(path.substr(0, dot)), 0U) << path;
}

TEST(FlowFields, members_of_a_group_stand_together) {
    // Else a JSON object would have a member twice.
    std::set<std::string> ended;
    std::vector<std::string> open;
    for (const FlowField& field : flow_fields()) {
        std::vector<std::string> groups;
        for (std::size_t dot = field.path.find('.'); dot != std::string::npos; dot = field.path.find('.', dot + 1))
            groups.push_back(field.path.substr(0, dot));
        for (const std::string& group : open)
            if (std::find(groups.begin(), groups.end(), group) == groups.end()) ended.insert(group);
        for (const std::string& group : groups) EXPECT_EQ(ended.count(group), 0U) << field.path;
        open = std::move(groups);
    }
}

TEST(FlowFields, are_found_by_path_and_by_group) {
    EXPECT_EQ(find_fields("packets").size(), 1U);
    EXPECT_EQ(find_fields("latency_ns.write").size(), 8U);
    EXPECT_EQ(find_fields("latency_ns").size(), 64U);
    EXPECT_EQ(find_fields("state_ns").size(), 15U);
    EXPECT_TRUE(find_fields("latency").empty());
    EXPECT_TRUE(find_fields("").empty());
    for (const std::string_view name : field_names()) EXPECT_FALSE(find_fields(name).empty()) << name;
}

/// The names are those of JSON, which the manual describes.
TEST(FlowFields, know_the_statistic_that_their_path_names) {
    constexpr std::pair<std::string_view, Statistic> names[] = {
        {".min", Statistic::min}, {".mean", Statistic::mean}, {"_mean", Statistic::mean}, {".p50", Statistic::p50},
        {".p90", Statistic::p90}, {".p99", Statistic::p99},   {".p999", Statistic::p999}, {".max", Statistic::max}};
    std::size_t found = 0;
    for (const FlowField& field : flow_fields()) {
        std::optional<Statistic> named;
        for (const auto& [end, statistic] : names)
            if (field.path.ends_with(end)) named = statistic;
        if (field.path.ends_with("_ns.count") || field.path == "message_bytes.count") named = Statistic::samples;
        if (field.path.starts_with("latency_ns.") && field.path.ends_with(".count")) named = Statistic::samples;
        if (field.path == "first_response_ns.read.count") named = Statistic::samples;
        EXPECT_EQ(field.statistic, named) << field.path;
        EXPECT_EQ(field.lists_frames, field.path.ends_with(".frames")) << field.path;
        found += named.has_value() ? 1 : 0;
    }
    EXPECT_GT(found, 100u);
}

/// "CODE", and the names that the end of the reference lists for that placeholder.
std::vector<std::pair<std::string, std::vector<std::string>>> placeholders_of(std::string_view reference) {
    constexpr std::string_view title = "\nCapitals stand for one of these names:\n";
    std::istringstream lines(std::string(reference.substr(reference.find(title) + title.size())));
    std::vector<std::pair<std::string, std::vector<std::string>>> all;
    for (std::string line; std::getline(lines, line) && !line.empty();) {
        std::istringstream words(line);
        words >> all.emplace_back().first;
        for (std::string name; words >> name;) {
            if (name.ends_with(',')) name.pop_back();
            all.back().second.push_back(std::move(name));
        }
    }
    return all;
}

/// Every column that a name of the reference stands for: "naks.CODE", "latency_ns.OPERATION.{count,min}".
std::vector<std::string> columns_of(std::string name,
                                    const std::vector<std::pair<std::string, std::vector<std::string>>>& all) {
    std::vector<std::string> members{""};
    if (const std::size_t brace = name.find('{'); brace != std::string::npos) {
        EXPECT_TRUE(name.ends_with('}')) << name;
        std::istringstream list(name.substr(brace + 1, name.size() - brace - 2));
        members.clear();
        for (std::string member; std::getline(list, member, ',');) members.push_back(member);
        name.erase(brace);
    }
    std::vector<std::string> stems{name};
    for (const auto& [placeholder, names] : all) {
        const std::size_t at = name.find("." + placeholder);
        if (at == std::string::npos) continue;
        stems.clear();
        for (const std::string& each : names)
            stems.push_back(std::string(name).replace(at + 1, placeholder.size(), each));
    }
    std::vector<std::string> columns;
    for (const std::string& stem : stems)
        for (const std::string& member : members) columns.push_back(stem + member);
    return columns;
}

TEST(FlowFields, the_reference_has_every_column) {
    const std::string reference = column_reference();
    const auto placeholders = placeholders_of(reference);
    EXPECT_FALSE(placeholders.empty());
    std::set<std::string> columns;
    std::istringstream lines(reference);
    for (std::string line; std::getline(lines, line) && !line.empty();)
        for (std::string& column : columns_of(line.substr(0, line.find(' ')), placeholders))
            columns.insert(std::move(column));
    for (const auto* table : {&brief_fields(), &interval_fields(), &flow_fields()})
        for (const FlowField& field : *table) EXPECT_EQ(columns.count(field.path), 1U) << field.path;
}

TEST(Readable, three_digits_and_a_unit) {
    const auto ns = [](std::uint64_t value) { return readable(value, Unit::ns); };
    EXPECT_EQ(ns(0), "0ns");
    EXPECT_EQ(ns(999), "999ns");
    EXPECT_EQ(ns(1000), "1.00us");
    EXPECT_EQ(ns(12'345), "12.3us");
    EXPECT_EQ(ns(999'499), "999us");
    EXPECT_EQ(ns(999'500), "1.00ms");
    EXPECT_EQ(ns(1'500'000'000), "1.50s");
    EXPECT_EQ(ns(3'600'000'000'000), "60.0min");
    EXPECT_EQ(ns(18'446'744'073'709'551'615U), "213504d");  // 2^64 / 86.4e12
    EXPECT_EQ(readable(std::uint64_t{65'536}, Unit::bytes), "64KiB");
    EXPECT_EQ(readable(std::uint64_t{12}, Unit::bytes), "12B");
    EXPECT_EQ(readable(1.25e9, Unit::bytes_per_sec), "1.25GB/s");
    EXPECT_EQ(readable(std::uint64_t{100'000'000'000}, Unit::bits_per_sec), "100Gbit/s");
    EXPECT_EQ(readable(0.5, Unit::share), "50%");
    EXPECT_EQ(readable(Value{}, Unit::ns), "-");
    EXPECT_EQ(readable(std::uint64_t{1'234'567}, Unit::count), "1234567");
    EXPECT_EQ(readable(Frames{3, 4}, Unit::frame), "3 4");
    EXPECT_EQ(readable(std::int64_t{-1}, Unit::time), "-1.999999999");
}

TEST(Value, says_times_as_dates_and_seconds) {
    // date -u -d @1795227260 says 2026-11-21 02:14:20.
    EXPECT_EQ(iso_time(1'795'227'260'140'068'000), "2026-11-21T02:14:20.140068000Z");
    EXPECT_EQ(iso_time(0), "1970-01-01T00:00:00.000000000Z");
    EXPECT_EQ(iso_time(-1), "1969-12-31T23:59:59.999999999Z");
    // date -u -d @-9223372037
    EXPECT_EQ(iso_time(std::numeric_limits<std::int64_t>::min()), "1677-09-21T00:12:43.145224192Z");
    EXPECT_EQ(seconds_text(1'668'331'000), "1.668331000");
    EXPECT_EQ(seconds_text(-5), "-0.000000005");
    EXPECT_EQ(seconds_text(std::numeric_limits<std::int64_t>::min()), "-9223372036.854775808");
}

TEST(Table, aligns_numbers_right_and_text_left_however_wide) {
    Table table({{"name", true}, {"n", false}, {"end", true}});
    table.add({"x", "1", "a"});
    table.add({"a rather wide name \xc3\xa9", "12345", "b"});
    table.add({"", "-", "c"});
    std::string out;
    table.flush(out);
    EXPECT_EQ(out,
              "name                      n  end\n"
              "x                         1  a\n"
              "a rather wide name \xc3\xa9  12345  b\n"
              "                          -  c\n");
}

TEST(Table, tells_its_titles_again_only_where_columns_grew) {
    Table table({{"a", true}, {"b", false}});
    std::string out;
    table.add({"xx", "1"});
    table.flush(out);
    table.add({"y", "2"});
    table.flush(out);
    table.add({"zzz", "3"});
    table.flush(out);
    EXPECT_EQ(out, "a   b\nxx  1\ny   2\na    b\nzzz  3\n");
}

TEST(BriefColumns, put_figures_together) {
    const metrics::FlowSnapshot flow = write_flow();
    const metrics::FlowSnapshot bare = bare_tcp_flow();
    const Context context;
    const auto text = [&](const char* name, const metrics::FlowSnapshot& of) {
        return cell(*find_fields(name).front(), {of, context});
    };
    EXPECT_EQ(text("flow", flow), "192.0.2.1 > 192.0.2.2/0x11");
    EXPECT_EQ(text("flow", bare), "192.0.2.2.7174 > 192.0.2.1.40000");
    EXPECT_EQ(text("operations", flow), "write");
    EXPECT_EQ(text("operations", bare), "-");
    EXPECT_EQ(text("depth", flow), "2.5/16");
    EXPECT_EQ(text("nak_rnr", flow), "2/1");
    EXPECT_EQ(text("top_state", flow), "ack_window 75%");
    EXPECT_EQ(text("goodput", flow), "800kbit/s");
    EXPECT_EQ(text("goodput_bytes_per_sec", flow), "800kbit/s");
    EXPECT_EQ(text("goodput", bare), "-");
    EXPECT_EQ(text("latency_p99", bare), "-");

    metrics::FlowSnapshot begun = flow;
    begun.operations = {};
    EXPECT_EQ(text("operations", begun), "(unfinished)");
    begun.messages_mean = 0;
    EXPECT_EQ(text("operations", begun), "(responses)");
    begun.payload_bytes = 0;
    EXPECT_EQ(text("operations", begun), "-");
    begun.acknowledgement_packets = 1;
    EXPECT_EQ(text("operations", begun), "(acks)");

    metrics::FlowSnapshot idle = flow;
    idle.state_ns[metrics::index_of(metrics::State::application_idle)] = 9'000'000'000;  // of 10 s
    EXPECT_EQ(text("top_state", idle), "idle 90%");

    metrics::FlowSnapshot mixed = flow;
    mixed.operations[metrics::index_of(metrics::Operation::send)].count = 300;
    mixed.operations[metrics::index_of(metrics::Operation::read)].count = 100;
    EXPECT_EQ(text("operations", mixed), "send 60%, +2");
    EXPECT_EQ(text("latency_p50", mixed), "-");  // of the sends, and they have none
}

TEST(BriefColumns, an_interval_begins_at_a_time_of_day) {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    const metrics::FlowSnapshot flow = write_flow();
    const auto text = [&](std::uint64_t length_ns) {
        const Context context{nullptr, true, Interval{3'661'250'000'000, length_ns}};
        return cell(*find_fields("interval.start_ns").front(), {flow, context});
    };
    EXPECT_EQ(text(50'000'000), "01:01:01.250");
    EXPECT_EQ(text(50'000), "01:01:01.250000");
}

TEST(Table, of_pieces_begins_as_wide_as_figures_become) {
    const FlowColumns columns{find_fields("goodput").front(), find_fields("id").front()};
    std::string out;
    Table table = flow_table(columns, true);
    table.add({"8bit/s", "1"});
    table.flush(out);
    table.add({"10.0Gbit/s", "2"});
    table.flush(out);
    EXPECT_EQ(out, "   goodput  id\n    8bit/s   1\n10.0Gbit/s   2\n");
}

TEST(DefaultColumns, fit_the_terminal_and_drop_what_matters_least) {
    const metrics::FlowSnapshot flow = write_flow();
    const Context context;
    const std::vector<FlowRow> rows{{flow, context}};
    const auto width_of = [&](const FlowColumns& columns) {
        Table table = flow_table(columns);
        std::vector<std::string> cells;
        for (const FlowField* field : columns) cells.push_back(cell(*field, rows.front()));
        table.add(std::move(cells));
        std::string out;
        table.flush(out);
        return out.find('\n', out.find('\n') + 1) - out.find('\n') - 1;
    };
    const FlowColumns all = default_columns(rows, false, {});
    EXPECT_EQ(all.size(), 16U);
    std::size_t before = 0;
    for (const std::size_t width : {60U, 80U, 100U, 120U, 200U}) {
        const FlowColumns some = default_columns(rows, false, width);
        EXPECT_LE(width_of(some), width);
        EXPECT_GE(some.size(), before);
        before = some.size();
        EXPECT_NE(std::find(some.begin(), some.end(), find_fields("flow").front()), some.end());
    }
    EXPECT_EQ(default_columns(rows, false, 1).size(), 1U);
    // Nothing was marked: that column goes before any other.
    const FlowColumns narrower = default_columns(rows, false, width_of(all) - 1);
    EXPECT_EQ(std::find(narrower.begin(), narrower.end(), find_fields("ce_cnp").front()), narrower.end());
}

TEST(Csv, quotes_as_RFC_4180_says) {
    const OneName names;
    const metrics::FlowSnapshot flow = write_flow();
    const Context context{&names, true, {}};
    FlowColumns columns;
    for (const char* name : {"id", "source.name", "source.qpn", "exhibits.nak.frames"})
        columns.push_back(find_fields(name).front());
    std::string out;
    append_csv_header(out, columns);
    append_csv_row(out, columns, {flow, context});
    EXPECT_EQ(out, "id,source.name,source.qpn,exhibits.nak.frames\n7,\"a \"\"b\"\", c\",,12 40\n");
}

TEST(Csv, one_empty_field_is_a_line_of_its_own) {
    const metrics::FlowSnapshot flow = write_flow();
    std::string out;
    append_csv_row(out, find_fields("reverse"), {flow, {}});
    EXPECT_EQ(out, "\"\"\n");
}

TEST(Csv, a_row_has_as_many_fields_as_the_header) {
    const FlowColumns columns = all_columns(true);
    std::string out;
    append_csv_header(out, columns);
    EXPECT_EQ(static_cast<std::size_t>(std::count(out.begin(), out.end(), ',')), columns.size() - 1);
    out.clear();
    append_csv_row(out, columns, {bare_tcp_flow(), {}});
    EXPECT_EQ(static_cast<std::size_t>(std::count(out.begin(), out.end(), ',')), columns.size() - 1);
}

TEST(Order, nothing_then_numbers_then_text) {
    EXPECT_LT(compare(Value{}, std::uint64_t{0}), 0);
    EXPECT_LT(compare(std::uint64_t{2}, std::uint64_t{10}), 0);
    EXPECT_GT(compare(std::uint64_t{18'446'744'073'709'551'615U}, std::uint64_t{18'446'744'073'709'551'614U}), 0);
    EXPECT_LT(compare(std::int64_t{-1}, 0.5), 0);
    EXPECT_LT(compare(std::string("10"), std::string("2")), 0);
    EXPECT_LT(compare(5.0, std::string("")), 0);
    EXPECT_EQ(compare(Value{}, Value{}), 0);
}

}  // namespace
}  // namespace exporters::test
