// Entropies. The ports: values of the kernel's and rdma-core's functions (rdma_calc_flow_label,
// rdma_flow_label_to_udp_sport), worked out in Python.
#include "metrics/figures/path_figures.h"

#include <array>
#include <gtest/gtest.h>

#include "metrics/figures/path_sums.h"

namespace {

using metrics::Entropy;

TEST(EntropyPorts, AreThoseOfLinux) {
    struct Row {
        std::uint32_t one;
        std::uint32_t other;
        std::uint32_t label;
        std::uint16_t port;
    };
    constexpr std::array rows{
        Row{0x11, 0x11, 0x00121, 49441},         Row{0x100, 0x200, 0x20000, 49160},
        Row{0x8a5, 0x8a5, 0xaba5d, 64119},       Row{1000, 2000, 0xe8481, 50363},
        Row{0x123456, 0x654321, 0xa77ae, 63367}, Row{0xffffff, 0xffffff, 0xfff1e, 65313},
    };
    for (const Row& row : rows) {
        EXPECT_EQ(metrics::flow_label_of(row.one, row.other), row.label);
        EXPECT_EQ(metrics::flow_label_of(row.other, row.one), row.label) << "both directions have the same";
        EXPECT_EQ(metrics::udp_port_of(row.label), row.port);
    }
    EXPECT_EQ(metrics::udp_port_of(metrics::flow_label_of(0x11, 0x12)), 49458);
}

TEST(EntropyParts, ComeBack) {
    const Entropy udp = Entropy::of_udp(49441, 0xfffff, 0xfffe);
    EXPECT_EQ(udp.kind(), Entropy::Kind::udp);
    EXPECT_EQ(udp.udp_port(), 49441);
    EXPECT_EQ(udp.flow_label(), 0xfffffU);
    EXPECT_EQ(udp.outer_port(), 0xfffe);
    EXPECT_EQ(Entropy(udp.number()), udp);
    EXPECT_EQ(Entropy(udp.number() | std::uint64_t{0x40} << Entropy::spare_shift), udp);
    const Entropy tcp = Entropy::of_tcp(40022, 4420);
    EXPECT_EQ(tcp.tcp_source_port(), 40022);
    EXPECT_EQ(tcp.tcp_destination_port(), 4420);
    const Entropy infiniband = Entropy::of_infiniband(0xfff0, 0x8001, 15);
    EXPECT_EQ(infiniband.source_lid(), 0xfff0);
    EXPECT_EQ(infiniband.destination_lid(), 0x8001);
    EXPECT_EQ(infiniband.service_level(), 15);
    EXPECT_FALSE(Entropy().known());
}

TEST(EntropyWindowSums, KeepThoseComparedMost) {
    metrics::PathWindowFigures few;
    metrics::PathWindowFigures many;
    for (std::uint16_t i = 0; i < metrics::PathFigures::most_rows; ++i) {
        few.rows.push_back({.entropy = Entropy::of_udp(i), .marks = {1, 0}});
        many.rows.push_back({.entropy = Entropy::of_udp(static_cast<std::uint16_t>(1000 + i)), .delays = {1, 1}});
    }
    metrics::merge_windows(few, many, metrics::PartOrder::other_follows);
    EXPECT_EQ(few, many);
}

/// The windows of one entropy that lost at these times.
metrics::PathWindowFigures lossy(metrics::LossTimes losses, metrics::LossTimes before = {},
                                 std::int64_t rerouted_ns = 0) {
    metrics::PathWindowFigures figures;
    figures.rows.push_back({.entropy = Entropy::of_udp(50'000),
                            .marks = {1, 2},
                            .losses = losses,
                            .losses_before = before,
                            .rerouted_ns = rerouted_ns});
    return figures;
}

/// Ten losses in an hour, none in the next: what passed since then is all of the second.
TEST(LossTimeSums, AddWhatFollows) {
    const metrics::LossTimes first{
        .packets = 1000, .episodes = 10, .packets_since = 50, .widest_gap = 200, .last_ns = 7};
    const metrics::LossTimes second{.packets = 500, .packets_since = 500};
    const metrics::LossTimes both{
        .packets = 1500, .episodes = 10, .packets_since = 550, .widest_gap = 200, .last_ns = 7};
    metrics::PathWindowFigures sum = lossy(first);
    merge_windows(sum, lossy(second), metrics::PartOrder::other_follows);
    EXPECT_EQ(sum.rows[0].losses, both);
    EXPECT_EQ(sum.rows[0].marks, (metrics::SignCounts{2, 4}));
    sum = lossy(second);
    merge_windows(sum, lossy(first), metrics::PartOrder::other_precedes);
    EXPECT_EQ(sum.rows[0].losses, both);
    // And the difference is the second hour again.
    const auto rest = metrics::windows_since({lossy(first)}, {sum});
    ASSERT_EQ(rest.size(), 1u);
    EXPECT_EQ(rest[0].rows[0].losses, second);
}

/// Where no window differs from another, packets are all that shows a path which has recovered.
TEST(LossTimeSums, KeepPacketsWithoutALoss) {
    const metrics::LossTimes first{
        .packets = 1000, .episodes = 10, .packets_since = 50, .widest_gap = 200, .last_ns = 7};
    const metrics::LossTimes both{
        .packets = 1500, .episodes = 10, .packets_since = 550, .widest_gap = 200, .last_ns = 7};
    const auto rest = metrics::windows_since({lossy(first)}, {lossy(both)});
    ASSERT_EQ(rest.size(), 1u);
    EXPECT_EQ(rest[0].rows[0].losses, (metrics::LossTimes{.packets = 500, .packets_since = 500}));
    EXPECT_TRUE(metrics::windows_since({lossy(both)}, {lossy(both)}).empty());
}

TEST(LossTimeSums, KeepWhatWasBeforeTheChange) {
    const metrics::LossTimes first{
        .packets = 1000, .episodes = 10, .packets_since = 50, .widest_gap = 200, .last_ns = 7};
    const metrics::LossTimes until{.packets = 100, .episodes = 2, .last_ns = 9};
    const metrics::LossTimes since{.packets = 400, .packets_since = 400};
    metrics::PathWindowFigures sum = lossy(first);
    merge_windows(sum, lossy(since, until, 11), metrics::PartOrder::other_follows);
    EXPECT_EQ(sum.rows[0].losses, since);
    EXPECT_EQ(sum.rows[0].losses_before.packets, 1100u);
    EXPECT_EQ(sum.rows[0].losses_before.episodes, 12u);
    EXPECT_EQ(sum.rows[0].rerouted_ns, 11);
    EXPECT_EQ(sum.rows[0].marks, (metrics::SignCounts{1, 2})) << "marks of the former route say nothing";
    const auto rest = metrics::windows_since({lossy(first)}, {sum});
    EXPECT_EQ(rest[0].rows[0].losses, since);
    EXPECT_EQ(rest[0].rows[0].losses_before.episodes, 2u);
}

TEST(EntropyText, SaysItsParts) {
    EXPECT_EQ(to_text(Entropy::of_udp(49441)), "49441");
    EXPECT_EQ(to_text(Entropy::of_udp(49441, 0x121)), "49441 label 0x00121");
    EXPECT_EQ(to_text(Entropy::of_udp(49441, 0, 50000)), "49441 in 50000");
    EXPECT_EQ(to_text(Entropy::of_tcp(40022, 4420)), "40022 > 4420");
    EXPECT_EQ(to_text(Entropy::of_infiniband(3, 7, 1)), "lid 3 > 7 sl 1");
    EXPECT_EQ(to_text(Entropy()), "-");
}

}  // namespace
