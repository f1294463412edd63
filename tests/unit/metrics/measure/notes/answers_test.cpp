/// Which frame answers which message.
#include <algorithm>
#include <gtest/gtest.h>
#include <ostream>

#include "tests/support/pcaps.h"
#include "tests/unit/metrics/measure/notes/noted.h"
#include "tests/unit/metrics/measure/notes/second_opinion.h"

namespace notes_test {

std::ostream& operator<<(std::ostream& out, const Answer& answer) {
    return out << metrics::name_of(answer.operation) << " of frame " << answer.frame << " answered by "
               << answer.response_frame;
}

}  // namespace notes_test

namespace {

using namespace metrics;
using notes_test::Answer;
using notes_test::Noted;

std::vector<Answer> answers_of(const Noted& noted) {
    std::vector<Answer> answers;
    for (std::uint64_t frame = 1; frame <= noted.frames; ++frame)
        for (const FrameNote* note : noted.of(frame))
            for (const FrameNote::Message& message : note->messages)
                answers.push_back({frame, message.operation, message.response_frame});
    return answers;
}

void compare(const std::string& name, const std::optional<std::vector<Answer>>& expected) {
    SCOPED_TRACE(name);
    std::vector<support::KeptFrame> frames;
    support::load_capture(support::pcaps() + "/" + name, SIZE_MAX, frames);
    const std::vector<Answer> noted = answers_of(Noted(frames));
    ASSERT_EQ(noted.size(), expected->size());
    EXPECT_GT(std::count_if(noted.begin(), noted.end(), [](const Answer& one) { return one.response_frame != 0; }), 20);
    for (std::size_t i = 0; i < noted.size(); ++i) EXPECT_EQ(noted[i], (*expected)[i]);
}

TEST(FrameNotes, NameTheAnswersThatPsnsAndAethNameInTsharksView) {
    struct Case {
        const char* capture;
        std::uint32_t path_mtu;
    };
    for (const Case& one : {Case{"rxe-rping.pcap", 1024}, Case{"rxe-send-bw-64k.pcap", 1024},
                            Case{"rxe-read-bw-64k.pcap", 1024}, Case{"rxe-verbs-mix.pcap.gz", 1024}}) {
        const auto expected = notes_test::roce_answers(support::pcaps() + "/" + std::string(one.capture), one.path_mtu);
        if (!expected) GTEST_SKIP() << "no tshark";
        compare(one.capture, expected);
    }
}

TEST(FrameNotes, NameTheAnswersThatTcpsAcknowledgementsNameInTsharksView) {
    for (const char* const capture :
         {"siw-rping-crc.pcap", "siw-send-bw-64-crc.pcap", "siw-write-bw-64k-crc.pcap", "siw-read-lat-64-crc.pcap"}) {
        const auto expected = notes_test::iwarp_answers(support::pcaps() + "/" + std::string(capture));
        if (!expected) GTEST_SKIP() << "no tshark";
        compare(capture, expected);
    }
}

TEST(FrameNotes, NameTheFrameThatIsRepeatedAsPsnsDoInTsharksView) {
    for (const char* const name : {"rxe-loss1pct-send-bw.pcap.gz", "rxe-rxdrop1pct-write-bw.pcap.gz",
                                   "rxe-rxdrop2pct-read-bw.pcap.gz", "rxe-dup-send-bw.pcap.gz", "rxe-rping.pcap"}) {
        SCOPED_TRACE(name);
        const auto expected = notes_test::roce_repeats(support::pcaps() + "/" + std::string(name));
        if (!expected) GTEST_SKIP() << "no tshark";
        std::vector<support::KeptFrame> frames;
        support::load_capture(support::pcaps() + "/" + std::string(name), SIZE_MAX, frames);
        const Noted noted(frames);
        std::size_t repeats = 0;
        for (std::uint64_t frame = 1; frame <= noted.frames; ++frame)
            for (const FrameNote* note : noted.of(frame)) {
                EXPECT_EQ(note->repeats_frame, (*expected)[frame]) << frame;
                repeats += note->repeats_frame != 0 ? 1 : 0;
            }
        EXPECT_EQ(repeats == 0, std::string(name) == "rxe-rping.pcap");
    }
}

/// Every answer stands in two places, which agree.
void check_links(const Noted& noted) {
    const auto holds = [&](std::uint64_t frame, bool answers, const FrameNote::Message& message) {
        for (const FrameNote* note : noted.of(frame))
            for (const FrameNote::Message& one : answers ? note->answers : note->messages)
                if (one.number == message.number && one.operation == message.operation &&
                    one.response_frame == message.response_frame && one.latency_ns == message.latency_ns)
                    return true;
        return false;
    };
    for (std::uint64_t frame = 1; frame <= noted.frames; ++frame)
        for (const FrameNote* note : noted.of(frame)) {
            EXPECT_EQ(note->frame, frame);
            EXPECT_LT(note->repeats_frame, frame);
            for (const FrameNote::Message& message : note->messages) {
                EXPECT_EQ(message.last_frame, frame);
                EXPECT_LE(message.first_frame, frame);
                if (message.response_frame == 0) continue;
                EXPECT_TRUE(holds(message.response_frame, true, message)) << frame;
            }
            for (const FrameNote::Message& message : note->answers) {
                EXPECT_EQ(message.response_frame, frame);
                if (message.number != 0) {
                    EXPECT_TRUE(holds(message.last_frame, false, message)) << frame;
                }
            }
        }
}

TEST(FrameNotes, LinkMessagesAndAnswersBothWays) {
    for (const support::KeptCapture& capture : support::load_captures(2000)) {
        SCOPED_TRACE(capture.name);
        check_links(Noted(capture.frames));
    }
}

}  // namespace
