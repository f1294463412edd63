#include <algorithm>
#include <gtest/gtest.h>

#include "support.h"

namespace {

using namespace mpa_test;
using iwarp::mpa::Batch;
using iwarp::mpa::FpduWriter;

/// FPDUs of these payloads, and the octets they should be.
struct Filled {
    explicit Filled(const std::vector<std::size_t>& payloads, bool markers = false)
        : writer{{true, markers}}, expected{.crc = true, .markers = markers, .octets = {}, .ulpdus = {}, .ends = {}} {
        std::mt19937 random{9};
        for (const std::size_t length : payloads) {
            memory.push_back(pattern(random, length));
            add(memory.back());
        }
    }
    void add(const Octets& payload) {
        const base::Bytes piece = payload;
        writer.add(header(true), std::span{&piece, 1}, batch);
        expected.add(true, payload);
    }
    FpduWriter writer;
    Stream expected;
    std::deque<Octets> memory;
    Batch batch;
};

TEST(Batch, consumed_in_parts_of_every_size) {
    const std::vector<std::size_t> payloads = {0, 1, 2000, 64, 64, 3001, 1500, 0, 0, 1024, 1025};
    for (const bool markers : {false, true}) {
        for (std::size_t part = 1; part < 4000; part += 1 + part / 8) {
            Filled filled{payloads, markers};
            const base::Bytes all = filled.expected.octets;
            std::size_t at = 0;
            while (!filled.batch.empty()) {
                ASSERT_EQ(filled.batch.octets(), all.size() - at);
                ASSERT_TRUE(std::ranges::equal(content(filled.batch.pieces()), all.subspan(at)));
                for (const base::Bytes piece : filled.batch.pieces()) ASSERT_FALSE(piece.empty());
                // The next FPDU ends where the test's own framing has an end.
                const auto end = std::ranges::upper_bound(filled.expected.ends, at);
                ASSERT_TRUE(std::ranges::equal(content(filled.batch.next_fpdu()), all.subspan(at, *end - at)));
                const std::size_t now = std::min(part, all.size() - at);
                filled.batch.consume(now);
                at += now;
            }
            ASSERT_EQ(at, all.size());
            ASSERT_TRUE(filled.batch.pieces().empty());
            ASSERT_TRUE(filled.batch.next_fpdu().empty());
        }
    }
}

TEST(Batch, pieces_stay_where_they_are_while_fpdus_are_added) {
    Filled filled{{5000, 10}};
    const auto before = filled.batch.pieces();
    const Octets sent = content(before);
    while (!filled.batch.full()) {
        filled.memory.push_back(Octets(700));
        filled.add(filled.memory.back());
    }
    EXPECT_EQ(content(before.first(2)), Octets(sent.begin(), sent.begin() + 5016));
    EXPECT_EQ(before.data(), filled.batch.pieces().data());
    EXPECT_TRUE(std::ranges::equal(content(filled.batch.pieces()), filled.expected.octets));
}

TEST(Batch, added_to_while_half_sent) {
    Filled filled{{3000, 50}};
    filled.batch.consume(3030);
    filled.memory.push_back(Octets(60, std::byte{1}));
    filled.add(filled.memory.back());
    EXPECT_TRUE(std::ranges::equal(content(filled.batch.pieces()), base::Bytes{filled.expected.octets}.subspan(3030)));
}

TEST(Batch, is_full_by_fpdus_octets_or_pieces) {
    {
        Filled filled{{}};
        unsigned count = 0;
        for (; !filled.batch.full(); ++count) filled.add(Octets(8));
        EXPECT_EQ(count, Batch::max_fpdus);
    }
    {
        Filled filled{{}};
        filled.memory.push_back(Octets(60000));
        unsigned count = 0;
        for (; !filled.batch.full(); ++count) filled.add(filled.memory.back());
        EXPECT_EQ(count, 9u);  // 8 * 60024 is below 524288, 9 * 60024 is not
    }
    Batch batch;
    FpduWriter writer{{true, false}};
    const Octets memory(2000);
    std::vector<base::Bytes> pieces;
    for (std::size_t i = 0; i < 32; ++i) pieces.push_back(base::Bytes{memory}.subspan(i * 60, 60));
    while (!batch.full()) writer.add(header(true), pieces, batch);
    EXPECT_LE(batch.pieces().size(), Batch::max_pieces);
    EXPECT_LT(writer.fpdus(), Batch::max_fpdus);
    // Sent octets leave no room: only an empty batch begins again.
    batch.consume(batch.octets() - 1);
    EXPECT_TRUE(batch.full());
    batch.consume(1);
    EXPECT_TRUE(batch.empty());
    EXPECT_FALSE(batch.full());
}

TEST(Batch, detached_from_the_users_memory) {
    for (const std::size_t consumed : {0u, 1u, 2999u, 3030u, 6000u, 66000u}) {
        Filled filled{{3000, 50, 5000, 60000, 0}};
        for (unsigned round = 0; round < 3; ++round) {
            filled.batch.consume(consumed);
            filled.batch.detach();
            for (Octets& octets : filled.memory) std::ranges::fill(octets, std::byte{0xdd});
            const base::Bytes expected = base::Bytes{filled.expected.octets}.subspan(consumed);
            ASSERT_TRUE(std::ranges::equal(content(filled.batch.pieces()), expected)) << consumed;
            const auto end = std::ranges::upper_bound(filled.expected.ends, consumed);
            ASSERT_EQ(content(filled.batch.next_fpdu()).size(), *end - consumed);
            // And added to.
            filled.memory.push_back(Octets(4000, std::byte{1}));
            filled.add(filled.memory.back());
            filled.batch.detach();
            filled.memory.back().assign(4000, std::byte{2});
            const base::Bytes more = base::Bytes{filled.expected.octets}.subspan(consumed);
            ASSERT_TRUE(std::ranges::equal(content(filled.batch.pieces()), more)) << consumed;
            filled.batch.consume(filled.batch.octets());
            filled.batch.detach();
            ASSERT_TRUE(filled.batch.empty());
            filled.expected.octets.clear();
            filled.expected.ends.clear();
            for (const std::size_t length : {3000u, 50u, 5000u, 60000u, 0u}) {
                filled.memory.push_back(Octets(length, std::byte{3}));
                filled.add(filled.memory.back());
            }
        }
    }
}

TEST(Batch, used_again_and_shrunk) {
    Filled filled{{}};
    for (unsigned round = 0; round < 50; ++round) {
        for (unsigned i = 0; !filled.batch.full(); ++i) {
            filled.memory.push_back(Octets((i * 997 + round) % 5000));
            filled.add(filled.memory.back());
        }
        ASSERT_TRUE(std::ranges::equal(content(filled.batch.pieces()), filled.expected.octets)) << round;
        filled.batch.shrink();  // not empty: nothing happens
        ASSERT_EQ(filled.batch.octets(), filled.expected.octets.size());
        filled.batch.consume(filled.batch.octets());
        if (round % 3 == 0) filled.batch.shrink();
        filled.expected.octets.clear();
        filled.memory.clear();
    }
    EXPECT_LE(sizeof(Batch), 256u);
}

}  // namespace
