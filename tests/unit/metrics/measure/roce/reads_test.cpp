#include "reads.h"

#include <array>
#include <cstdint>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

/// READs: how many PSNs their responses take, and what is lost of either. IBTA vol. 1, 9.7.3.1, 9.7.5.2.8; counted by
/// hand.
namespace {

using namespace roce_test;
using metrics::Operation;

/// A READ's responses are one packet where its length is no more than a payload that has passed, or than what the PSNs
/// of two READs in a row left for one. The third of four is lost.
TEST(RoceReads, AReadOfNoMoreThanOnePacketTakesOnePsn) {
    for (const bool answers : {true, false}) {
        SCOPED_TRACE(answers ? "by a response" : "by the next READ");
        Script script;
        script.read(0, 4096);
        if (answers)
            answer_only(script, 0, 4096);
        else
            script.read(1, 4096);
        const std::int64_t next = answers ? 1 : 2;
        script.read(next, 4096);
        script.read(next + 2, 4096);
        EXPECT_EQ(missing(script), 1u);
        for (std::int64_t index = answers ? 1 : 0; index <= next; ++index) answer_only(script, index, 4096);
        script.nak(next + 1);
        script.after_us(20);
        for (std::int64_t index = next + 1; index <= next + 2; ++index) script.read(index, 4096);
        for (std::int64_t index = next + 1; index <= next + 2; ++index) answer_only(script, index, 4096);
        const auto reads = static_cast<std::uint64_t>(next) + 3;
        EXPECT_EQ(missing(script), 1u);
        EXPECT_EQ(repeated(script), 2u);
        EXPECT_EQ(script.messages(Operation::read), reads);
        EXPECT_EQ(script.bytes(Operation::read), reads * 4096);
        EXPECT_EQ(script.latencies(Operation::read), reads - 2);  // Karn
    }
}

/// A WRITE of 2000 octets means an MTU of 2048 at least: the READ of 4096 takes two PSNs at the most, 1 and 2.
TEST(RoceReads, APayloadTellsTheLeastMtu) {
    Script script;
    script.request(0, write_only, 2000);
    script.read(1, 4096);
    script.request(4, write_only, 2000);
    EXPECT_EQ(missing(script), 2u);  // 2 and 3, as long as nothing shows which of them is the READ's
    script.answer(1, response_first, ack_syndrome, 2048);
    script.answer(2, response_last, ack_syndrome, 2048);
    EXPECT_EQ(missing(script), 1u);
}

/// The same where the capture alone lost the request: its response passes.
TEST(RoceReads, AReadThatTheCaptureLostAmongSmallOnes) {
    Script script;
    script.read(0, 4096);
    answer_only(script, 0, 4096);
    script.read(1, 4096);
    script.read(3, 4096);
    for (std::int64_t index = 1; index <= 3; ++index) answer_only(script, index, 4096);
    EXPECT_EQ(missing(script), 0u);
    EXPECT_EQ(script.shown().unseen_acknowledged_packets, 1u);
    EXPECT_EQ(script.latencies(Operation::read), 3u);
    EXPECT_EQ(script.bytes(Operation::read), 3u * 4096);
}

/// A packet that does not begin its message shows that another of it was lost: the PSN before it is no response's. The
/// READ takes 0 to 3.
TEST(RoceReads, TheBeginOfAMessageIsLostBehindAReadOfUnknownExtent) {
    Script script;
    script.read(0, 4096);
    script.request(5, send_last, 1000);
    EXPECT_EQ(missing(script), 1u);
    script.answer(0, response_first, ack_syndrome, 1024);
    script.answer(1, response_middle, 0, 1024);
    script.answer(2, response_middle, 0, 1024);
    script.answer(3, response_last, ack_syndrome, 1024);
    script.nak(4);
    script.after_us(20);
    script.request(4, send_first, 1024);
    script.request(5, send_last, 1000);
    script.ack(5);
    EXPECT_EQ(missing(script), 1u);
    EXPECT_EQ(repeated(script), 2u);
    EXPECT_EQ(script.messages(Operation::send), 1u);
    EXPECT_EQ(script.bytes(Operation::send), 2024u);
    EXPECT_EQ(script.latencies(Operation::read), 1u);
}

/// Of the flow's first READ nothing shows how many PSNs it takes, and the WRITE after it, at 1, is lost. Who asks for
/// it, where the responses end, or the WRITE itself shows that it was none of the READ's.
TEST(RoceReads, AGuessedExtentIsTakenBack) {
    enum class By { nak, response, repeat };
    for (const By by : {By::nak, By::response, By::repeat}) {
        SCOPED_TRACE(static_cast<int>(by));
        Script script;
        script.read(0, 4096);
        script.request(2, write_only, 64);
        EXPECT_EQ(missing(script), 0u);
        if (by == By::nak) script.nak(1);
        if (by == By::response) answer_only(script, 0, 4096);
        if (by != By::repeat) {
            EXPECT_EQ(missing(script), 1u);
            if (by == By::nak) answer_only(script, 0, 4096);
            if (by == By::response) script.nak(1);
        }
        script.after_us(by == By::repeat ? 70'000 : 20);
        if (by == By::repeat) script.read(0, 4096);
        script.request(1, write_only, 64);
        script.request(2, write_only, 64);
        if (by == By::repeat) answer_only(script, 0, 4096);
        script.ack(2);
        EXPECT_EQ(missing(script), 1u);
        EXPECT_EQ(repeated(script), by == By::repeat ? 3u : 2u);
        EXPECT_EQ(script.shown().timeouts, by == By::repeat ? 1u : 0u);
        EXPECT_EQ(script.messages(Operation::write), 2u);
        EXPECT_EQ(script.bytes(Operation::write), 128u);
        EXPECT_EQ(script.latencies(Operation::read), by == By::repeat ? 0u : 1u);
        EXPECT_EQ(script.latencies(Operation::write), 0u);
        EXPECT_EQ(script.requester().ledger.messages(), 0u);
    }
}

/// Of two READs of four packets each, after one that all went well with, any one response is lost before the tap,
/// except the last one of the second READ, after which nothing comes. The requester asks for that and all that follows
/// again.
TEST(RoceReads, AnyResponseIsLost) {
    for (std::int64_t lost = 0; lost < 7; ++lost) {
        SCOPED_TRACE(lost);
        Script script;
        script.read(0, 4096);
        answer_all(script, 0, 4);
        script.read(4, 4096);
        script.read(8, 4096);
        answer_all(script, 4, 4, lost);
        answer_all(script, 8, 4, lost - 4);
        EXPECT_EQ(responses_missing(script), 1u);
        EXPECT_EQ(payload(script), 11u * 1024);
        script.after_us(20);
        const std::int64_t rest = 4 - lost % 4;
        script.read(4 + lost, static_cast<std::uint32_t>(rest) * 1024);
        if (lost < 4) script.read(8, 4096);
        answer_all(script, 4 + lost, rest);
        if (lost < 4) answer_all(script, 8, 4);
        EXPECT_EQ(responses_missing(script), 1u);
        EXPECT_EQ(responses_repeated(script), static_cast<std::uint64_t>(8 - lost));
        EXPECT_EQ(payload(script), 12u * 1024);
        EXPECT_EQ(repeated(script), lost < 4 ? 2u : 1u);
        EXPECT_EQ(missing(script), 0u);
        EXPECT_EQ(script.messages(Operation::read), 3u);
        EXPECT_EQ(script.latencies(Operation::read), lost < 4 ? 1u : 2u);  // Karn
        EXPECT_EQ(script.requester().ledger.messages(), 0u);
    }
}

/// A snap length of 64 octets leaves nothing of the RETH: how many PSNs a READ takes is known from what follows.
/// READs of four packets, of one, of two and of one, with a WRITE among them; answered one by one, all at once, or, as
/// the tap sees one direction alone, not at all.
TEST(RoceReads, ALengthThatWasCutOffIsNoLoss) {
    enum class Seen { one_by_one, at_once, never };
    struct Read {
        std::int64_t index, packets;
    };
    constexpr Read reads[] = {{0, 4}, {4, 1}, {6, 2}, {8, 1}};
    for (const Seen seen : {Seen::one_by_one, Seen::at_once, Seen::never}) {
        SCOPED_TRACE(static_cast<int>(seen));
        Script script;
        const auto answer = [&](const Read& each) {
            answer_all(script, each.index, each.packets);
            if (each.index == 4) script.ack(5);
        };
        for (const Read& each : reads) {
            script.cut_read(each.index);
            if (each.index == 4) script.request(5);
            if (seen == Seen::one_by_one) answer(each);
        }
        if (seen == Seen::at_once)
            for (const Read& each : reads) answer(each);
        script.request(9);
        if (seen != Seen::never) script.ack(9);
        EXPECT_EQ(missing(script), 0u);
        EXPECT_EQ(repeated(script), 0u);
        EXPECT_EQ(script.messages(Operation::read), 4u);
        EXPECT_EQ(script.latencies(Operation::read), seen == Seen::never ? 0u : 4u);
        EXPECT_EQ(script.latencies(Operation::write), seen == Seen::never ? 0u : 2u);
        EXPECT_EQ(script.requester().ledger.messages(), seen == Seen::never ? 6u : 0u);
        const metrics::FlowSnapshot shown = script.shown();
        EXPECT_EQ(shown.find_event_summary(metrics::EventKind::gap), nullptr);
        // Responses tell how long the READs are; without them only the WRITEs' lengths are known.
        EXPECT_EQ(shown.message_bytes.count(), seen == Seen::never ? 2u : 6u);
        EXPECT_EQ(shown.message_bytes.min(), 1024u);
        EXPECT_EQ(shown.message_bytes.max(), seen == Seen::never ? 1024u : 4096u);
    }
}

/// The second response of the second READ is lost, and asked for again with what follows: that is no copy.
TEST(RoceReads, ALengthThatWasCutOffIsAskedForAgain) {
    Script script;
    script.cut_read(0);
    answer_all(script, 0, 4);
    script.cut_read(4);
    answer_all(script, 4, 4, 1);
    script.after_us(20);
    script.cut_read(5);
    answer_all(script, 5, 3);
    EXPECT_EQ(script.shown().timeouts, 0u);
    EXPECT_EQ(repeated(script), 1u);
    EXPECT_EQ(missing(script), 0u);
    EXPECT_EQ(responses_missing(script), 1u);
    EXPECT_EQ(responses_repeated(script), 3u);
    EXPECT_EQ(script.responder().request.duplicates, 0u);
    EXPECT_EQ(script.messages(Operation::read), 2u);
    EXPECT_EQ(script.requester().ledger.messages(), 0u);
}

/// PSNs 1 to 3 and 5 to 7 are two READs' responses, 4 and 8 are SENDs, 9 is a READ's again. All responses before that
/// are lost.
TEST(RoceReads, PsnsOfOtherRequestsAreNoResponses) {
    Script script;
    script.request(0, send_only);
    script.read(1, 3072);
    script.request(4, send_only);
    script.read(5, 3072);
    script.request(8, send_only);
    script.read(9, 3072);
    script.ack(0);
    answer_all(script, 9, 3);
    EXPECT_EQ(responses_missing(script), 6u);
    script.after_us(20);
    script.read(1, 3072);
    script.request(4, send_only);
    script.read(5, 3072);
    script.request(8, send_only);
    script.read(9, 3072);
    for (const std::int64_t first : {1, 5, 9}) answer_all(script, first, 3);
    EXPECT_EQ(responses_missing(script), 6u);
    EXPECT_EQ(payload(script), 9u * 1024);
    EXPECT_EQ(script.latencies(Operation::read), 0u);
}

/// The same hole, but the requester goes on: the capture lost its last response.
TEST(RoceReads, ALastResponseThatNobodyMissesIsTheCaptures) {
    Script script;
    script.read(0, 4096);
    answer_all(script, 0, 4);
    script.read(4, 4096);
    script.read(8, 4096);
    answer_all(script, 4, 4, 3);
    answer_all(script, 8, 4);
    EXPECT_EQ(responses_missing(script), 1u);
    script.after_us(20'000);
    script.request(12);
    EXPECT_EQ(responses_missing(script), 0u);
    EXPECT_EQ(script.complaints().unseen_acknowledged, 1u);
}

/// Nothing is known of the requests: the first of the responses, at the least, has not passed.
TEST(RoceReads, AResponseWithoutItsBegin) {
    Script script;
    answer_all(script, 0, 3);
    answer_all(script, 8, 3, 0);
    EXPECT_EQ(responses_missing(script), 1u);
    EXPECT_EQ(payload(script), 5u * 1024);
}

/// The capture begins amid a response.
TEST(RoceReads, AResponseBeforeTheCapture) {
    Script script;
    script.answer(2, response_middle, 0, 1024);
    script.answer(3, response_last, ack_syndrome, 1024);
    script.read(4, 4096);
    answer_all(script, 4, 4);
    EXPECT_EQ(responses_missing(script), 0u);
}

/// Of 1 and 2 the network has changed the order: there is no second request.
TEST(RoceReads, AResponseThatIsOvertakenIsNotLost) {
    Script script;
    for (const std::int64_t index : {0, 1, 2}) script.read(index, 1024);
    script.after_us(7);
    answer_all(script, 0, 1);
    answer_all(script, 2, 1);
    EXPECT_EQ(responses_missing(script), 1u);
    answer_all(script, 1, 1);
    EXPECT_EQ(payload(script), 3u * 1024);
    EXPECT_EQ(script.latencies(Operation::read), 3u);
    expect_shuffled(script, 1, 0);
}

/// Two READs of four responses each, and then a third one: of two neighbours among the eight responses the network
/// changes the order. READs pass at 1 and 2 us, responses from 3 to 10 us; a READ is complete when all of it has
/// passed.
TEST(RoceReads, AnyTwoResponsesChangePlaces) {
    for (std::int64_t swapped = 0; swapped < 7; ++swapped) {
        SCOPED_TRACE(swapped);
        Script script;
        script.read(-4, 4096);
        answer_all(script, -4, 4);
        script.after_us(20);
        script.read(0, 4096);
        script.read(4, 4096);
        for (std::int64_t i = 0; i < 8; ++i) {
            answer_of_four(script, i == swapped ? i + 1 : i == swapped + 1 ? i - 1 : i);
        }
        expect_shuffled(script, 1, 0);
        EXPECT_EQ(payload(script), 12u * 1024);
        // 0 is the first READ's 4 us, then 5 us and 8 us, each 1 us more where its last response was late.
        const metrics::Histogram latency =
            script.store.unpack(script.requester(), metrics::latency_of(Operation::read));
        EXPECT_EQ(latency.count(), 3u);
        EXPECT_EQ(latency.sum(), 4000u + 5000 + 8000 + (swapped == 3 ? 1000 : 0));
        EXPECT_EQ(script.requester().ledger.messages_max(), 2u);
        script.after_us(20);
        script.read(8, 4096);
        answer_all(script, 8, 4);
        expect_shuffled(script, 1, 0);
        EXPECT_EQ(script.latencies(Operation::read), 4u);
    }
}

/// A flow remembers 64 messages. Of the responses to 100 READs, whose neighbours are merged, the network changes the
/// order of any two in a row. The READs are of one packet, of four, and of one and four in turn.
TEST(RoceReads, AnyTwoResponsesToMergedReadsChangePlaces) {
    constexpr std::int64_t reads = 100;
    for (const auto& [even, odd] : {std::pair{1, 1}, {4, 4}, {1, 4}}) {
        const std::int64_t packets = (even + odd) * reads / 2;
        for (std::int64_t swapped = 0; swapped + 1 < packets; ++swapped) {
            SCOPED_TRACE(fmt::format("{} and {} packets, {} is late", even, odd, swapped));
            Script script;
            std::vector<std::uint8_t> responses;
            script.read(-4, 4096);
            answer_all(script, -4, 4);
            for (std::int64_t read = 0; read < reads; ++read) {
                const int count = read % 2 == 0 ? even : odd;
                script.read(static_cast<std::int64_t>(responses.size()), static_cast<std::uint32_t>(count) * 1024);
                for (int i = 0; i < count; ++i)
                    responses.push_back(count == 1       ? response_only
                                        : i == 0         ? response_first
                                        : i == count - 1 ? response_last
                                                         : response_middle);
            }
            ASSERT_EQ(static_cast<std::int64_t>(responses.size()), packets);
            for (std::int64_t i = 0; i < packets; ++i) {
                const std::int64_t index = i == swapped ? i + 1 : i == swapped + 1 ? i - 1 : i;
                script.answer(index, responses[static_cast<std::size_t>(index)], ack_syndrome, 1024);
            }
            ASSERT_GT(script.requester().ledger.merged(), 0u);
            expect_shuffled(script, 1, 0);
            EXPECT_EQ(payload(script), (4u + static_cast<unsigned>(packets)) * 1024);
            EXPECT_EQ(script.requester().ledger.messages_max(), 100u);
            EXPECT_EQ(script.shown().messages_max, 100u);
            if (testing::Test::HasFailure()) return;
        }
    }
}

/// Of 100 WRITEs and READs in turn, which are merged with one another, every second PSN is a READ's. In their order,
/// none of the others is a hole among the responses.
TEST(RoceReads, WritesAmongMergedReadsAreNoResponses) {
    Script script;
    for (std::int64_t index = 0; index < 100; index += 2) {
        script.request(index, write_only, 1024);
        script.read(index + 1, 1024);
    }
    for (std::int64_t index = 1; index < 100; index += 2) answer_only(script, index, 1024);
    ASSERT_GT(script.requester().ledger.merged(), 0u);
    expect_shuffled(script, 0, 0);
    EXPECT_EQ(payload(script), 50u * 1024);
}

/// The same of 60 WRITEs that are acknowledged before the responses to 80 READs after them: their PSNs are no hole.
TEST(RoceReads, WritesBeforeMergedReadsAreNoResponses) {
    Script script;
    script.read(0, 1024);
    answer_only(script, 0, 1024);
    for (std::int64_t index = 1; index <= 60; ++index) script.request(index, write_only, 1024);
    for (std::int64_t index = 61; index <= 140; ++index) script.read(index, 1024);
    script.ack(60);
    for (std::int64_t index = 61; index <= 140; ++index) answer_only(script, index, 1024);
    ASSERT_GT(script.requester().ledger.merged(), 0u);
    expect_shuffled(script, 0, 0);
    EXPECT_EQ(payload(script), 81u * 1024);
}

/// A response acknowledges the WRITEs before its READ. IBTA vol. 1, 9.7.5.1. No ACK passes for them.
TEST(RoceReads, UnacknowledgedWritesBeforeMergedReadsAreNoResponses) {
    for (const std::int64_t writes : std::to_array<std::int64_t>({1, 2, 3, 59, 60, 61})) {
        SCOPED_TRACE(writes);
        Script script;
        script.read(0, 1024);
        answer_only(script, 0, 1024);
        for (std::int64_t index = 1; index <= writes; ++index) script.request(index, write_only, 1024);
        for (std::int64_t index = writes + 1; index <= 140; ++index) script.read(index, 1024);
        for (std::int64_t index = writes + 1; index <= 140; ++index) answer_only(script, index, 1024);
        ASSERT_GT(script.requester().ledger.merged(), 0u);
        expect_shuffled(script, 0, 0);
    }
}

/// A mirror delivers each frame twice, the second time after two others.
TEST(RoceReads, ResponsesThatPassTwiceAreNotSentAgain) {
    Script script;
    for (std::int64_t first = 0; first < 40; first += 4) {
        script.read(first, 4096);
        script.read(first, 4096);
        for (const std::int64_t i : {0, 1, 2, 0, 3, 1, 2, 3}) answer_of_four(script, first + i);
        script.after_us(20);
    }
    expect_shuffled(script, 0, 40);
    EXPECT_EQ(script.shown().duplicate_packets, 10u);
    EXPECT_EQ(payload(script), 40u * 1024);
    EXPECT_EQ(script.latencies(Operation::read), 10u);
}

/// The requester sees the hole, too, and asks again before the late one is with it: that and what follows is repeated.
TEST(RoceReads, AResponseThatIsOvertakenMayBeAskedForAgain) {
    Script script;
    script.read(0, 4096);
    for (const std::int64_t index : {0, 2, 1, 3}) answer_of_four(script, index);
    script.read(1, 3072);
    answer_all(script, 1, 3);
    EXPECT_EQ(repeated(script), 1u);
    EXPECT_EQ(script.shown().timeouts, 0u);
    EXPECT_EQ(script.responder().request.reordered, 1u);
    EXPECT_EQ(script.responder().request.duplicates, 0u);
    EXPECT_EQ(responses_missing(script), 0u);
    EXPECT_EQ(responses_repeated(script), 3u);
    EXPECT_EQ(payload(script), 4u * 1024);
}

/// The second response of six READs is lost, and asked for again with all that follows. While responses come again, the
/// requester notices that it lacks the third one, too, and goes back there.
TEST(RoceReads, ResponsesAreAskedForTwice) {
    Script script;
    for (std::int64_t first = 0; first < 24; first += 4) script.read(first, 4096);
    for (std::int64_t index = 0; index < 24; ++index)
        if (index != 1) answer_of_four(script, index);
    script.read(1, 3072);
    for (std::int64_t first = 4; first < 24; first += 4) script.read(first, 4096);
    answer_all(script, 1, 3);
    for (std::int64_t index = 4; index < 16; ++index) answer_of_four(script, index);
    script.read(2, 2048);
    for (std::int64_t first = 4; first < 24; first += 4) script.read(first, 4096);
    for (std::int64_t index = 16; index < 24; ++index) answer_of_four(script, index);
    answer_all(script, 2, 2);
    for (std::int64_t index = 4; index < 24; ++index) answer_of_four(script, index);
    EXPECT_EQ(responses_missing(script), 1u);
    EXPECT_EQ(responses_repeated(script), 23u + 22);
    EXPECT_EQ(script.responder().request.duplicates, 0u);
    EXPECT_EQ(repeated(script), 12u);
    EXPECT_EQ(payload(script), 24u * 1024);
}

/// The second response of the first of two READs is lost, and with each of its repeats but the last. The requester sees
/// each time that it lacks it and asks again a round trip later, long before a timer or as late as one: no timer asks.
TEST(RoceReads, AResponseIsLostWithItsRepeats) {
    for (const std::int64_t round_trip_us : {20, 3000})
        for (std::uint64_t losses = 1; losses <= 3; ++losses) {
            SCOPED_TRACE(std::to_string(losses) + " losses, " + std::to_string(round_trip_us) + " us");
            Script script;
            script.read(0, 4096);
            answer_all(script, 0, 4);
            script.read(4, 4096);
            script.read(8, 4096);
            answer_all(script, 4, 4, 1);
            answer_all(script, 8, 4);
            for (std::uint64_t again = 1; again <= losses; ++again) {
                script.after_us(round_trip_us);
                script.read(5, 3072);
                EXPECT_EQ(script.requester().attribution.last_state(), metrics::State::recover_nak);
                script.read(8, 4096);
                script.after_us(round_trip_us);
                answer_all(script, 5, 3, again < losses ? 0 : -1);
                answer_all(script, 8, 4);
            }
            const metrics::FlowSnapshot shown = script.shown();
            EXPECT_EQ(shown.timeouts, 0u);
            EXPECT_EQ(shown.find_event_summary(metrics::EventKind::retransmission)->count, losses);
            EXPECT_EQ(repeated(script), 2 * losses);
            EXPECT_EQ(responses_missing(script), 1u);
            EXPECT_EQ(responses_repeated(script), 6 * losses + 1);
            EXPECT_EQ(payload(script), 12u * 1024);
            EXPECT_EQ(script.latencies(Operation::read), 1u);
            EXPECT_EQ(script.requester().ledger.messages(), 0u);
        }
}

/// One was late; 20 us later one is lost, and the READ that asks for it begins where it should.
TEST(RoceReads, AResponseIsLostAfterOneThatWasLate) {
    Script script;
    script.direction = wire::Direction::outbound;
    for (std::int64_t first = 0; first < 8; first += 4) {
        script.read(first, 4096);
        for (const std::int64_t i : {0, 2, 1, 3})
            if (first == 0 || i != 1) answer_of_four(script, first + i);
        script.after_us(20);
    }
    script.read(5, 3072);
    answer_all(script, 5, 3);
    EXPECT_EQ(responses_missing(script), 1u);
    EXPECT_EQ(responses_repeated(script), 3u);
    EXPECT_EQ(repeated(script), 1u);
    EXPECT_EQ(script.latencies(Operation::read), 1u);
    EXPECT_EQ(script.shown().find_event_summary(metrics::EventKind::read_restart_wrong), nullptr);
    EXPECT_EQ(script.requester().ledger.messages(), 0u);
}

/// One was late, and 70 ms later a WRITE comes again: that is a timer's doing.
TEST(RoceReads, AResponseThatWasLateAsksForNothing) {
    Script script;
    script.read(0, 4096);
    for (const std::int64_t index : {0, 2, 1, 3}) answer_of_four(script, index);
    script.request(4);
    script.after_us(70'000);
    script.request(4);
    script.ack(4);
    EXPECT_EQ(repeated(script), 1u);
    EXPECT_EQ(script.shown().timeouts, 1u);
    EXPECT_EQ(script.requester().attribution.last_state(), metrics::State::recover_timeout);
}

/// What passes so long after has been asked for by a request that the capture has lost.
TEST(RoceReads, AResponseThatPassesMuchLaterWasSentAgain) {
    Script script;
    script.read(0, 4096);
    answer_all(script, 0, 4, 1);
    script.after_us(1000);
    answer_all(script, 1, 3);
    EXPECT_EQ(responses_missing(script), 1u);
    EXPECT_EQ(responses_repeated(script), 3u);
    EXPECT_EQ(script.responder().request.reordered, 0u);
    EXPECT_EQ(script.responder().request.duplicates, 0u);
}

}  // namespace
