/// FPDUs that are delivered later than they passed: behind a hole, or where a capture begins in the middle of a stream.
#include <gtest/gtest.h>

#include "capture/file_source.h"
#include "metrics/engine/analyzer.h"
#include "metrics/stream/unasked.h"
#include "script.h"

namespace {

using namespace metrics;
using namespace stream_test;

/// From its last octet to the acknowledgement that covers it (docs/metrics.md), whatever kept it from its receiver.
TEST(Passing, what_waits_behind_a_hole_is_under_way_since_it_passed) {
    Script script;
    script.establish();
    script.after_us(100'000);
    const Octets lost = send_of(1, 100);
    const Octets behind = send_of(2, 100);
    const auto first = script.sent(true);
    const auto second = first + static_cast<std::int64_t>(lost.size());
    const auto end = second + static_cast<std::int64_t>(behind.size());
    script.segment(true, second, behind, script.sent(false));
    script.after_us(5'000);
    script.segment(true, first, lost, script.sent(false));
    script.after_us(300);
    script.ack(false, end);
    script.finish();
    const Histogram latency = script.latency(true, Operation::send);
    EXPECT_EQ(latency.count(), 2u);
    EXPECT_EQ(latency.min(), 300'000u);  // what filled the hole: the tap saw it once
    EXPECT_EQ(latency.max(), 5'300'000u);
}

/// A response says where its octets go (RFC 5040, 4.5): not where the only request seen wants them, so it answers one
/// from before the capture.
TEST(Passing, a_response_to_a_request_that_was_not_captured_answers_no_other) {
    Script script;
    script.establish();
    script.after_us(100'000);
    script.data(true, read_request(2, 400, 4096));
    script.after_us(50);
    script.data(false, read_response(7, 0, 400));
    script.after_us(1'000);
    script.data(false, read_response(7, 4096, 400));
    script.finish();
    EXPECT_EQ(script.messages(true, Operation::read), 2u);
    const Histogram latency = script.latency(true, Operation::read);
    EXPECT_EQ(latency.count(), 1u);
    EXPECT_EQ(latency.max(), 1'050'000u);
}

TEST(Passing, atomics_are_told_apart_by_their_numbers) {
    Script script;
    script.establish();
    script.after_us(100'000);
    script.data(true, atomic_request(2, false, 12));
    script.after_us(50);
    script.data(false, atomic_response(1, 11));
    script.after_us(1'000);
    script.data(false, atomic_response(2, 12));
    script.finish();
    const Histogram latency = script.latency(true, Operation::fetch_add);
    EXPECT_EQ(latency.count(), 1u);
    EXPECT_EQ(latency.max(), 1'050'000u);
}

TEST(UnaskedResponses, answer_requests_that_passed_before_them) {
    stream::UnaskedResponses responses;
    EXPECT_FALSE(responses.answer_to(1, false));
    responses.note({.first_frame = 5, .passed_ns = 50});
    responses.note({.first_frame = 9, .passed_ns = 90});
    responses.note({.first_frame = 10, .passed_ns = 100, .atomic = true});
    responses.note({.first_frame = 11, .passed_ns = 110});
    const auto answer = responses.answer_to(7, false);  // the first answers one of before
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->passed_ns, 90);
    EXPECT_EQ(responses.answer_to(9, false)->passed_ns, 110);
    EXPECT_TRUE(responses.empty());
    for (std::uint64_t frame = 1; frame <= 70; ++frame) responses.note({.first_frame = frame, .passed_ns = 0});
    EXPECT_EQ(responses.answer_to(0, false)->first_frame, 7u);  // the latest 64
}

/// ib_read_lat and the demo's READs and atomics have one request under way at a time, wherever a capture begins.
TEST(Passing, a_capture_that_begins_anywhere_finds_the_requests_of_responses) {
    struct Case {
        const char* file;
        std::size_t step;
    };
    for (const Case& each : {Case{"siw-read-lat-64-crc.pcap", 53}, Case{"demo-loopback.pcap.gz", 211}}) {
        std::vector<Octets> octets;
        std::vector<wire::Frame> kept;
        auto file = capture::open_file(std::string{RDMASCOPE_PCAPS} + "/" + each.file);
        ASSERT_TRUE(file.ok()) << each.file;
        for (wire::Frame frame; (*file)->next(frame) == capture::ReadStatus::frame;) {
            octets.emplace_back(frame.bytes.begin(), frame.bytes.end());
            kept.push_back(frame);
        }
        ASSERT_GT(kept.size(), 1000u);
        std::uint64_t measured = 0;
        for (std::size_t begin = 200; begin + 100 < kept.size(); begin += each.step) {
            Analyzer analyzer(AnalyzerOptions{});
            for (std::size_t i = begin; i < kept.size(); ++i) {
                wire::Frame frame = kept[i];
                frame.bytes = octets[i];
                frame.number = i - begin + 1;
                analyzer.feed({&frame, 1}, false);
            }
            analyzer.finish();
            for (const FlowSnapshot& flow : analyzer.snapshot().flows) {
                EXPECT_LE(flow.responses_max, 1u) << each.file << " from frame " << begin + 1 << ", flow " << flow.id;
                measured += flow.operations[index_of(Operation::read)].latency_ns.count();
            }
        }
        EXPECT_GT(measured, 1000u);
    }
}

}  // namespace
