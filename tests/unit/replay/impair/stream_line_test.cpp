#include "replay/impair/stream_line.h"

#include <cmath>
#include <gtest/gtest.h>

namespace replay {
namespace {

std::vector<std::byte> pattern(std::size_t size) {
    std::vector<std::byte> octets(size);
    for (std::size_t i = 0; i < size; ++i) octets[i] = static_cast<std::byte>(i * 7 + i / 251);
    return octets;
}

/// Everything at time 0, in pieces of `cut`; what left, until the line is empty.
std::vector<std::byte> pass(StreamLine& line, const std::vector<std::byte>& in, std::size_t cut) {
    std::vector<std::byte> out;
    const auto drain = [&] {
        for (auto next = line.next_ns(); next; next = line.next_ns()) {
            const base::Bytes ready = line.ready(*next);
            ASSERT_FALSE(ready.empty());
            out.insert(out.end(), ready.begin(), ready.end());
            line.consume(ready.size());
        }
    };
    for (std::size_t at = 0; at < in.size();) {
        const std::size_t size = std::min(cut, in.size() - at);
        const std::size_t taken = line.put(base::Bytes{in}.subspan(at, size), 0);
        at += taken;
        if (taken < size) drain();
    }
    drain();
    EXPECT_TRUE(line.empty());
    return out;
}

TEST(StreamLine, without_impairments_is_a_pipe) {
    const auto in = pattern(10'000'000);  // more than it holds
    StreamLine line{ImpairmentSettings{}, 0};
    EXPECT_EQ(pass(line, in, 70'001), in);
    EXPECT_EQ(line.octets(), in.size());
}

TEST(StreamLine, what_is_of_frames_has_no_meaning) {
    const auto in = pattern(100'000);
    StreamLine line{ImpairmentSettings{.loss = 1, .reorder = 1, .duplicate = 1, .mark = 1}, 0};
    EXPECT_EQ(pass(line, in, 1000), in);
}

TEST(StreamLine, corrupts_by_place_and_not_by_piece) {
    constexpr std::size_t blocks = 5000;
    const auto in = pattern(blocks * StreamLine::block_octets);
    const ImpairmentSettings settings{.corrupt = 0.1, .seed = 9};
    StreamLine line{settings, 0};
    const auto out = pass(line, in, 65'536);
    ASSERT_EQ(out.size(), in.size());
    std::uint64_t blocks_changed = 0;
    for (std::size_t block = 0; block < blocks; ++block) {
        int bits = 0;
        for (std::size_t i = block * StreamLine::block_octets; i < (block + 1) * StreamLine::block_octets; ++i)
            bits += std::popcount(std::to_integer<unsigned>(in[i] ^ out[i]));
        ASSERT_LE(bits, 1);
        blocks_changed += static_cast<unsigned>(bits);
    }
    EXPECT_EQ(blocks_changed, line.corrupted_blocks());
    // 500 of 5000, with a deviation of sqrt(5000 * 0.1 * 0.9) = 21.2.
    EXPECT_NEAR(static_cast<double>(blocks_changed), 500, 5 * 21.2);
    for (const std::size_t cut : {std::size_t{1}, std::size_t{333}, std::size_t{1448}}) {
        StreamLine other{settings, 0};
        EXPECT_EQ(pass(other, in, cut), out) << "in pieces of " << cut;
    }
    StreamLine back{settings, 1};
    EXPECT_NE(pass(back, in, 65'536), out) << "the other direction draws on its own";
}

TEST(StreamLine, rate_and_delay) {
    // 1448 octets at 11.584 Mbit/s take 1 ms; each leaves 5 ms after that.
    StreamLine line{ImpairmentSettings{.delay_ns = 5'000'000, .bits_per_sec = 11'584'000}, 0};
    const auto in = pattern(1448 * 10);
    ASSERT_EQ(line.put(in, 1'000'000'000), in.size());
    EXPECT_TRUE(line.ready(1'005'999'999).empty());
    for (std::size_t i = 1; i <= 10; ++i)
        EXPECT_EQ(line.ready(1'005'000'000 + static_cast<std::int64_t>(i) * 1'000'000).size(), 1448 * i);
    line.consume(1000);
    EXPECT_EQ(line.ready(1'006'000'000).size(), 448u);
    EXPECT_EQ(line.next_ns(), 1'006'000'000);
    line.consume(448);
    EXPECT_EQ(line.next_ns(), 1'007'000'000);
}

TEST(StreamLine, jitter_keeps_the_order_and_its_bounds) {
    StreamLine line{ImpairmentSettings{.delay_ns = 100, .jitter_ns = 1000}, 0};
    const auto in = pattern(1448);
    std::int64_t last_ns = 0;
    for (std::int64_t now_ns = 0; now_ns < 1'000'000; now_ns += 2000) {
        line.put(in, now_ns);
        const auto next = line.next_ns();
        ASSERT_TRUE(next.has_value());
        EXPECT_GE(*next, std::max(now_ns + 100, last_ns));
        EXPECT_LE(*next, now_ns + 1100);
        last_ns = *next;
        line.consume(in.size());
    }
}

TEST(StreamLine, takes_no_more_than_it_has_room_for) {
    StreamLine line{ImpairmentSettings{.delay_ns = 1}, 0};
    const auto in = pattern(StreamLine::queue_octets + 100);
    EXPECT_EQ(line.put(in, 0), StreamLine::queue_octets);
    EXPECT_EQ(line.room(), 0u);
    EXPECT_EQ(line.put(in, 0), 0u);
    line.consume(50);
    EXPECT_EQ(line.room(), 50u);
}

}  // namespace
}  // namespace replay
