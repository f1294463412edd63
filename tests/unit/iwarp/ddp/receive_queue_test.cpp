#include "iwarp/ddp/receive_queue.h"

#include <array>
#include <deque>
#include <gtest/gtest.h>
#include <random>

namespace {

using iwarp::Posted;
using iwarp::Sge;
using iwarp::ddp::Receive;
using iwarp::ddp::ReceiveQueue;

Posted post(ReceiveQueue& queue, std::uint64_t id, std::span<const Sge> pieces = {}) {
    return queue.post({.id = id, .pieces = pieces});
}

TEST(Receives, ComeBackInTheirOrderWithTheirPieces) {
    ReceiveQueue queue{3, 2};
    std::array<std::byte, 30> memory{};
    const std::array<Sge, 2> pieces{Sge{memory.data(), 10, 1}, Sge{memory.data() + 10, 20, 2}};
    EXPECT_EQ(post(queue, 7, pieces), Posted::ok);
    EXPECT_EQ(post(queue, 8), Posted::ok);
    Receive out;
    ASSERT_TRUE(queue.take(out));
    EXPECT_EQ(out.id, 7u);
    EXPECT_EQ(out.length, 30u);
    ASSERT_EQ(out.pieces.size(), 2u);
    EXPECT_EQ(out.pieces[1].address, memory.data() + 10);
    EXPECT_EQ(out.pieces[1].stag, 2u);
    ASSERT_TRUE(queue.take(out));
    EXPECT_EQ(out.id, 8u);
    EXPECT_EQ(out.length, 0u);
    EXPECT_TRUE(out.pieces.empty());
    EXPECT_FALSE(queue.take(out));
    EXPECT_EQ(out.id, 8u);
}

TEST(Receives, KnowTheirLimits) {
    ReceiveQueue queue{2, 1};
    const std::array<Sge, 2> two{};
    EXPECT_EQ(post(queue, 1, two), Posted::too_many_pieces);
    EXPECT_EQ(post(queue, 1), Posted::ok);
    EXPECT_EQ(post(queue, 2), Posted::ok);
    EXPECT_EQ(post(queue, 3), Posted::queue_full);
    EXPECT_EQ(queue.size(), 2u);
    EXPECT_EQ(queue.capacity(), 2u);
    EXPECT_EQ(queue.max_pieces(), 1u);
    EXPECT_EQ(post(*std::make_unique<ReceiveQueue>(0, 1), 1), Posted::queue_full);
}

TEST(Receives, MayTogetherBeLongerThanAnyMessage) {
    ReceiveQueue queue{1, 2};
    const std::array<Sge, 2> pieces{Sge{nullptr, 0xffffffff, 1}, Sge{nullptr, 2, 1}};
    post(queue, 1, pieces);
    Receive out;
    queue.take(out);
    EXPECT_EQ(out.length, 0x100000001u);
}

TEST(Receives, TellOnceThatFewAreLeft) {
    ReceiveQueue queue{8, 1};
    for (std::uint64_t id = 0; id < 8; ++id) post(queue, id);
    Receive out;
    queue.take(out);
    EXPECT_FALSE(queue.limit_reached());
    queue.arm_limit(6);
    EXPECT_FALSE(queue.limit_reached());
    queue.take(out);  // 6 left: not fewer
    EXPECT_FALSE(queue.limit_reached());
    queue.take(out);
    EXPECT_TRUE(queue.limit_reached());
    queue.take(out);
    EXPECT_FALSE(queue.limit_reached());
    queue.arm_limit(4);
    queue.arm_limit(0);
    queue.take(out);
    EXPECT_FALSE(queue.limit_reached());
}

TEST(Receives, AreKeptWhenTheQueueIsResized) {
    ReceiveQueue queue{12, 1};
    Receive out;
    for (std::uint64_t id = 0; id < 12; ++id) post(queue, id);
    for (int i = 0; i < 9; ++i) queue.take(out);
    for (std::uint64_t id = 12; id < 17; ++id) post(queue, id);  // around the end
    EXPECT_FALSE(queue.resize(7));
    EXPECT_EQ(queue.capacity(), 12u);
    EXPECT_TRUE(queue.resize(8));
    EXPECT_EQ(post(queue, 17), Posted::queue_full);
    EXPECT_TRUE(queue.resize(20));
    for (std::uint64_t id = 17; id < 29; ++id) EXPECT_EQ(post(queue, id), Posted::ok);
    EXPECT_EQ(post(queue, 29), Posted::queue_full);
    for (std::uint64_t id = 9; id < 29; ++id) {
        ASSERT_TRUE(queue.take(out));
        EXPECT_EQ(out.id, id);
    }
    EXPECT_TRUE(queue.resize(0));
    EXPECT_EQ(post(queue, 1), Posted::queue_full);
    EXPECT_TRUE(queue.resize(1));
    EXPECT_EQ(post(queue, 1), Posted::ok);
}

TEST(Receives, BehaveLikeAList) {
    std::mt19937 random{5};
    ReceiveQueue queue{10, 1};
    std::uint32_t capacity = 10;
    std::deque<std::uint64_t> model;
    Receive out;
    for (std::uint64_t step = 0; step < 50000; ++step) {
        const auto dice = random() % 100;
        if (dice < 50) {
            const bool room = model.size() < capacity;
            ASSERT_EQ(post(queue, step), room ? Posted::ok : Posted::queue_full);
            if (room) model.push_back(step);
        } else if (dice < 98) {
            ASSERT_EQ(queue.take(out), !model.empty());
            if (model.empty()) continue;
            ASSERT_EQ(out.id, model.front());
            model.pop_front();
        } else {
            const auto wanted = static_cast<std::uint32_t>(random() % 40);
            ASSERT_EQ(queue.resize(wanted), wanted >= model.size());
            if (wanted >= model.size()) capacity = wanted;
        }
        ASSERT_EQ(queue.size(), model.size());
    }
}

}  // namespace
