/// Notes on single frames add up to the figures of their flows, on every capture.
#include <algorithm>
#include <gtest/gtest.h>

#include "metrics/figures/snapshot_codec.h"
#include "metrics/measure/engine/analyzer.h"
#include "tests/fuzz/mutator.h"
#include "tests/unit/metrics/measure/notes/noted.h"

namespace {

using namespace metrics;
using notes_test::Noted;
using notes_test::Sums;

const std::vector<support::KeptCapture>& captures() {
    static const std::vector<support::KeptCapture> all = support::load_captures(SIZE_MAX);
    return all;
}

std::vector<std::byte> encoded(Snapshot snapshot) {
    snapshot.memory_octets = 0;
    std::vector<std::byte> out;
    encode(snapshot, out);
    return out;
}

Snapshot analyzed(const std::vector<support::KeptFrame>& frames, bool verify_crc) {
    AnalyzerOptions options;
    options.dissector.parse.verify_crc = verify_crc;
    Analyzer analyzer(options);
    std::uint64_t number = 0;
    for (const support::KeptFrame& kept : frames) {
        const wire::Frame frame = kept.frame(++number);
        analyzer.feed({&frame, 1}, true);
    }
    analyzer.finish();
    return analyzer.snapshot();
}

/// The buckets of a flow's own histogram are wider where its bound of memory is reached; all else is exact.
void compare(const Histogram& noted, const Histogram& kept) {
    EXPECT_EQ(noted.count(), kept.count());
    EXPECT_EQ(noted.sum(), kept.sum());
    EXPECT_EQ(noted.min(), kept.min());
    EXPECT_EQ(noted.max(), kept.max());
}

void compare(const FlowSnapshot& flow, const Sums& sums) {
    EXPECT_EQ(sums.packets, flow.packets);
    for (std::size_t i = 0; i < event_kind_count; ++i) {
        const auto kind = static_cast<EventKind>(i);
        const EventSummary* const summary = flow.find_event_summary(kind);
        EXPECT_EQ(sums.events[i], summary == nullptr ? 0 : summary->count) << name_of(kind);
        EXPECT_EQ(sums.event_values[i], summary == nullptr ? 0 : summary->value_sum) << name_of(kind);
    }
    for (std::size_t i = 0; i < operation_count; ++i) {
        EXPECT_EQ(sums.messages[i], flow.operations[i].count) << operation_names[i];
        SCOPED_TRACE(operation_names[i]);
        compare(sums.latencies[i], flow.operations[i].latency_ns);
    }
    EXPECT_EQ(sums.highest_number, flow.messages_total());
    compare(sums.nak_reaction, flow.recovery.nak_reaction_ns);
    // A NAK may lead to nothing. Of what the notes remember the flow may have no time.
    EXPECT_LE(sums.nak_generation.count(), flow.recovery.nak_generation_ns.count());
    EXPECT_LE(sums.nak_generation.sum(), flow.recovery.nak_generation_ns.sum());
    EXPECT_GE(sums.recovery_total.count(), flow.recovery.total_ns.count());
    // The gap that is open at the end, and the time before the first data packet, no packet shows: they are idle, or
    // in flight.
    std::uint64_t noted_ns = 0;
    for (std::size_t i = 0; i < state_count; ++i) {
        const auto state = static_cast<State>(i);
        noted_ns += sums.state_ns[i];
        if (state == State::application_idle || state == State::application_in_flight)
            EXPECT_LE(sums.state_ns[i], flow.state_ns[i]) << name_of(state);
        else
            EXPECT_EQ(sums.state_ns[i], flow.state_ns[i]) << name_of(state);
    }
    EXPECT_LE(noted_ns, flow.wall_ns());
}

/// How many flows there are.
std::size_t check_sums(const Noted& noted) {
    const auto sums = noted.sums();
    const Snapshot snapshot = noted.notes.snapshot();
    for (const FlowSnapshot& flow : snapshot.flows) {
        SCOPED_TRACE("flow " + std::to_string(flow.id));
        const auto is_namesake = [&](const FlowSnapshot& one) { return one.id == flow.id; };
        EXPECT_EQ(std::count_if(snapshot.flows.begin(), snapshot.flows.end(), is_namesake), 1);
        // A flow that only the end of the capture has brought to light has no packet and no note.
        const auto found = sums.find(flow.id);
        compare(flow, found == sums.end() ? Sums{} : found->second);
    }
    EXPECT_LE(sums.size(), snapshot.flows.size());
    return snapshot.flows.size();
}

TEST(FrameNotes, HaveTheFiguresOfTheAnalyzer) {
    for (const support::KeptCapture& capture : captures())
        for (const bool verify_crc : {false, true}) {
            const Noted noted(capture.frames, verify_crc);
            EXPECT_TRUE(encoded(noted.notes.snapshot()) == encoded(analyzed(capture.frames, verify_crc)))
                << capture.name;
        }
}

TEST(FrameNotes, AddUpToTheFiguresOfEachFlow) {
    std::size_t flows = 0;
    for (const support::KeptCapture& capture : captures()) {
        SCOPED_TRACE(capture.name);
        flows += check_sums(Noted(capture.frames));
    }
    EXPECT_GT(flows, 300u);
}

/// Dropped, repeated, put out of order, split, cut and damaged.
TEST(FrameNotes, HoldOnFramesThatANetworkHasSpoilt) {
    for (const support::KeptCapture& capture : captures()) {
        for (const std::uint64_t seed : {1u, 2u, 3u}) {
            SCOPED_TRACE(capture.name + " seed " + std::to_string(seed));
            fuzz::Random random(seed);
            std::vector<support::KeptFrame> frames = capture.frames;
            frames.resize(std::min<std::size_t>(frames.size(), 3000));
            fuzz::mutate_stream(frames, random);
            const Noted noted(frames);
            EXPECT_TRUE(encoded(noted.notes.snapshot()) == encoded(analyzed(frames, true)));
            check_sums(noted);
        }
    }
}

}  // namespace
