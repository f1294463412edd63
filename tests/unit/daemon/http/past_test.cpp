#include "daemon/http/past.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

#include "history/history.h"

namespace service::http {
namespace {

constexpr std::int64_t past_second = 1'000'000'000;
constexpr std::uint64_t intervals = 50;

/// Intervals of a second from 1,000 s on; in the n-th, the flow has n packets.
class PastOfAFolder : public testing::Test {
protected:
    void SetUp() override {
        std::filesystem::create_directories(folder_);
        history::HistoryOptions options;
        options.directory = folder_;
        auto writer = history::HistoryWriter::open(options);
        ASSERT_TRUE(writer.ok()) << writer.error().text();
        for (std::uint64_t i = 1; i <= intervals; ++i) {
            history::HistoryInterval interval;
            interval.start_ns = (1'000 + static_cast<std::int64_t>(i)) * past_second;
            interval.length_ns = past_second;
            interval.crc_verified = true;
            metrics::FlowSnapshot flow;
            flow.id = 7;
            flow.packets = i;
            flow.wire_bytes = i * 100;
            flow.first_ns = interval.start_ns;
            flow.last_ns = interval.start_ns + 1;
            interval.difference.flows.push_back(flow);
            ASSERT_TRUE((*writer)->append(interval).ok());
        }
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    void read_on(Past& past, TimeRange range, std::chrono::milliseconds longest) const {
        const auto read = http::read_on(
            past, folder_, range, [] { return true; }, longest);
        EXPECT_TRUE(read.ok()) << read.error().text();
    }

    std::string folder_ = std::filesystem::temp_directory_path() / ("rdmascope-past-" + std::to_string(getpid()));
};

TEST_F(PastOfAFolder, PiecesAddUpToTheWhole) {
    const TimeRange range{.from_ns = 1'011 * past_second, .to_ns = 1'041 * past_second};
    Past past(past_second);
    std::uint64_t pieces = 0;
    do {
        // No time at all: each piece has one interval.
        read_on(past, range, std::chrono::milliseconds(0));
        ++pieces;
        if (!past.ended_ns) break;
        EXPECT_EQ(*past.ended_ns, range.from_ns + static_cast<std::int64_t>(pieces) * past_second);
    } while (pieces < 2 * intervals);
    EXPECT_GE(pieces, 30U);
    EXPECT_EQ(past.intervals, 30U);
    ASSERT_EQ(past.sum.flows.size(), 1U);
    // 11 + 12 + ... + 40
    EXPECT_EQ(past.sum.flows[0].packets, 765U);
    ASSERT_EQ(past.line.bins().size(), 30U);
    EXPECT_EQ(past.line.bins().begin()->second.figures.wire_bytes, 1'100U);
    EXPECT_EQ(past.line.bins().rbegin()->second.figures.wire_bytes, 4'000U);
}

TEST_F(PastOfAFolder, AShortTimeIsReadAtOnce) {
    Past past(past_second);
    read_on(past, {.from_ns = 0, .to_ns = 2'000 * past_second}, longest_piece);
    EXPECT_EQ(past.ended_ns, std::nullopt);
    EXPECT_EQ(past.intervals, intervals);
    EXPECT_EQ(past.sum.flows.at(0).packets, 1'275U);
}

}  // namespace
}  // namespace service::http
