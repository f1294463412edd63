/// Notes on the frame that was fed last, against the notes that are kept of all frames.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "metrics/measure/notes/frame_notes.h"
#include "metrics/measure/notes/present_notes.h"
#include "tests/support/captures.h"
#include "tests/support/pcaps.h"

namespace {

using namespace metrics;

dissect::DissectorOptions verifying() {
    dissect::DissectorOptions options;
    options.parse.verify_crc = true;
    return options;
}

void expect_same(const FrameNote::Message& one, const FrameNote::Message& other) {
    EXPECT_EQ(one.operation, other.operation);
    EXPECT_EQ(one.number, other.number);
    EXPECT_EQ(one.bytes, other.bytes);
    EXPECT_EQ(one.first_frame, other.first_frame);
    EXPECT_EQ(one.last_frame, other.last_frame);
}

void expect_same(const std::vector<FrameNote::Message>& present, const std::vector<FrameNote::Message>& kept) {
    ASSERT_EQ(present.size(), kept.size());
    for (std::size_t i = 0; i < present.size(); ++i) expect_same(present[i], kept[i]);
}

void expect_same(const FrameNote& present, const FrameNote& kept) {
    EXPECT_EQ(present.frame, kept.frame);
    EXPECT_EQ(present.flow, kept.flow);
    EXPECT_EQ(present.packet, kept.packet);
    expect_same(present.messages, kept.messages);
    expect_same(present.answers, kept.answers);
    for (std::size_t i = 0; i < std::min(present.answers.size(), kept.answers.size()); ++i)
        EXPECT_EQ(present.answers[i].latency_ns, kept.answers[i].latency_ns);
    ASSERT_EQ(present.events.size(), kept.events.size());
    for (std::size_t i = 0; i < present.events.size(); ++i) {
        EXPECT_EQ(present.events[i].kind, kept.events[i].kind);
        EXPECT_EQ(present.events[i].value, kept.events[i].value);
        EXPECT_EQ(present.events[i].flow, kept.events[i].flow);
    }
    EXPECT_EQ(present.repeats, kept.repeats);
    EXPECT_EQ(present.repeats_frame, kept.repeats_frame);
    EXPECT_EQ(present.repair.has_value(), kept.repair.has_value());
    EXPECT_EQ(present.gap_state, kept.gap_state);
    EXPECT_EQ(present.gap_ns, kept.gap_ns);
    EXPECT_EQ(present.wire_ns, kept.wire_ns);
    EXPECT_EQ(present.outstanding_messages, kept.outstanding_messages);
    EXPECT_EQ(present.outstanding_bytes, kept.outstanding_bytes);
}

/// Both are fed frame by frame, and agree after each.
void compare(const support::KeptCapture& capture) {
    PresentNotes present({}, verifying(), nullptr);
    FrameNotes kept({}, verifying());
    std::uint64_t number = 0;
    for (const support::KeptFrame& each : capture.frames) {
        const wire::Frame frame = each.frame(++number);
        present.feed(frame);
        kept.feed(frame);
        const auto expected = kept.notes(number);
        ASSERT_EQ(present.notes().size(), expected.size()) << "frame " << number;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            SCOPED_TRACE(number);
            expect_same(present.notes()[i], *expected[i]);
        }
        if (testing::Test::HasFailure()) return;
    }
}

TEST(PresentNotes, AreThoseThatAreKeptOfAllFramesAtThatMoment) {
    std::size_t captures = 0;
    for (const support::KeptCapture& capture : support::load_captures(3000)) {
        SCOPED_TRACE(capture.name);
        compare(capture);
        ++captures;
    }
    EXPECT_GT(captures, 100U);
}

TEST(PresentNotes, NameTheReverseOnceItIsKnown) {
    std::vector<support::KeptFrame> frames;
    support::load_capture(support::pcaps() + "/rxe-rping.pcap", SIZE_MAX, frames);
    PresentNotes present({}, verifying(), nullptr);
    std::uint64_t number = 0;
    std::size_t paired = 0;
    for (const support::KeptFrame& each : frames) {
        present.feed(each.frame(++number));
        for (const FrameNote& note : present.notes()) {
            const FlowSnapshot* flow = present.flow(note.flow);
            ASSERT_NE(flow, nullptr);
            if (!flow->reverse) continue;
            const std::uint64_t reverse = *flow->reverse;
            ASSERT_NE(present.flow(reverse), nullptr);
            EXPECT_EQ(present.flow(reverse)->reverse, note.flow);
            ++paired;
        }
    }
    EXPECT_GT(paired, 10U);
    EXPECT_EQ(present.flow(1'000'000), nullptr);
}

}  // namespace
