/// Frames of any numbers, and what is asked of them.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/fuzz/mutator.h"
#include "tests/support/pcaps.h"
#include "tests/unit/metrics/measure/notes/noted.h"

namespace {

using namespace metrics;
using notes_test::Noted;

std::vector<support::KeptFrame> capture(const std::string& name, std::size_t limit = SIZE_MAX) {
    std::vector<support::KeptFrame> frames;
    support::load_capture(support::pcaps() + "/" + name, limit, frames);
    return frames;
}

TEST(FrameNotes, FollowNumbersWithGaps) {
    const auto frames = capture("rxe-rping.pcap");
    const Noted dense(frames);
    FrameNotes sparse({}, {});
    for (std::size_t i = 0; i < frames.size(); ++i) sparse.feed(frames[i].frame(1000 + 10 * i));
    sparse.finish();
    const auto number = [](std::uint64_t frame) { return frame == 0 ? 0 : 1000 + 10 * (frame - 1); };
    for (std::uint64_t frame = 1; frame <= frames.size(); ++frame) {
        const auto expected = dense.of(frame);
        const auto found = sparse.notes(number(frame));
        ASSERT_EQ(found.size(), expected.size());
        EXPECT_TRUE(sparse.notes(number(frame) + 1).empty());
        for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(found[i]->flow, number(expected[i]->flow));
            EXPECT_EQ(found[i]->outstanding_bytes, expected[i]->outstanding_bytes);
            ASSERT_EQ(found[i]->messages.size(), expected[i]->messages.size());
            for (std::size_t message = 0; message < found[i]->messages.size(); ++message) {
                EXPECT_EQ(found[i]->messages[message].number, expected[i]->messages[message].number);
                EXPECT_EQ(found[i]->messages[message].response_frame,
                          number(expected[i]->messages[message].response_frame));
            }
        }
    }
}

TEST(FrameNotes, AddUpWhereANumberComesTwice) {
    const auto frames = capture("rxe-rping.pcap", 60);
    FrameNotes notes({}, {});
    for (const support::KeptFrame& frame : frames) notes.feed(frame.frame(7));
    notes.finish();
    std::uint64_t packets = 0;
    for (const FlowSnapshot& flow : notes.snapshot().flows) packets += flow.packets;
    EXPECT_GT(packets, 30u);
    EXPECT_EQ(notes.notes(7).size(), packets);
    EXPECT_TRUE(notes.notes(6).empty());
}

TEST(FrameNotes, AreFoundWhereNumbersDescend) {
    const auto frames = capture("siw-rping-crc.pcap", 60);
    FrameNotes notes({}, {});
    for (std::size_t i = 0; i < frames.size(); ++i) notes.feed(frames[i].frame(frames.size() - i));
    notes.finish();
    std::uint64_t packets = 0;
    for (const FlowSnapshot& flow : notes.snapshot().flows) packets += flow.packets;
    std::uint64_t noted = 0;
    for (std::uint64_t frame = 0; frame <= frames.size(); ++frame)
        for (const FrameNote* note : notes.notes(frame)) {
            EXPECT_EQ(note->frame, frame);
            noted += note->packet ? 1 : 0;
        }
    EXPECT_GT(packets, 30u);
    EXPECT_EQ(noted, packets);
}

TEST(FrameNotes, SayWhoTalksToWhom) {
    for (const char* const name : {"rxe-rping.pcap", "siw-rping-crc.pcap", "rxe-ud-pingpong.pcap"}) {
        SCOPED_TRACE(name);
        const Noted noted(capture(name));
        const Snapshot snapshot = noted.notes.snapshot();
        ASSERT_FALSE(snapshot.flows.empty());
        for (const FlowSnapshot& expected : snapshot.flows) {
            const FlowSnapshot* const flow = noted.notes.flow(expected.id);
            ASSERT_NE(flow, nullptr);
            EXPECT_EQ(flow->id, expected.id);
            EXPECT_EQ(flow->transport, expected.transport);
            EXPECT_EQ(flow->service, expected.service);
            EXPECT_EQ(flow->source.address, expected.source.address);
            EXPECT_EQ(flow->destination.address, expected.destination.address);
            EXPECT_EQ(flow->source.qpn, expected.source.qpn);
            EXPECT_EQ(flow->destination.qpn, expected.destination.qpn);
            EXPECT_EQ(flow->source.port, expected.source.port);
            EXPECT_EQ(flow->reverse, expected.reverse);
            EXPECT_EQ(flow->pairing.method, expected.pairing.method);
        }
        EXPECT_EQ(noted.notes.flow(123'456'789), nullptr);
    }
}

TEST(FrameNotes, SurviveFramesOfAnyOctetsAndNumbers) {
    fuzz::Random random(7);
    FrameNotes notes({}, {});
    const auto roce = capture("rxe-verbs-mix.pcap.gz", 400);
    const auto iwarp = capture("siw-verbs-mix.pcap.gz", 400);
    std::vector<std::uint64_t> numbers;
    for (unsigned i = 0; i < 20'000; ++i) {
        support::KeptFrame frame =
            random.one_in(2) ? roce[random.below(roce.size())] : iwarp[random.below(iwarp.size())];
        if (random.one_in(3)) fuzz::mutate_frame(frame, roce[random.below(roce.size())], random);
        numbers.push_back(random.one_in(20) ? random.next() : i);
        notes.feed(frame.frame(numbers.back()));
        if (!random.one_in(50)) continue;
        const std::uint64_t asked = numbers[random.below(numbers.size())];
        for (const FrameNote* note : notes.notes(asked)) EXPECT_EQ(note->frame, asked);
    }
    notes.finish();
    EXPECT_GT(notes.snapshot().flows.size(), 10u);
    EXPECT_GT(notes.memory_octets(), 0u);
}

/// What is said of a frame takes about as much as the header promises.
TEST(FrameNotes, TakeAboutAHundredOctetsAFrame) {
    const auto frames = capture("rxe-send-bw-64.pcap");
    FrameNotes notes({}, {});
    for (std::size_t i = 0; i < 200; ++i) notes.feed(frames[i].frame(i + 1));
    const std::size_t before = notes.memory_octets() - notes.snapshot().memory_octets;
    for (std::size_t i = 200; i < frames.size(); ++i) notes.feed(frames[i].frame(i + 1));
    const std::size_t after = notes.memory_octets() - notes.snapshot().memory_octets;
    EXPECT_LE(after - before, (frames.size() - 200) * 128);
}

}  // namespace
