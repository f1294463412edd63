#include "replay/impair/frame_line.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <map>

namespace replay {
namespace {

std::vector<std::byte> numbered(std::uint32_t number, std::size_t size = 100) {
    std::vector<std::byte> octets(size, std::byte{0});
    base::store_be32(octets.data(), number);
    return octets;
}

struct Left {
    std::int64_t at_ns = 0;
    std::uint64_t number = 0;
    std::vector<std::byte> octets = {};
    bool operator==(const Left&) const = default;
};

void drain(FrameLine& line, std::int64_t until_ns, std::vector<Left>& out) {
    while (const auto leaving = line.take(until_ns))
        out.push_back({leaving->at_ns, leaving->number, {leaving->octets.begin(), leaving->octets.end()}});
}

/// `frames` of them, one every `gap_ns`, each put in once everything before its time has left.
std::vector<Left> run(FrameLine& line, std::uint32_t frames, std::int64_t gap_ns, std::size_t size = 100) {
    std::vector<Left> out;
    for (std::uint32_t i = 0; i < frames; ++i) {
        const std::int64_t now_ns = i * gap_ns;
        drain(line, now_ns - 1, out);
        line.put(numbered(i, size), {14, 14}, now_ns);
    }
    line.end();
    drain(line, INT64_MAX, out);
    EXPECT_TRUE(line.empty());
    return out;
}

/// Whether a count of `n` draws with share `p` is within five standard deviations of its mean: all but about one of
/// 1.7 million honest generators are.
void expect_binomial(std::uint64_t count, double n, double p) {
    const double deviation = std::sqrt(n * p * (1 - p));
    EXPECT_NEAR(static_cast<double>(count), n * p, 5 * deviation);
}

TEST(FrameLine, without_impairments_is_a_wire) {
    FrameLine line{ImpairmentSettings{}};
    const auto out = run(line, 1000, 10);
    ASSERT_EQ(out.size(), 1000u);
    for (std::uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(out[i], (Left{i * 10, i + 1, numbered(i)}));
}

TEST(FrameLine, shares_are_what_was_asked_for) {
    constexpr std::uint32_t frames = 100'000;
    FrameLine line{ImpairmentSettings{.loss = 0.01, .reorder = 0.02, .duplicate = 0.03, .corrupt = 0.05}};
    const auto out = run(line, frames, 1000);
    const FrameLineCounters& counters = line.counters();
    // 1000 +- 157 of 100000 are lost; the others happen to those that are left.
    expect_binomial(counters.lost, frames, 0.01);
    expect_binomial(counters.duplicated, frames, 0.99 * 0.03);
    expect_binomial(counters.corrupted, frames, 0.99 * 0.05);
    expect_binomial(counters.reordered, frames, 0.99 * 0.02);
    EXPECT_EQ(counters.frames, frames);
    EXPECT_EQ(out.size(), frames - counters.lost + counters.duplicated);
    EXPECT_EQ(counters.left, out.size());

    std::map<std::uint64_t, unsigned> seen;
    std::uint64_t changed = 0;
    for (const Left& left : out) {
        const auto original = numbered(static_cast<std::uint32_t>(left.number - 1));
        unsigned bits = 0;
        for (std::size_t i = 0; i < original.size(); ++i)
            bits += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(original[i] ^ left.octets[i])));
        EXPECT_LE(bits, 1u);
        EXPECT_TRUE(std::equal(original.begin(), original.begin() + 14, left.octets.begin())) << "the link header";
        if (++seen[left.number] == 1) changed += bits;
    }
    EXPECT_EQ(changed, counters.corrupted);
    EXPECT_EQ(seen.size(), frames - counters.lost);
}

TEST(FrameLine, all_or_nothing) {
    FrameLine none{ImpairmentSettings{.loss = 1}};
    EXPECT_TRUE(run(none, 1000, 1).empty());
    FrameLine twice{ImpairmentSettings{.duplicate = 1}};
    const auto out = run(twice, 100, 1);
    ASSERT_EQ(out.size(), 200u);
    for (std::uint32_t i = 0; i < 200; ++i) EXPECT_EQ(out[i].octets, numbered(i / 2));
}

TEST(FrameLine, the_same_seed_is_the_same_fate) {
    const ImpairmentSettings settings{.loss = 0.1,
                                      .reorder = 0.1,
                                      .duplicate = 0.1,
                                      .corrupt = 0.1,
                                      .delay_ns = 5000,
                                      .jitter_ns = 3000,
                                      .bits_per_sec = 1'000'000'000,
                                      .seed = 42};
    FrameLine one{settings};
    FrameLine same{settings};
    ImpairmentSettings changed = settings;
    changed.seed = 43;
    FrameLine other{changed};
    const auto fate = run(one, 2000, 700);
    EXPECT_EQ(fate, run(same, 2000, 700));
    EXPECT_NE(fate, run(other, 2000, 700));
}

TEST(FrameLine, one_impairment_does_not_change_the_draws_of_another) {
    const auto survivors = [](const std::vector<Left>& out) {
        std::vector<std::uint64_t> numbers;
        for (const Left& left : out) numbers.push_back(left.number);
        std::sort(numbers.begin(), numbers.end());
        numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
        return numbers;
    };
    FrameLine lossy{ImpairmentSettings{.loss = 0.2}};
    FrameLine all{ImpairmentSettings{.loss = 0.2, .reorder = 0.3, .duplicate = 0.3, .corrupt = 0.3, .jitter_ns = 50}};
    EXPECT_EQ(survivors(run(lossy, 5000, 10)), survivors(run(all, 5000, 10)));
}

TEST(FrameLine, delay_and_jitter_keep_the_order) {
    FrameLine line{ImpairmentSettings{.delay_ns = 1'000'000, .jitter_ns = 500'000}};
    const auto out = run(line, 20'000, 100'000);  // five frames come within one jitter
    ASSERT_EQ(out.size(), 20'000u);
    for (std::uint32_t i = 0; i < out.size(); ++i) {
        EXPECT_EQ(out[i].number, i + 1);
        const std::int64_t late_ns = out[i].at_ns - i * 100'000;
        EXPECT_GE(late_ns, 1'000'000);
        EXPECT_LE(late_ns, 1'500'000);
        EXPECT_GE(out[i].at_ns, out[i == 0 ? 0 : i - 1].at_ns);
    }
}

TEST(FrameLine, jitter_is_as_likely_everywhere) {
    FrameLine line{ImpairmentSettings{.jitter_ns = 1'000'000}};
    const auto out = run(line, 20'000, 2'000'000);  // no frame is near another
    double sum = 0;
    std::uint64_t upper_tenth = 0;
    for (std::uint32_t i = 0; i < out.size(); ++i) {
        const auto late_ns = static_cast<double>(out[i].at_ns - i * std::int64_t{2'000'000});
        sum += late_ns;
        upper_tenth += late_ns >= 900'000 ? 1 : 0;
    }
    // The mean of n values uniform on [0, 1e6]: 5e5, with a deviation of 1e6 / sqrt(12 n) = 2041.
    EXPECT_NEAR(sum / 20'000, 500'000, 5 * 2041);
    expect_binomial(upper_tenth, 20'000, 0.1);
}

TEST(FrameLine, rate_is_of_whole_frames_one_behind_the_other) {
    FrameLine line{ImpairmentSettings{.bits_per_sec = 10'000'000}};
    const auto burst = run(line, 100, 0, 1250);  // 1250 octets at 10 Mbit/s: 1 ms each
    for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(burst[i].at_ns, (i + 1) * 1'000'000);
    FrameLine idle{ImpairmentSettings{.bits_per_sec = 10'000'000}};
    const auto slow = run(idle, 100, 5'000'000, 1250);  // the line is free when each comes
    for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(slow[i].at_ns, i * 5'000'000 + 1'000'000);
    // 100 octets at 3 bit/s take 266.67 s each: three of them take 800 s to the nanosecond.
    FrameLine odd{ImpairmentSettings{.bits_per_sec = 3}};
    EXPECT_EQ(run(odd, 3, 0).back().at_ns, 800'000'000'000);
}

TEST(FrameLine, a_reordered_frame_is_overtaken_by_one_to_three) {
    FrameLine line{ImpairmentSettings{.reorder = 0.01}};
    const auto out = run(line, 100'000, 1000);
    ASSERT_EQ(out.size(), 100'000u);
    std::array<std::uint64_t, 4> by{};
    std::uint64_t highest = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        highest = std::max(highest, out[i].number);
        if (out[i].number == highest) continue;
        std::uint64_t overtakers = 0;
        for (std::size_t j = i >= 8 ? i - 8 : 0; j < i; ++j) overtakers += out[j].number > out[i].number ? 1 : 0;
        ASSERT_GE(overtakers, 1u);
        ASSERT_LE(overtakers, 6u);  // two that are held are overtaken by what overtakes the other, too
        if (overtakers <= 3) ++by[overtakers];
    }
    EXPECT_NEAR(static_cast<double>(by[1] + by[2] + by[3]), static_cast<double>(line.counters().reordered), 60);
    for (unsigned passes = 1; passes <= 3; ++passes)
        EXPECT_NEAR(static_cast<double>(by[passes]), static_cast<double>(line.counters().reordered) / 3, 130);
}

TEST(FrameLine, a_held_frame_does_not_wait_for_ever) {
    FrameLine line{ImpairmentSettings{.reorder = 1, .delay_ns = 7}};
    line.put(numbered(0), {}, 100);
    EXPECT_EQ(line.next_ns(), 107 + FrameLine::longest_hold_ns);
    std::vector<Left> out;
    drain(line, 106 + FrameLine::longest_hold_ns, out);
    EXPECT_TRUE(out.empty());
    drain(line, 107 + FrameLine::longest_hold_ns, out);
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].at_ns, 107 + FrameLine::longest_hold_ns);
    EXPECT_EQ(line.counters().reordered, 0u) << "nobody overtook it";
    line.put(numbered(1), {}, 1'000'000'000);
    line.end();
    EXPECT_EQ(line.next_ns(), 1'000'000'007);
}

TEST(FrameLine, marks_what_can_be_marked) {
    // RFC 1071's sum by hand: 4500 + 0014 + 4000 + 4011 = c525, complement 3ada; with ECT(0), 4502 and 3ad8.
    const auto header = [](unsigned ecn) {
        std::vector<std::byte> octets(34, std::byte{0});
        octets[14] = std::byte{0x45};
        octets[15] = static_cast<std::byte>(ecn);
        base::store_be16(&octets[16], 20);
        octets[20] = std::byte{0x40};
        octets[22] = std::byte{0x40};
        octets[23] = std::byte{0x11};
        base::store_be16(&octets[24], static_cast<std::uint16_t>(0x3ada - ecn));
        return octets;
    };
    FrameLine line{ImpairmentSettings{.mark = 1}};
    line.put(header(2), {14, 14}, 0);
    line.put(header(1), {14, 14}, 0);
    line.put(header(0), {14, 14}, 0);
    line.put(header(3), {14, 14}, 0);
    line.put(header(2), {14, std::nullopt}, 0);
    std::vector<Left> out;
    drain(line, 0, out);
    ASSERT_EQ(out.size(), 5u);
    EXPECT_EQ(out[0].octets, header(3));  // 4503 and 3ad7
    EXPECT_EQ(out[1].octets, header(3));
    EXPECT_EQ(out[2].octets, header(0));
    EXPECT_EQ(out[3].octets, header(3));
    EXPECT_EQ(out[4].octets, header(2));
    EXPECT_EQ(line.counters().marked, 2u);
    EXPECT_EQ(line.counters().not_markable, 2u);

    std::vector<std::byte> six(54, std::byte{0});
    six[14] = std::byte{0x6a};
    six[15] = std::byte{0xa7};  // traffic class aa: DSCP 101010, ECT(0); then the flow label
    line.put(six, {14, 14}, 0);
    out.clear();
    drain(line, 0, out);
    EXPECT_EQ(out[0].octets[15], std::byte{0xb7});
}

TEST(FrameLine, says_when_enough_waits) {
    FrameLine line{ImpairmentSettings{.bits_per_sec = 1}};
    std::vector<std::byte> frame(1 << 20, std::byte{1});
    for (int i = 0; i < 64; ++i) {
        EXPECT_FALSE(line.full());
        line.put(frame, {}, 0);
    }
    EXPECT_TRUE(line.full());
    EXPECT_TRUE(line.take(INT64_MAX).has_value());
    EXPECT_FALSE(line.full());
}

}  // namespace
}  // namespace replay
