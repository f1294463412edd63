#include "dissect/tcp/segment_history.h"

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <random>

/// Which frame carried an octet: against a list that keeps all in full.
namespace {

using dissect::tcp::SegmentHistory;

constexpr std::size_t remembered = 64;

/// The same, in 64 bits and without a bound.
class FullList {
public:
    void note(std::uint64_t position, std::uint64_t length, std::uint64_t frame) {
        stretches_.push_back({position, frame});
        end_ = position + length;
    }
    std::uint64_t find(std::uint64_t position) const {
        for (auto at = stretches_.rbegin(); at != stretches_.rend(); ++at)
            if (at->position <= position) return at->frame;
        return 0;
    }
    std::uint64_t oldest() const {
        return stretches_[stretches_.size() - std::min(stretches_.size(), remembered)].position;
    }
    std::uint64_t end() const { return end_; }

private:
    struct Stretch {
        std::uint64_t position;
        std::uint64_t frame;
    };
    std::deque<Stretch> stretches_;
    std::uint64_t end_ = 0;
};

std::uint32_t sequence_of(std::uint64_t position) { return static_cast<std::uint32_t>(position); }

TEST(SegmentHistory, says_what_a_full_list_says_over_the_wrap_of_sequence_numbers) {
    std::mt19937 random{7};
    SegmentHistory history;
    FullList full;
    std::uint64_t position = 0xffff'0000;
    std::uint64_t frame = 0xffff'ff00;  // and of their lower half
    for (int i = 0; i < 3000; ++i) {
        const std::uint64_t length = 1 + random() % 9000;
        if (random() % 16 == 0) {
            history.note_lost(sequence_of(position));
            full.note(position, length, 0);
        } else {
            // What had waited after a hole comes with the frames it came in: any order.
            frame += random() % 4 == 0 ? 0 - std::uint64_t{random() % 50} : random() % 1'000'000;
            history.note(sequence_of(position), frame);
            full.note(position, length, frame);
        }
        position += length;
        for (int j = 0; j < 4; ++j) {
            const std::uint64_t from = full.oldest();
            const std::uint64_t at = from + random() % (full.end() - from);
            ASSERT_EQ(history.find(sequence_of(at)), full.find(at)) << i;
        }
        ASSERT_EQ(history.find(sequence_of(position - 1)), full.find(position - 1));
    }
}

TEST(SegmentHistory, remembers_sixty_four_stretches) {
    SegmentHistory history;
    EXPECT_EQ(history.find(0), 0u);
    for (std::uint32_t i = 0; i < remembered; ++i) history.note(1000 + 10 * i, 1 + i);
    EXPECT_EQ(history.find(999), 0u);
    EXPECT_EQ(history.find(1000), 1u);
    EXPECT_EQ(history.find(1009), 1u);
    EXPECT_EQ(history.find(1010), 2u);
    history.note(1000 + 10 * remembered, 65);
    EXPECT_EQ(history.find(1009), 0u);
    EXPECT_EQ(history.find(1010), 2u);
    EXPECT_EQ(history.find(1649), 65u);
}

/// A segment's tail was dropped by the receiver: who sent it again carried it.
TEST(SegmentHistory, of_octets_that_were_not_taken_the_later_frame_counts) {
    SegmentHistory history;
    history.note(100, 5);
    history.note(150, 9);
    EXPECT_EQ(history.find(149), 5u);
    EXPECT_EQ(history.find(150), 9u);
}

TEST(SegmentHistory, a_sleep_of_billions_of_frames_makes_no_frame_another) {
    SegmentHistory history;
    std::uint64_t frame = 10;
    history.note(0, frame);
    history.note(100, frame += 0x7fff'ffff);
    history.note(200, frame += 0x7fff'ffff);
    history.note(300, frame += 0x7fff'ffff);
    EXPECT_EQ(history.find(0), 10u);  // more than 32 bits ago, step by step
    EXPECT_EQ(history.find(250), frame - 0x7fff'ffff);
    history.note(400, frame += 0x8000'0000);
    EXPECT_EQ(history.find(350), 0u);
    EXPECT_EQ(history.find(450), frame);
    history.note(500, frame += 0x1'0000'0001);
    EXPECT_EQ(history.find(450), 0u);
    EXPECT_EQ(history.find(500), frame);
}

}  // namespace
