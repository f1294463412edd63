// The path keys of flows: what fits into a mark of four bytes, and what needs a block.
#include "metrics/measure/flow/flow_paths.h"

#include <array>
#include <gtest/gtest.h>
#include <memory>

namespace {

using metrics::Entropy;
using metrics::Flow;
using metrics::FlowPaths;
using metrics::PathKey;

constexpr std::uint8_t hop_limit = 61;

TEST(PathKeyTest, HoldsEntropyAndHopLimit) {
    const auto entropies =
        std::to_array<Entropy>({Entropy{}, Entropy::of_udp(0), Entropy::of_udp(0xffff), Entropy::of_udp(49'441, 1),
                                Entropy::of_udp(49'441, 0, 1), Entropy::of_udp(0xffff, 0xfffff, 0xffff),
                                Entropy::of_tcp(0, 49'441), Entropy::of_infiniband(0, 0, 1)});
    for (const Entropy entropy : entropies)
        for (const std::uint8_t limit : std::to_array<std::uint8_t>({0, 1, 255})) {
            SCOPED_TRACE(to_text(entropy));
            const PathKey key(entropy, limit);
            EXPECT_EQ(key.entropy(), entropy);
            EXPECT_EQ(key.hop_limit(), limit);
            EXPECT_EQ(PathKey::of_parts(key.mark(), key.number()), key);
            const bool plain = entropy == Entropy::of_udp(0) || entropy == Entropy::of_udp(0xffff);
            EXPECT_EQ(key.mark() != 0, plain);
            if (!plain) continue;
            EXPECT_EQ(PathKey::of_plain(entropy.udp_port(), limit), key);
        }
}

TEST(FlowPathsTest, TakeABlockForWhatNeedsOne) {
    FlowPaths paths(1);
    Flow flow;
    EXPECT_FALSE(paths.key(flow).entropy().known());
    const PathKey plain = PathKey::of_plain(49'441, hop_limit);
    paths.set_key(flow, plain);
    EXPECT_TRUE(paths.has_key(flow, plain));
    EXPECT_EQ(flow.path, FlowPaths::none);

    const PathKey labelled(Entropy::of_udp(49'441, 0x121), hop_limit);
    EXPECT_FALSE(paths.has_key(flow, labelled));
    paths.set_key(flow, labelled);
    EXPECT_NE(flow.path, FlowPaths::none);
    EXPECT_EQ(paths.key(flow), labelled);
    EXPECT_FALSE(paths.has_key(flow, PathKey(Entropy::of_udp(49'441, 0x122), hop_limit)));
    EXPECT_FALSE(paths.has_key(flow, PathKey(Entropy::of_udp(49'441, 0x121), hop_limit - 1)));
    EXPECT_FALSE(paths.has_key(flow, plain));
    paths.set_key(flow, plain);
    EXPECT_EQ(paths.key(flow), plain) << "not the number that the block had";

    Flow other;
    paths.set_key(other, labelled);
    EXPECT_FALSE(paths.key(other).entropy().known()) << "there is no room";
    paths.give_back(flow);
    paths.set_key(other, labelled);
    EXPECT_EQ(paths.key(other), labelled);
}

/// The mark and the block's number lie where other members end with padding.
TEST(FlowPathsTest, AreLeftWhenTheirNeighboursChange) {
    FlowPaths paths(1);
    const auto flow = std::make_unique<Flow>();
    const PathKey plain = PathKey::of_plain(49'441, hop_limit);
    paths.set_key(*flow, plain);
    ASSERT_TRUE(paths.take(*flow));
    flow->plain_key = metrics::PlainKey(~std::uint64_t{0}, metrics::Service::uc, 0xffffff);
    flow->operations = metrics::OperationCounts{};
    EXPECT_EQ(paths.key(*flow), plain);
    EXPECT_EQ(flow->path, 0u);
}

}  // namespace
