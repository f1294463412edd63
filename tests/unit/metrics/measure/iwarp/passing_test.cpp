/// FPDUs that are delivered later than they passed: after a hole, or where a capture begins in the middle of a stream.
#include <algorithm>
#include <gtest/gtest.h>
#include <span>

#include "capture/files/file_source.h"
#include "metrics/measure/engine/analyzer.h"
#include "metrics/measure/iwarp/early_responses.h"
#include "script.h"
#include "tests/support/pcaps.h"

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

/// A READ is not done when its last segment passes, but when all of them have.
TEST(Passing, a_read_whose_response_was_lost_in_the_middle_lasts_until_it_has_come_again) {
    Script script;
    script.establish();
    script.after_us(100'000);
    script.data(true, read_request(1, 3000));
    script.after_us(50);
    const Octets begin = read_response(7, 0, 1000, false);
    const Octets middle = read_response(7, 1000, 1000, false);
    const Octets end = read_response(7, 2000, 1000);
    script.data(false, begin);
    const auto lost = script.sent(false);
    script.segment(false, lost + static_cast<std::int64_t>(middle.size()), end, script.sent(true));
    script.after_us(7'000);
    script.segment(false, lost, middle, script.sent(true));
    script.finish();
    EXPECT_EQ(script.latency(true, Operation::read).count(), 1u);
    EXPECT_EQ(script.latency(true, Operation::read).max(), 7'050'000u);
    EXPECT_EQ(script.histogram(true, FlowHistogram::first_response).max(), 50'000u);
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

/// More READs than a ledger keeps apart, each answered by a segment that acknowledges nothing after its request: the
/// responder answers while the rest of them is on its way. With a Write before every other one they lie unevenly.
TEST(Passing, a_response_acknowledges_its_own_request_alone_however_many_are_outstanding) {
    for (const std::size_t written : {std::size_t{0}, std::size_t{1200}}) {
        Script script;
        script.establish();
        script.after_us(100'000);
        constexpr unsigned reads = 150;
        std::vector<std::int64_t> ends;
        for (unsigned i = 0; i < reads; ++i) {
            if (written != 0 && i % 2 == 0) script.data(true, write_of(5, 0, written));
            script.data(true, read_request(i + 1, 400));
            ends.push_back(script.sent(true));
            script.after_us(1);
        }
        EXPECT_EQ(script.shown(true).responses_max, reads);
        for (const std::int64_t end : ends) {
            script.segment(false, script.sent(false), read_response(7, 0, 400), end);
            script.after_us(1);
        }
        EXPECT_EQ(script.messages(true, Operation::read), reads) << written;
        EXPECT_EQ(script.bytes(true, Operation::read), 400u * reads) << written;
        // None of them is left to take the next one's response.
        script.after_us(1'000'000);
        script.data(true, read_request(reads + 1, 400));
        script.after_us(10);
        script.data(false, read_response(7, 0, 400));
        EXPECT_EQ(script.messages(true, Operation::read), reads + 1) << written;
        EXPECT_LT(script.latency(true, Operation::read).max(), 1'000'000u) << written;
    }
}

/// A response that was not captured, and that no gap shows: its request does not stay the oldest for ever.
TEST(Passing, a_request_whose_response_was_missed_is_given_up) {
    Script script;
    script.establish();
    script.after_us(100'000);
    script.data(true, atomic_request(1, false, 1));
    for (std::uint32_t i = 2; i < 600; ++i) {
        script.data(true, read_request(i, 400));
        script.after_us(10);
        script.data(false, read_response(7, 0, 400));
        script.after_us(10);
    }
    EXPECT_GT(script.latency(true, Operation::read).count(), 300u);
    EXPECT_EQ(script.latency(true, Operation::read).max(), 10'000u);
    EXPECT_EQ(script.latency(true, Operation::fetch_add).count(), 0u);
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

/// Adapters may stamp each direction by a clock of its own. The response acknowledges the request: the responder had it
/// before, so it is no request that the capture lacks, and none is left outstanding.
TEST(Passing, a_response_that_is_stamped_before_its_request_answers_it) {
    for (const bool swap : {false, true}) {
        for (const bool atomic : {false, true}) {
            Script script;
            script.establish();
            const Operation operation = atomic ? Operation::fetch_add : Operation::read;
            for (std::uint32_t i = 1; i <= 8; ++i) {
                const Octets request = atomic ? atomic_request(i, false, i) : read_request(i, 400, i * 4096);
                const Octets response = atomic ? atomic_response(i, i) : read_response(7, i * 4096, 400);
                script.after_us(10'000);
                const std::int64_t end = script.sent(true) + static_cast<std::int64_t>(request.size());
                const bool early = swap && i == 3;
                if (early) script.segment(false, script.sent(false), response, end);
                script.after_us(20);
                script.data(true, request);
                script.after_us(20);
                if (!early) script.segment(false, script.sent(false), response, end);
            }
            EXPECT_EQ(script.messages(true, operation), 8u) << swap << atomic;
            EXPECT_EQ(script.latency(true, operation).count(), swap ? 7u : 8u) << swap << atomic;
            EXPECT_EQ(script.latency(true, operation).max(), 20'000u) << swap << atomic;
            EXPECT_EQ(script.shown(true).messages_max, 1u) << swap << atomic;
        }
    }
}

/// A response from before the capture acknowledges nothing that passes after it, or goes to another place.
TEST(EarlyResponses, overtake_a_request_that_they_acknowledge) {
    const iwarp::EarlyResponses::Request request{.frame = 9, .end = 500, .passed_ns = 2'000'000, .mark = 4};
    const auto answered = [&request](const iwarp::EarlyResponses::Response& response) {
        iwarp::EarlyResponses responses;
        responses.note(response);
        return responses.answer_to(request).has_value();
    };
    EXPECT_TRUE(answered({.first_frame = 8, .passed_ns = 1'999'000, .mark = 4, .acknowledged = 500}));
    EXPECT_TRUE(answered({.first_frame = 8, .passed_ns = 1'999'000, .acknowledged = 500}));
    EXPECT_FALSE(answered({.first_frame = 8, .passed_ns = 1'999'000, .mark = 5, .acknowledged = 500}));
    EXPECT_FALSE(answered({.first_frame = 8, .passed_ns = 1'999'000, .mark = 4, .acknowledged = 499}));
    EXPECT_FALSE(answered({.first_frame = 8, .passed_ns = 1'000'000, .mark = 4, .acknowledged = 500}));
    EXPECT_FALSE(answered({.first_frame = 8, .passed_ns = 1'999'000, .mark = 4}));
}

TEST(EarlyResponses, answer_requests_that_passed_before_them) {
    iwarp::EarlyResponses responses;
    EXPECT_FALSE(responses.answer_to({.frame = 1}));
    responses.note({.first_frame = 5, .passed_ns = 50});
    responses.note({.first_frame = 9, .passed_ns = 90});
    responses.note({.first_frame = 10, .passed_ns = 100, .atomic = true});
    responses.note({.first_frame = 11, .passed_ns = 110});
    const auto answer = responses.answer_to({.frame = 7});  // the first answers one of before
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->passed_ns, 90);
    EXPECT_EQ(responses.answer_to({.frame = 9})->passed_ns, 110);
    EXPECT_TRUE(responses.empty());
    for (std::uint64_t frame = 1; frame <= 70; ++frame) responses.note({.first_frame = frame, .passed_ns = 0});
    EXPECT_EQ(responses.answer_to({.frame = 0})->first_frame, 7u);  // the latest 64
}

/// A capture, to be looked at from any of its frames on, and with any snap length.
class Frames {
public:
    explicit Frames(const std::string& name) {
        auto file = capture::open_file(support::pcaps() + "/" + name);
        if (!file.ok()) return;
        for (wire::Frame frame; (*file)->next(frame) == capture::ReadStatus::frame;) {
            octets_.emplace_back(frame.bytes.begin(), frame.bytes.end());
            frames_.push_back(frame);
        }
    }
    std::size_t size() const { return frames_.size(); }
    Snapshot analysed(std::size_t begin, std::size_t snap_length = 262'144) const {
        Analyzer analyzer(AnalyzerOptions{});
        for (std::size_t i = begin; i < frames_.size(); ++i) {
            wire::Frame frame = frames_[i];
            frame.bytes = std::span(octets_[i]).first(std::min(octets_[i].size(), snap_length));
            frame.number = i - begin + 1;
            analyzer.feed({&frame, 1}, false);
        }
        analyzer.finish();
        return analyzer.snapshot();
    }

private:
    std::vector<Octets> octets_;
    std::vector<wire::Frame> frames_;
};

/// ib_read_lat and the demo's READs and atomics have one request under way at a time, wherever a capture begins.
TEST(Passing, a_capture_that_begins_anywhere_finds_the_requests_of_responses) {
    struct Case {
        const char* file;
        std::size_t step;
    };
    for (const Case& each : {Case{"siw-read-lat-64-crc.pcap", 53}, Case{"demo-loopback.pcap.gz", 211}}) {
        const Frames frames(each.file);
        ASSERT_GT(frames.size(), 1000u) << each.file;
        std::uint64_t measured = 0;
        for (std::size_t begin = 200; begin + 100 < frames.size(); begin += each.step) {
            for (const FlowSnapshot& flow : frames.analysed(begin).flows) {
                EXPECT_LE(flow.responses_max, 1u) << each.file << " from frame " << begin + 1 << ", flow " << flow.id;
                measured += flow.operations[index_of(Operation::read)].latency_ns.count();
            }
        }
        EXPECT_GT(measured, 1000u);
    }
}

/// What the snap length cut off distinguishes no answer from another: neither of a request nor of a response.
TEST(Passing, requests_and_responses_cut_by_a_snap_length_find_each_other) {
    const Frames frames("demo-loopback.pcap.gz");
    ASSERT_GT(frames.size(), 1000u);
    const Snapshot whole = frames.analysed(0);
    std::uint64_t reads = 0;
    std::uint64_t atomics = 0;
    for (const FlowSnapshot& flow : whole.flows) {
        reads += flow.operations[index_of(Operation::read)].latency_ns.count();
        atomics += flow.operations[index_of(Operation::fetch_add)].latency_ns.count();
    }
    EXPECT_EQ(reads, 460u);  // as the endpoints reported (demo-loopback.json)
    EXPECT_EQ(atomics, 600u);
    for (std::size_t length = 86; length <= 160; length += 2) {
        const Snapshot cut = frames.analysed(0, length);
        ASSERT_EQ(cut.flows.size(), whole.flows.size()) << length;
        for (std::size_t i = 0; i < whole.flows.size(); ++i)
            for (const Operation operation : {Operation::read, Operation::fetch_add}) {
                const Histogram& expected = whole.flows[i].operations[index_of(operation)].latency_ns;
                const Histogram& seen = cut.flows[i].operations[index_of(operation)].latency_ns;
                EXPECT_EQ(seen.count(), expected.count()) << length << ", flow " << whole.flows[i].id;
                EXPECT_EQ(seen.max(), expected.max()) << length << ", flow " << whole.flows[i].id;
            }
    }
}

/// Writes of 5,000 octets in segments that hold as much of the stream as fits, as kernels join them.
void send_joined(Script& script, std::size_t snap_length, std::size_t writes) {
    script.establish();
    Octets stream;
    for (std::size_t i = 0; i < writes; ++i) stream = stream + write_of(7, i * 5'000, 5'000);
    constexpr std::size_t segment_octets = 60'000;
    for (std::size_t at = 0; at < stream.size(); at += segment_octets) {
        const auto begin = stream.begin() + static_cast<std::ptrdiff_t>(at);
        const std::size_t octets = std::min(segment_octets, stream.size() - at);
        script.after_us(100);
        Extras extras;
        extras.snap_length = snap_length;
        script.data(true, {begin, begin + static_cast<std::ptrdiff_t>(octets)}, extras);
        script.ack(false, script.sent(true));
    }
    script.finish();
}
FlowSnapshot joined(std::size_t snap_length, std::size_t writes) {
    Script script;
    send_joined(script, snap_length, writes);
    return script.shown(true);
}

/// Of what kernels join, a short snap length keeps the first head alone: then it is unknown how much was written.
TEST(Passing, segments_of_many_messages_cut_by_a_snap_length_are_no_measure_of_them) {
    const FlowSnapshot whole = joined(262'144, 200);
    EXPECT_EQ(whole.operations[index_of(Operation::write)].count, 200u);
    EXPECT_FALSE(partly_read(whole));
    EXPECT_EQ(whole.tcp->unread_bytes, 0u);
    const std::uint64_t octets = 200u * (2 + 14 + 5'000 + 4);
    EXPECT_NEAR(static_cast<double>(whole.tcp->connection_bytes), static_cast<double>(octets), 100);
    EXPECT_TRUE(whole.goodput_bytes_per_sec());
    EXPECT_TRUE(knows_depth(whole));

    const FlowSnapshot cut = joined(128, 200);
    EXPECT_LT(cut.operations[index_of(Operation::write)].count, 100u);
    EXPECT_TRUE(partly_read(cut));
    EXPECT_EQ(cut.tcp->connection_bytes, whole.tcp->connection_bytes);
    EXPECT_FALSE(cut.goodput_bytes_per_sec());
    EXPECT_FALSE(knows_depth(cut));

    // The capture ends long before the search for the next head would be given up.
    const FlowSnapshot brief = joined(128, 20);
    EXPECT_EQ(brief.operations[index_of(Operation::write)].count, 1u);
    EXPECT_EQ(brief.tcp->unread_bytes, 19u * (2 + 14 + 5'000 + 4));
    EXPECT_TRUE(partly_read(brief));
}

/// What a sender did while its messages passed unread is not known: neither idle nor waiting.
TEST(Passing, time_in_which_messages_pass_unread_is_unobserved) {
    const auto unobserved_ns = [](std::size_t snap_length) {
        Script script;
        send_joined(script, snap_length, 200);
        return script.flow(true)->attribution.time_in(State::unobserved);
    };
    EXPECT_EQ(unobserved_ns(262'144), 0u);
    // 17 segments, 100 us apart; FPDUs may still be found in the first 256 KiB.
    EXPECT_GE(unobserved_ns(128), 11u * 100'000);
}

}  // namespace
