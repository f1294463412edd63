/// Flows are named by the frame in which they were first seen, and no two alike.
#include <gtest/gtest.h>

#include "metrics/measure/flow/flow_store.h"

namespace {

using namespace metrics;

class Ids : public testing::Test {
protected:
    /// The id of a flow that is met in the frame for the first time.
    std::uint64_t add_flow(wire::Transport transport, std::uint64_t frame) {
        FlowKey key;
        key.transport = transport;
        key.selector = ++selector_;
        return store_.table[store_.obtain(key, hash_of(key), frame, 0)].id;
    }
    static constexpr auto iwarp = wire::Transport::iwarp;
    static constexpr auto roce = wire::Transport::roce2;

private:
    FlowStore store_{EngineOptions{}};
    std::uint32_t selector_ = 0;
};

TEST_F(Ids, are_numbers_of_frames) {
    EXPECT_EQ(add_flow(roce, 1), 1u);
    EXPECT_EQ(add_flow(iwarp, 7), 7u);
    EXPECT_EQ(add_flow(roce, 9), 9u);
}

TEST_F(Ids, of_one_frame_differ) {
    EXPECT_EQ(add_flow(iwarp, 7), 7u);
    EXPECT_EQ(add_flow(iwarp, 7), 1'000'000'000'000'007u);
    EXPECT_EQ(add_flow(iwarp, 7), 2'000'000'000'000'007u);
    EXPECT_EQ(add_flow(iwarp, 8), 8u);
}

TEST_F(Ids, of_packets_that_waited_are_still_those_of_their_frames) {
    EXPECT_EQ(add_flow(iwarp, 7), 7u);
    EXPECT_EQ(add_flow(roce, 5), 5u);
    EXPECT_EQ(add_flow(iwarp, 7), 1'000'000'000'000'007u);
}

/// What streams still held when the capture ended stands for the last frame of theirs, whatever came after it.
TEST_F(Ids, of_what_the_end_of_a_capture_brings_differ_from_those_that_the_frame_brought) {
    EXPECT_EQ(add_flow(iwarp, 7), 7u);
    EXPECT_EQ(add_flow(iwarp, 7), 1'000'000'000'000'007u);
    EXPECT_EQ(add_flow(roce, 9), 9u);
    EXPECT_EQ(add_flow(iwarp, 7), 2'000'000'000'000'007u);
    EXPECT_EQ(add_flow(iwarp, 7), 3'000'000'000'000'007u);
    EXPECT_EQ(add_flow(iwarp, 6), 6u);
}

TEST(FlowIds, say_which_frame_it_was) {
    EXPECT_EQ(first_frame_of(flow_id(43, 0)), 43u);
    EXPECT_EQ(first_frame_of(flow_id(43, 8)), 43u);
    EXPECT_LT(flow_id(flow_ids_apart - 1, 8), std::uint64_t{1} << 53) << "JSON's numbers are exact up to there";
}

}  // namespace
