/// Senders within a millisecond, by hand and against counting them all again at every frame.
#include "metrics/measure/hosts/sender_table.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <set>
#include <vector>

namespace metrics {
namespace {

std::uint32_t below(std::mt19937& random, std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); }

constexpr std::int64_t microsecond = 1'000;
constexpr std::int64_t millisecond = 1'000'000;

class SenderField {
public:
    explicit SenderField(std::size_t hosts = 1) : windows_(hosts) {}
    void send(std::uint32_t from, std::int64_t time_ns, std::uint32_t to = 0) {
        table_.note(from, to, windows_[to], time_ns, ++frames_);
    }
    std::uint64_t most(std::uint32_t to = 0) const { return windows_[to].senders_max; }
    std::uint64_t frame(std::uint32_t to = 0) const { return windows_[to].senders_frame; }
    void forget(std::uint32_t to = 0) { table_.forget_most(windows_[to]); }

private:
    SenderTable table_;
    std::vector<SenderWindow> windows_;
    std::uint64_t frames_ = 0;
};

/// Eight hosts within 88 us are eight, wherever a clock's milliseconds begin.
TEST(SenderTable, ABurstIsTheSameWhereverItLies) {
    for (std::int64_t shift = -millisecond; shift <= millisecond; shift += 7 * microsecond) {
        SenderField field;
        for (std::uint32_t i = 0; i < 8; ++i) field.send(i, 100 * millisecond - 50 * microsecond + i * 12'500 + shift);
        EXPECT_EQ(field.most(), 8u) << shift;
        EXPECT_EQ(field.frame(), 8u);
    }
}

TEST(SenderTable, LessThanAMillisecondApart) {
    const auto two = [](std::int64_t apart_ns) {
        SenderField field;
        field.send(1, 5 * millisecond);
        field.send(2, 5 * millisecond + apart_ns);
        return field.most();
    };
    EXPECT_EQ(two(millisecond - 1), 2u);
    EXPECT_EQ(two(millisecond), 1u);
}

TEST(SenderTable, ItIsTheLastFrameOfEachThatCounts) {
    SenderField field;
    field.send(1, 0);
    field.send(2, 400 * microsecond);
    field.send(1, 900 * microsecond);
    field.send(3, 1'300 * microsecond);  // 2 is 900 us ago, 1 is 400
    EXPECT_EQ(field.most(), 3u);
    EXPECT_EQ(field.frame(), 4u);
    field.forget();
    field.send(4, 1'850 * microsecond);  // 2 has gone, 1 is 950 us ago
    EXPECT_EQ(field.most(), 3u);
    // Frames of one sender in a row are looked at when another one comes.
    field.forget();
    for (std::int64_t now = 2 * millisecond; now <= 10 * millisecond; now += microsecond) field.send(4, now);
    EXPECT_EQ(field.most(), 2u) << "3 was 700 us ago when 4 went on; 1 had gone";
}

TEST(SenderTable, OneThatStreamsIsThereWhenOthersCome) {
    SenderField field;
    for (std::int64_t now = 0; now <= 10 * millisecond; now += microsecond) field.send(1, now);
    EXPECT_EQ(field.most(), 1u);
    EXPECT_EQ(field.frame(), 1u);
    field.send(2, 10 * millisecond + 999 * microsecond);
    EXPECT_EQ(field.most(), 2u);
    field.send(3, 11 * millisecond);
    EXPECT_EQ(field.most(), 2u) << "the stream's last frame is a whole millisecond old";
}

TEST(SenderTable, FramesOutOfOrderCountInTheMillisecondThatEndsLast) {
    SenderField field;
    field.send(1, 10'000 * microsecond);
    field.send(2, 10'500 * microsecond);
    field.send(3, 9'800 * microsecond);  // late by 700 us: from 9501 to 10500 there are three
    EXPECT_EQ(field.most(), 3u);
    EXPECT_EQ(field.frame(), 3u);
    field.send(4, 9'400 * microsecond);  // late by 1100 us: that millisecond is over
    EXPECT_EQ(field.most(), 3u);
    field.send(5, 10'850 * microsecond);  // 3 is 1050 us ago: 1, 2 and 5
    EXPECT_EQ(field.most(), 3u);
    field.send(1, 10'100 * microsecond);  // late, but later than 1 was
    field.send(6, 11'050 * microsecond);  // 1 is 950 us ago: 1, 2, 5 and 6
    EXPECT_EQ(field.most(), 4u);
    EXPECT_EQ(field.frame(), 7u);
    field.send(6, 10'900 * microsecond);  // the newest one's own is late: nothing changes
    field.send(7, 11'520 * microsecond);  // 2 and 1 have gone
    EXPECT_EQ(field.most(), 4u);
}

TEST(SenderTable, AClockThatIsSetBackBeginsAnew) {
    SenderField field;
    for (std::uint32_t i = 1; i <= 5; ++i) field.send(i, 3'600'000 * millisecond);
    EXPECT_EQ(field.most(), 5u);
    for (std::uint32_t i = 1; i <= 4; ++i) field.send(i, 10 * millisecond);
    for (std::uint32_t i = 5; i <= 7; ++i) field.send(i, 11 * millisecond);
    EXPECT_EQ(field.most(), 5u);
    for (std::uint32_t i = 1; i <= 6; ++i) field.send(i, 20 * millisecond);
    EXPECT_EQ(field.most(), 6u);
    // Less than a second is a late frame.
    for (std::uint32_t i = 1; i <= 9; ++i) field.send(i, 19 * millisecond);
    EXPECT_EQ(field.most(), 6u);
    // And forward.
    for (std::uint32_t i = 1; i <= 7; ++i) field.send(i, 7'200'000 * millisecond);
    EXPECT_EQ(field.most(), 7u);
}

TEST(SenderTable, TheEndsOfTime) {
    SenderField field;
    field.send(1, std::numeric_limits<std::int64_t>::max());
    field.send(2, std::numeric_limits<std::int64_t>::min());
    field.send(3, std::numeric_limits<std::int64_t>::max());
    field.send(4, 0);
    EXPECT_EQ(field.most(), 1u);
}

TEST(SenderTable, AfterTheMostIsForgottenItIsSeenAgain) {
    SenderField field;
    for (std::uint32_t i = 1; i <= 5; ++i) field.send(i, 0);
    field.forget();
    EXPECT_EQ(field.most(), 0u);
    EXPECT_EQ(field.frame(), 0u);
    field.send(5, 50 * millisecond);
    EXPECT_EQ(field.most(), 1u);
    EXPECT_EQ(field.frame(), 6u);
}

TEST(SenderTable, EveryFrameCountedAgain) {
    struct Sent {
        std::int64_t time_ns;
        std::uint32_t from;
    };
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        std::mt19937 random{seed};
        const std::uint32_t hosts = 1 + below(random, 3);
        const std::uint32_t senders = 1 + below(random, 60);
        const std::int64_t gap = std::int64_t{1} << random() % 17;
        SenderField field(hosts);
        std::vector<std::vector<Sent>> sent(hosts);
        std::vector<std::size_t> most(hosts);
        std::int64_t now = -5 * millisecond;
        for (unsigned i = 0; i < 3'000; ++i) {
            now += random() % 50 == 0 ? 700 * microsecond
                                      : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(gap));
            const std::uint32_t to = below(random, hosts);
            const std::uint32_t from = below(random, 3) == 0 ? 0 : below(random, senders);
            field.send(from, now, to);
            sent[to].push_back({now, from});
            std::set<std::uint32_t> within;
            for (auto each = sent[to].rbegin(); each != sent[to].rend() && now - each->time_ns < millisecond; ++each)
                within.insert(each->from);
            most[to] = std::max(most[to], within.size());
            ASSERT_EQ(field.most(to), most[to]) << seed << ' ' << i;
        }
    }
}

/// Late frames, too, never make more of it than there is: no millisecond has more senders.
TEST(SenderTable, NeverTooMany) {
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        std::mt19937 random{seed};
        SenderField field;
        std::vector<std::pair<std::int64_t, std::uint32_t>> sent;
        std::int64_t now = 0;
        for (unsigned i = 0; i < 2'000; ++i) {
            now += static_cast<std::int64_t>(random() % 60'000);
            const std::int64_t late = random() % 4 == 0 ? static_cast<std::int64_t>(random() % 2'000'000) : 0;
            sent.emplace_back(now - late, below(random, 100));
            field.send(sent.back().second, sent.back().first);
        }
        std::sort(sent.begin(), sent.end());
        std::size_t most = 0;
        for (std::size_t end = 0; end < sent.size(); ++end) {
            std::set<std::uint32_t> within;
            for (std::size_t i = end + 1; i-- > 0 && sent[end].first - sent[i].first < millisecond;)
                within.insert(sent[i].second);
            most = std::max(most, within.size());
        }
        EXPECT_LE(field.most(), most) << seed;
        EXPECT_GE(field.most() * 10, most * 7) << seed;
    }
}

/// There is room for 16,384 pairs of hosts; what is beyond makes figures smaller, never greater.
TEST(SenderTable, ManySendersToManyHosts) {
    SenderField few(64);
    for (std::uint32_t round = 0; round < 5; ++round)
        for (std::uint32_t from = 0; from < 64; ++from)
            for (std::uint32_t to = 0; to < 64; ++to) few.send(from, round * 2 * millisecond + from, to);
    for (std::uint32_t to = 0; to < 64; ++to) EXPECT_EQ(few.most(to), 64u) << to;
    SenderField many(4);
    for (std::uint32_t round = 0; round < 3; ++round)
        for (std::uint32_t from = 0; from < 20'000; ++from)
            for (std::uint32_t to = 0; to < 4; ++to) many.send(from, round * 2 * millisecond + from, to);
    for (std::uint32_t to = 0; to < 4; ++to) {
        EXPECT_LE(many.most(to), 20'000u);
        EXPECT_GE(many.most(to), 3'000u);
    }
}

}  // namespace
}  // namespace metrics
