#include "dissect/tcp/buffer_pool.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace {

using dissect::tcp::BufferPool;

constexpr std::size_t slabs = 6;

std::vector<BufferPool::Buffer> all_of(BufferPool& pool, std::size_t size) {
    std::vector<BufferPool::Buffer> out;
    for (auto buffer = pool.acquire(size); buffer.data != nullptr; buffer = pool.acquire(size)) out.push_back(buffer);
    return out;
}

/// A burst of one size keeps nothing that the others could not use.
TEST(BufferPool, memory_serves_every_size_in_turn) {
    BufferPool pool{slabs * BufferPool::largest};
    for (int round = 0; round < 3; ++round) {
        const std::size_t sizes[] = {256, 768, 2048, 18432, BufferPool::largest};
        for (const std::size_t size : sizes) {
            const auto pieces = all_of(pool, size);
            EXPECT_EQ(pieces.size(), slabs * BufferPool::largest / size);
            for (const auto& piece : pieces) pool.release(piece);
        }
    }
    EXPECT_EQ(pool.reserved_bytes(), slabs * BufferPool::largest);
}

TEST(BufferPool, a_larger_piece_comes_back_as_one) {
    BufferPool pool{2 * BufferPool::largest};
    const auto large = all_of(pool, 18432);
    pool.release(large.front());
    const auto instead = pool.acquire(300);
    EXPECT_EQ(instead.capacity, 18432u);
    EXPECT_EQ(pool.acquire(300).data, nullptr);
    pool.release(instead);
    EXPECT_EQ(pool.acquire(18432).data, large.front().data);
}

TEST(BufferPool, pieces_do_not_overlap) {
    std::mt19937 random{1};
    BufferPool pool{slabs * BufferPool::largest};
    std::vector<std::pair<BufferPool::Buffer, std::byte>> lent;
    for (int i = 0; i < 100000; ++i) {
        // Phases of more and of less.
        if (random() % 16 < (i / 5000 % 2 == 0 ? 9u : 6u)) {
            const std::size_t size = std::size_t{1} << random() % 17;
            const auto buffer = pool.acquire(size);
            if (buffer.data == nullptr) continue;
            ASSERT_GE(buffer.capacity, size);
            const auto mark = static_cast<std::byte>(random());
            std::memset(buffer.data, std::to_integer<int>(mark), buffer.capacity);
            lent.emplace_back(buffer, mark);
        } else if (!lent.empty()) {
            std::swap(lent[random() % lent.size()], lent.back());
            const auto& [buffer, mark] = lent.back();
            ASSERT_EQ(buffer.data[0], mark);
            ASSERT_EQ(buffer.data[buffer.capacity - 1], mark);
            pool.release(buffer);
            lent.pop_back();
        }
    }
    for (const auto& each : lent) pool.release(each.first);
    EXPECT_EQ(all_of(pool, BufferPool::largest).size(), slabs);
}

TEST(BufferPool, who_is_short_asks) {
    BufferPool pool{BufferPool::largest};
    auto lent = all_of(pool, 2048);
    unsigned asked = 0;
    pool.on_shortage = [&] {
        ++asked;
        if (lent.empty()) return false;
        pool.release(lent.back());
        lent.pop_back();
        return true;
    };
    EXPECT_NE(pool.acquire(2048).data, nullptr);
    EXPECT_EQ(asked, 1u);
    EXPECT_EQ(pool.acquire(BufferPool::largest + 1).data, nullptr);
    EXPECT_EQ(asked, 1u) << "nobody can help with that";
    EXPECT_EQ(pool.acquire(BufferPool::largest).data, nullptr) << "one piece is still out";
    EXPECT_TRUE(lent.empty());
}

}  // namespace
