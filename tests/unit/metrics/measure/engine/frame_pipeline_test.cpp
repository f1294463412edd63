#include "metrics/measure/engine/frame_pipeline.h"

#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <stdexcept>

namespace {

using namespace metrics;

/// Frames whose only octet names their share.
struct Octets {
    std::vector<std::byte> octets;
    std::vector<wire::Frame> frames;

    Octets(std::size_t count, std::size_t shares) : octets(count), frames(count) {
        for (std::size_t i = 0; i < count; ++i) {
            octets[i] = static_cast<std::byte>(i * i % shares);
            frames[i].bytes = base::Bytes(octets).subspan(i, 1);
            frames[i].number = i + 1;
        }
    }
};

struct Log {
    std::vector<std::uint64_t> observed;
    std::vector<std::vector<std::uint64_t>> worked;
    std::atomic<int> observing{0};
    std::vector<std::atomic<int>> working;
    std::atomic<bool> overlapped{false};

    explicit Log(std::size_t shares) : worked(shares), working(shares) {}
    FramePipeline::Stages stages() {
        return {[this](Chunk& chunk) {
                    overlapped = overlapped || observing++ != 0;
                    for (std::size_t i = 0; i < chunk.frames().size(); ++i) {
                        observed.push_back(chunk.frames()[i].number);
                        chunk.contexts.emplace_back().source_wire_bytes = observed.size();
                        const auto share = std::to_integer<std::size_t>(chunk.frames()[i].bytes[0]);
                        chunk.shares[share].push_back(static_cast<std::uint16_t>(i));
                    }
                    --observing;
                },
                [this](std::size_t share, Chunk& chunk) {
                    overlapped = overlapped || working[share]++ != 0;
                    for (const std::uint16_t i : chunk.shares[share]) {
                        EXPECT_EQ(chunk.contexts[i].source_wire_bytes, chunk.frames()[i].number);
                        EXPECT_EQ(std::to_integer<std::size_t>(chunk.frames()[i].bytes[0]), share);
                        worked[share].push_back(chunk.frames()[i].number);
                    }
                    --working[share];
                }};
    }
};

/// All frames of Octets, once, by the stage and by each share.
void expect_all_in_order(const Log& log, std::size_t count) {
    ASSERT_EQ(log.observed.size(), count);
    std::vector<std::vector<std::uint64_t>> expected(log.worked.size());
    for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(log.observed[i], i + 1);
        expected[i * i % expected.size()].push_back(i + 1);
    }
    EXPECT_EQ(log.worked, expected);
}

TEST(FramePipeline, DoesEverythingOnceAndInOrder) {
    constexpr std::size_t count = 100'000;
    for (const unsigned threads : {1u, 2u, 3u, 7u}) {
        for (const bool lasting : {true, false}) {
            Log log(threads);
            FramePipeline pipeline(threads, log.stages());
            Octets given(count, threads);
            // Pieces of every size, overwritten afterwards where they need not last.
            for (std::size_t at = 0, piece = 1; at < count; at += piece, piece = piece * 7 % 4099) {
                const std::size_t size = std::min(piece, count - at);
                pipeline.feed(std::span(given.frames).subspan(at, size), lasting);
                if (!lasting) std::fill_n(given.octets.begin() + static_cast<std::ptrdiff_t>(at), size, std::byte{99});
            }
            pipeline.settle();
            ASSERT_NO_FATAL_FAILURE(expect_all_in_order(log, count));
            EXPECT_FALSE(log.overlapped);
        }
    }
}

/// What is put where there is room need not be copied; it makes no difference, nor where room and other places mix.
TEST(FramePipeline, TakesWhatIsPutWhereItHasRoom) {
    constexpr std::size_t count = 50'000;
    for (const unsigned threads : {1u, 2u, 3u}) {
        Log log(threads);
        FramePipeline pipeline(threads, log.stages());
        const Octets given(count, threads);
        for (std::size_t at = 0, piece = 1, step = 0; at < count; piece = piece * 7 % 499, ++step) {
            const std::span<wire::Frame> room = pipeline.room();
            ASSERT_FALSE(room.empty());
            const std::size_t size = std::min({piece, count - at, room.size()});
            const auto some = std::span(given.frames).subspan(at, size);
            if (step % 3 == 0) {
                pipeline.feed(some, true);
            } else {
                std::copy(some.begin(), some.end(), room.begin());
                pipeline.feed(room.first(size), true);
            }
            at += size;
            if (step % 20 == 0) pipeline.settle();
        }
        pipeline.settle();
        ASSERT_NO_FATAL_FAILURE(expect_all_in_order(log, count));
    }
}

TEST(FramePipeline, GoesOnAfterSettling) {
    Log log(2);
    FramePipeline pipeline(2, log.stages());
    const Octets given(10, 2);
    for (std::size_t i = 0; i < 10; ++i) {
        pipeline.feed(std::span(given.frames).subspan(i, 1), true);
        pipeline.settle();
        ASSERT_EQ(log.observed.size(), i + 1);
        ASSERT_EQ(log.worked[0].size() + log.worked[1].size(), i + 1);
    }
}

TEST(FramePipeline, SaysWhatAStageThrew) {
    Log log(2);
    FramePipeline::Stages stages = log.stages();
    const auto work = stages.work;
    stages.work = [&](std::size_t share, Chunk& chunk) {
        work(share, chunk);
        if (share == 1) throw std::runtime_error("enough");
    };
    FramePipeline pipeline(2, stages);
    const Octets given(5000, 2);
    pipeline.feed(given.frames, true);
    EXPECT_THROW(pipeline.settle(), std::runtime_error);
    EXPECT_EQ(log.observed.size(), 5000u);
    pipeline.settle();
}

TEST(FramePipeline, MayBeLeftInTheMiddle) {
    Log log(3);
    const Octets given(50'000, 3);
    {
        FramePipeline pipeline(3, log.stages());
        pipeline.feed(given.frames, true);
    }
    EXPECT_FALSE(log.overlapped);
    EXPECT_EQ(log.observing, 0);
    for (std::size_t i = 0; i < log.observed.size(); ++i) ASSERT_EQ(log.observed[i], i + 1);
    std::size_t worked = 0;
    for (const auto& share : log.worked) worked += share.size();
    EXPECT_LE(worked, log.observed.size());
}

}  // namespace
