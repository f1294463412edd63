// The parts of a report that are figures of their own: the time line, the marks of a plot, substitutes of addresses.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporters/report/anonymous.h"
#include "exporters/report/report_page.h"
#include "exporters/report/sequence_plot.h"
#include "exporters/report/time_line.h"

namespace exporters::report {
namespace {

using testing::ElementsAre;
using testing::Pair;

metrics::Snapshot interval(std::uint64_t flow, std::uint64_t bytes, std::int64_t last_ns, std::uint64_t idle_ns) {
    metrics::Snapshot snapshot;
    metrics::FlowSnapshot one;
    one.id = flow;
    one.wire_bytes = bytes;
    one.last_ns = last_ns;
    one.state_ns[metrics::index_of(metrics::State::application_idle)] = idle_ns;
    one.operations[0].latency_ns.record(1000);
    snapshot.flows.push_back(std::move(one));
    return snapshot;
}

TEST(TimeLine, joins_neighbours_when_there_are_too_many_bins_and_loses_nothing) {
    TimeLine line(10, {.bins = 4, .flow_bins = 1000});
    for (std::int64_t i = 0; i < 8; ++i) line.add(100 + i * 10, interval(7, 5, 100 + i * 10 + 9, 10));
    // Eight bins of 10 ns from 100 on are at most four of 20 ns: 100 is the beginning of one.
    EXPECT_EQ(line.bin_ns(), 20U);
    ASSERT_EQ(line.bins().size(), 4U);
    EXPECT_EQ(line.first_bin(), 5);
    std::uint64_t bytes = 0;
    for (const auto& [number, bin] : line.bins()) bytes += bin.figures.wire_bytes;
    EXPECT_EQ(bytes, 40U);
    const std::vector<FlowBin>& own = line.flows().at(7);
    ASSERT_EQ(own.size(), 4U);
    EXPECT_EQ(own.front().covered_ns, 20U);
    EXPECT_EQ(own.front().to_ns, 119);
    EXPECT_THAT(own.front().states, ElementsAre(Pair(14, 20U)));
    // log2(1000) is 9.966: row 39.
    EXPECT_THAT(own.front().latencies, ElementsAre(Pair(39, 2U)));
}

TEST(TimeLine, keeps_times_before_1970_in_order) {
    TimeLine line(10);
    line.add(-5, interval(1, 1, -1, 0));
    line.add(5, interval(1, 1, 9, 0));
    EXPECT_EQ(line.first_bin(), -1);
    EXPECT_EQ(line.last_bin(), 0);
}

TEST(TimeLine, bounds_the_bins_of_all_flows) {
    TimeLine line(10, {.bins = 1000, .flow_bins = 6});
    for (std::int64_t i = 0; i < 8; ++i)
        for (std::uint64_t flow = 1; flow <= 2; ++flow) line.add(i * 10, interval(flow, 1, i * 10, 0));
    std::size_t bins = 0;
    for (const auto& [flow, own] : line.flows()) bins += own.size();
    EXPECT_LE(bins, 6U);
}

SequenceMark mark(MarkKind kind, std::int64_t place, std::int64_t sequence) {
    return {kind, place, sequence, 1, static_cast<std::uint64_t>(place + 1), 0};
}

TEST(MarkThinner, keeps_all_that_fit) {
    MarkThinner thinner(100, 1);
    for (std::int64_t i = 0; i < 100; ++i) thinner.add(mark(MarkKind::data, i, i));
    EXPECT_EQ(thinner.take().size(), 100U);
}

TEST(MarkThinner, keeps_what_stands_out_its_neighbours_and_the_outline) {
    constexpr std::int64_t all = 100'000;
    MarkThinner thinner(2000, 1);
    thinner.keep(77'778);
    for (std::int64_t i = 0; i < all; ++i)
        thinner.add(mark(i == 50'000 ? MarkKind::nak : MarkKind::data, i, i == 12'345 ? 9'999'999 : i));
    EXPECT_EQ(thinner.seen(), static_cast<std::uint64_t>(all));
    const std::vector<SequenceMark> marks = thinner.take();
    EXPECT_LE(marks.size(), 3000U);
    const auto has = [&marks](std::uint64_t frame) {
        return std::ranges::any_of(marks, [frame](const SequenceMark& each) { return each.frame == frame; });
    };
    for (std::uint64_t frame = 50'001 - 24; frame <= 50'001 + 24; ++frame) EXPECT_TRUE(has(frame)) << frame;
    EXPECT_TRUE(has(77'778)) << "a frame that is named";
    EXPECT_TRUE(has(1));
    EXPECT_TRUE(has(all));
    EXPECT_TRUE(has(12'346)) << "the greatest of its column";
    EXPECT_TRUE(std::ranges::is_sorted(marks, {}, &SequenceMark::frame));
}

TEST(MarkThinner, is_bounded_where_everything_stands_out) {
    MarkThinner thinner(2000, 1);
    for (std::int64_t i = 0; i < 200'000; ++i) thinner.add(mark(MarkKind::repeated, i, i));
    const std::vector<SequenceMark> marks = thinner.take();
    EXPECT_LE(marks.size(), 3000U);
    EXPECT_GT(marks.back().time_ns, 199'000) << "the outline goes to the end";
}

TEST(Anonymous, replaces_each_address_by_the_same_one) {
    metrics::Address storage;
    storage.family = wire::AddressFamily::ipv4;
    storage.octets = {10, 20, 30, 40};
    metrics::Address client = storage;
    client.octets[3] = 41;
    metrics::Snapshot snapshot;
    metrics::FlowSnapshot flow;
    flow.source.address = client;
    flow.destination.address = storage;
    snapshot.flows.push_back(flow);
    std::swap(flow.source, flow.destination);
    snapshot.flows.push_back(flow);
    snapshot.hosts.resize(2);
    snapshot.hosts[0].address = storage;
    snapshot.hosts[1].address = client;
    Anonymous anonymous;
    const metrics::Snapshot other = anonymous.snapshot(snapshot);
    EXPECT_EQ(metrics::to_text(other.flows[0].source.address), "198.18.0.1");
    EXPECT_EQ(metrics::to_text(other.flows[0].destination.address), "198.18.0.2");
    EXPECT_EQ(other.flows[1].source.address, other.flows[0].destination.address);
    EXPECT_EQ(metrics::to_text(other.hosts[0].address), "198.18.0.1") << "hosts are in the order of their addresses";
}

TEST(ReportPage, no_text_ends_the_element_of_the_document) {
    EXPECT_EQ(escaped_for_element(R"({"title":"</script><!--"})"), R"({"title":"\u003c/script>\u003c!--"})");
}

}  // namespace
}  // namespace exporters::report
