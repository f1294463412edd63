#include <gtest/gtest.h>
#include <string>

#include "metrics/measure/flow/vantage.h"
#include "script.h"

/// Packets that are lost, late, doubled and repeated. Go-back-N: IBTA vol. 1, 9.7.5, 9.9.2; counted by hand.
namespace {

using namespace roce_test;
using metrics::Operation;

struct Repairs {
    std::uint64_t repeated;
    std::uint64_t missing;
    std::uint64_t late;
    std::uint64_t doubled;
    std::uint64_t timeouts;
};

void expect(const Script& script, const Repairs& expected) {
    const metrics::FlowSnapshot shown = script.shown();
    EXPECT_EQ(shown.retransmitted_packets.value_or(0), expected.repeated);
    EXPECT_EQ(shown.missing_packets.value_or(0), expected.missing);
    EXPECT_EQ(shown.reordered_packets.value_or(0), expected.late);
    EXPECT_EQ(shown.duplicate_packets.value_or(0), expected.doubled);
    EXPECT_EQ(shown.timeouts, expected.timeouts);
}

/// Packet 3 is lost before the tap; the receiver complains; the sender goes back.
void lose_and_repair(Script& script) {
    script.requests(0, 2);
    script.requests(4, 7);
    script.nak(3);
    script.after_us(20);
    script.requests(3, 9);
    script.ack(9);
}

TEST(RoceRepairs, ANakIsAnsweredByGoingBack) {
    Script script;
    lose_and_repair(script);
    expect(script, {5, 1, 0, 0, 0});
    EXPECT_EQ(script.complaints().naks[0], 1u);
    EXPECT_EQ(script.messages(Operation::write), 10u);
    EXPECT_EQ(script.bytes(Operation::write), 10u * 1024);
    // Karn: 3 to 7 were repeated.
    EXPECT_EQ(script.latencies(Operation::write), 5u);
}

TEST(RoceRepairs, PsnsWrapAnywhere) {
    for (std::uint32_t psn = 0xfffff0; psn != 0x1000010; ++psn) {
        SCOPED_TRACE(psn);
        Script script(psn & 0xffffff);
        lose_and_repair(script);
        expect(script, {5, 1, 0, 0, 0});
        EXPECT_EQ(script.messages(Operation::write), 10u);
        EXPECT_EQ(script.latencies(Operation::write), 5u);
    }
}

TEST(RoceRepairs, ALatePacketWithoutIdentifications) {
    Script script;
    script.requests(0, 1);
    script.request(3);
    script.request(2);
    script.requests(4, 5);
    expect(script, {0, 0, 1, 0, 0});
    EXPECT_EQ(script.messages(Operation::write), 6u);
}

/// The message ends when its last packet passes, not when a later one shows that it has not.
TEST(RoceRepairs, LatencyOfAMessageWhoseEndIsLate) {
    Script script;
    script.request(0, write_first);
    script.request(2, write_only);
    script.request(1, write_last);
    script.ack(2);  // 1 us after packet 1, 2 us after packet 2
    const metrics::Histogram latency = script.store.unpack(script.requester(), metrics::latency_of(Operation::write));
    EXPECT_EQ(latency.count(), 2u);
    EXPECT_EQ(latency.sum(), 3000u);
    expect(script, {0, 0, 1, 0, 0});
}

/// The capture begins in the midst of what the network shuffles.
TEST(RoceRepairs, ThePacketBeforeTheFirstIsLate) {
    for (std::uint32_t psn = 0xfffffd; psn != 0x1000004; ++psn) {
        Script script(psn & 0xffffff);
        script.request(1);
        script.request(0);
        script.requests(2, 3);
        expect(script, {0, 0, 1, 0, 0});
        EXPECT_EQ(script.messages(Operation::write), 4u);
    }
}

/// A sender that counts its identifications made the late packet before the one that showed the hole, the repeated one
/// after it, however soon it comes.
TEST(RoceRepairs, IdentificationsTellLateFromRepeated) {
    for (const bool late : {true, false}) {
        Script script;
        script.identification = 100;
        script.requests(0, 7);  // 100 to 107
        script.identification = 109;
        script.request(9);
        script.identification = late ? 108 : 110;
        script.request(8);
        expect(script, late ? Repairs{0, 0, 1, 0, 0} : Repairs{1, 1, 0, 0, 0});
    }
}

TEST(RoceRepairs, TheSameIdentificationIsTheSamePacket) {
    Script script;
    script.identification = 100;
    script.requests(0, 7);
    script.identification = 107;
    script.request(7);
    script.request(8);
    expect(script, {0, 0, 0, 1, 0});
}

TEST(RoceRepairs, ADoubledPacketWithoutIdentifications) {
    Script script;
    script.requests(0, 4);
    script.request(4);
    script.request(5);
    expect(script, {0, 0, 0, 1, 0});
}

TEST(RoceRepairs, OnlyATimerRepeatsAfterSilence) {
    Script script;
    script.requests(0, 1);
    script.after_us(70'000);
    script.requests(0, 1);
    script.ack(1);
    expect(script, {2, 0, 0, 0, 1});
    EXPECT_EQ(script.latencies(Operation::write), 0u);
}

/// rxe complains of the packets after the one that found no receive, too.
TEST(RoceRepairs, ReceiverNotReadyWithASecondNak) {
    Script script;
    for (std::int64_t i = 0; i <= 2; ++i) script.request(i, send_only);
    script.answer(0, acknowledge, rnr_syndrome(14));  // 1.28 ms
    script.nak(0);
    script.after_us(1280);
    for (std::int64_t i = 0; i <= 2; ++i) script.request(i, send_only);
    expect(script, {3, 0, 0, 0, 0});
    EXPECT_EQ(script.complaints().rnr_naks, 1u);
    const metrics::Histogram timer = script.store.unpack(script.requester(), metrics::FlowHistogram::rnr_timer);
    EXPECT_EQ(timer.sum(), 1'280'000u);
}

/// The sender goes back for the first complaint and passes the second's packet before it has had that: it goes back
/// once more, and no timer was at work.
TEST(RoceRepairs, ASecondNakWithinARun) {
    Script script;
    script.requests(0, 30);
    script.nak(10);
    script.after_us(5);
    script.nak(11);
    script.requests(10, 14);
    script.requests(11, 31);
    expect(script, {25, 0, 0, 0, 0});
}

/// What lies after the packet that the receiver asks for is no answer to it.
TEST(RoceRepairs, ALatePacketThatLooksLikeTheBeginOfARun) {
    Script script;
    script.requests(0, 4);
    script.requests(6, 9);
    script.requests(11, 14);  // 5 and 10 are late
    script.nak(5);
    script.request(10);
    script.after_us(20);
    script.requests(5, 15);
    // 5 to 14 again, of which 5 had not passed
    expect(script, {10, 1, 1, 0, 0});
}

/// The application thinks for 15 us after each answer, so that nothing shows how soon the adapter reacts: 1 us after
/// the NAK the lost packet comes again, and what followed it after it. Were it late, it would come twice, or new ones
/// next.
TEST(RoceRepairs, ARepeatThatComesSoonerThanAnyReactionBefore) {
    enum class Next { rest, both, more };
    for (const Next next : {Next::rest, Next::both, Next::more}) {
        SCOPED_TRACE(static_cast<int>(next));
        Script script;
        for (std::int64_t index = 0; index < 20; ++index) {
            script.request(index);
            script.ack(index);
            script.after_us(14);
        }
        script.requests(20, 22);
        script.requests(24, 26);
        script.nak(23);
        script.request(23);
        if (next == Next::more) script.request(27);
        if (next != Next::rest) script.request(23);
        script.requests(24, 27);
        script.ack(27);
        switch (next) {
            case Next::rest: expect(script, {4, 1, 0, 0, 0}); break;
            case Next::both: expect(script, {4, 0, 1, 0, 0}); break;
            case Next::more: expect(script, {5, 0, 1, 0, 0}); break;
        }
        // Of 20 to 27 what was repeated has none (Karn); 27 is new where the NAK came before it.
        EXPECT_EQ(script.latencies(Operation::write), next == Next::more ? 23u : 24u);
    }
}

/// Packet 3 is held back until the run that repeats it is under way. No timer made the sender begin once more, and it
/// left nothing out.
TEST(RoceRepairs, APacketThatComesBehindItsRepeat) {
    Script script;
    script.requests(0, 2);
    script.requests(4, 7);
    script.nak(3);
    script.after_us(20);
    script.requests(3, 5);
    script.request(3);
    script.requests(6, 7);
    script.ack(7);
    script.requests(8, 9);
    const metrics::FlowSnapshot shown = script.shown();
    EXPECT_EQ(shown.timeouts, 0u);
    EXPECT_EQ(shown.find_event_summary(metrics::EventKind::retransmission)->count, 1u);
    EXPECT_EQ(shown.find_event_summary(metrics::EventKind::go_back_wrong_start), nullptr);
    EXPECT_EQ(shown.find_event_summary(metrics::EventKind::go_back_incomplete), nullptr);
}

/// Amid the run a packet that was held back leaps ahead of it; the run goes on from where it was.
TEST(RoceRepairs, ALatePacketWithinARun) {
    Script script;
    script.requests(0, 4);
    script.requests(6, 19);
    script.requests(21, 24);
    script.nak(5);
    script.after_us(20);
    script.requests(5, 9);
    script.request(20);
    script.requests(10, 25);
    // 5 to 24, and the late one is not of them
    expect(script, {20, 1, 1, 0, 0});
}

TEST(RoceRepairs, ADamagedPacketIsNoHole) {
    Script script;
    script.requests(0, 2);
    script.damaged(3);
    script.request(4);
    expect(script, {0, 0, 0, 0, 0});
    EXPECT_EQ(script.requester().counts.crc_bad, 1u);
    EXPECT_EQ(script.messages(Operation::write), 4u);
}

/// What was not asked for again, and was acknowledged all the same, was lost by the capture alone.
TEST(RoceRepairs, AnAcknowledgedHoleIsTheCaptures) {
    Script script;
    script.requests(0, 2);
    script.requests(4, 7);
    script.request(9);
    script.ack(7);
    expect(script, {0, 1, 0, 0, 0});
    EXPECT_EQ(script.shown().unseen_acknowledged_packets, 1u);
    EXPECT_TRUE(script.requester().request.unobserved);
    script.ack(9);
    expect(script, {0, 0, 0, 0, 0});
    EXPECT_EQ(script.shown().unseen_acknowledged_packets, 2u);
    script.request(10);
    EXPECT_EQ(script.requester().attribution.last_state(), metrics::State::unobserved);
}

/// There are more of them than a flow remembers.
TEST(RoceRepairs, ManyAcknowledgedHolesAreTheCaptures) {
    Script script;
    for (std::int64_t index = 0; index <= 60; index += 3) script.request(index);  // 20 holes of two
    expect(script, {0, 40, 0, 0, 0});
    script.ack(60);
    expect(script, {0, 0, 0, 0, 0});
    EXPECT_EQ(script.shown().unseen_acknowledged_packets, 40u);
}

/// The NAK acknowledges what lies before the packet that it names, and that one was lost.
TEST(RoceRepairs, ANakTellsWhichHoleIsTheCaptures) {
    Script script;
    script.requests(0, 1);
    script.request(3);
    script.requests(5, 6);
    script.nak(4);
    script.after_us(20);
    script.requests(4, 7);
    script.ack(7);
    expect(script, {3, 1, 0, 0, 0});
    EXPECT_EQ(script.shown().unseen_acknowledged_packets, 1u);
}

/// The packet was lost, and the capture lost its repeat.
TEST(RoceRepairs, ARepeatThatTheCaptureLost) {
    Script script;
    script.requests(0, 1);
    script.requests(3, 4);
    script.nak(2);
    script.after_us(20);
    script.requests(3, 5);
    script.ack(5);
    const metrics::FlowSnapshot shown = script.shown();
    EXPECT_EQ(shown.missing_packets, 1u);
    EXPECT_EQ(shown.unseen_acknowledged_packets, 1u);
    EXPECT_EQ(shown.retransmitted_packets, 2u);
}

/// The capture has the acknowledgement before the packet.
TEST(RoceRepairs, AnAcknowledgementThatOvertakesItsPacket) {
    Script script;
    script.identification = 100;
    script.requests(0, 7);  // 100 to 107
    script.identification = 109;
    script.request(9);
    script.ack(9);
    EXPECT_EQ(script.shown().unseen_acknowledged_packets, 1u);
    script.identification = 108;
    script.request(8);
    expect(script, {0, 0, 1, 0, 0});
    EXPECT_EQ(script.shown().unseen_acknowledged_packets, 0u);
}

/// An adapter with a clock for each queue stamps an acknowledgement a microsecond before the packet that it covers. Of
/// ten messages, one at a time, that happens to two; those have no latency.
TEST(RoceRepairs, AnAcknowledgementThatIsStampedEarlyLosesNothing) {
    for (const bool counted : {true, false}) {
        for (const std::uint8_t opcode : {write_only, send_only}) {
            SCOPED_TRACE((counted ? "with identifications, " : "without, ") + std::to_string(opcode));
            Script script;
            script.identification = counted ? 100 : 0;
            for (std::int64_t index = 0; index < 10; ++index) {
                const bool early = index == 5 || index == 7;
                if (early) script.ack(index);
                script.request(index, opcode);
                if (!early) script.ack(index);
                script.after_us(8);
            }
            const Operation operation = opcode == send_only ? Operation::send : Operation::write;
            expect(script, {0, 0, 0, 0, 0});
            EXPECT_EQ(script.shown().unseen_acknowledged_packets, 0u);
            EXPECT_EQ(script.requester().attribution.time_in(metrics::State::unobserved), 0u);
            EXPECT_EQ(script.messages(operation), 10u);
            EXPECT_EQ(script.bytes(operation), 10u * 1024);
            EXPECT_EQ(script.requester().counts.payload_bytes, 10u * 1024);
            EXPECT_EQ(script.latencies(operation), 8u);
            EXPECT_EQ(script.requester().ledger.messages(), 0u);
            EXPECT_EQ(script.requester().ledger.messages_max(), 1u);
        }
    }
}

/// The same where the message has more packets: its size is 3 KiB, and it takes from packet 1 at 3 us to packet 3 at
/// 6 us.
TEST(RoceRepairs, AnAcknowledgementThatIsStampedBeforeItsMessagesEnd) {
    Script script;
    script.request(0);
    script.ack(0);
    script.request(1, write_first);
    script.request(2, write_middle);
    script.ack(3);
    EXPECT_EQ(script.requester().ledger.messages(), 0u);
    script.request(3, write_last);
    script.request(4);
    script.ack(4);
    expect(script, {0, 0, 0, 0, 0});
    EXPECT_EQ(script.shown().unseen_acknowledged_packets, 0u);
    EXPECT_EQ(script.messages(Operation::write), 3u);
    EXPECT_EQ(script.bytes(Operation::write), 5u * 1024);
    EXPECT_EQ(script.latencies(Operation::write), 2u);
    EXPECT_EQ(script.shown().message_bytes.max(), 3u * 1024);
    EXPECT_EQ(script.shown().message_duration_ns.sum(), 3000u);
    EXPECT_EQ(script.requester().ledger.messages(), 0u);
    EXPECT_EQ(script.requester().ledger.messages_max(), 1u);
}

/// Of two that were acknowledged early, one after the other, only the second one passes.
TEST(RoceRepairs, OfWhatWasAcknowledgedEarlyOneIsTheCaptures) {
    Script script;
    script.requests(0, 3);
    script.ack(3);
    script.ack(4);
    script.ack(5);
    EXPECT_EQ(script.shown().unseen_acknowledged_packets, 2u);
    script.request(5);
    expect(script, {0, 0, 0, 0, 0});
    EXPECT_EQ(script.shown().unseen_acknowledged_packets, 1u);
    EXPECT_EQ(script.requester().attribution.last_state(), metrics::State::unobserved);
    script.request(6);
    EXPECT_NE(script.requester().attribution.last_state(), metrics::State::unobserved);
}

/// Newer ones have passed before it: the network held it back. What its identification says counts.
TEST(RoceRepairs, WhatWasAcknowledgedEarlyIsOvertaken) {
    for (const bool late : {true, false}) {
        SCOPED_TRACE(late);
        Script script;
        script.identification = 100;
        script.requests(0, 7);  // 100 to 107
        script.ack(8);
        script.identification = 109;
        script.request(9);
        script.after_us(2000);
        script.identification = late ? 108 : 110;
        script.request(8);
        expect(script, late ? Repairs{0, 0, 1, 0, 0} : Repairs{1, 0, 0, 0, 1});
        EXPECT_EQ(script.shown().unseen_acknowledged_packets, late ? 0u : 1u);
        EXPECT_EQ(script.messages(Operation::write), 10u);
    }
}

/// The capture has lost 4 and 5. Their acknowledgement is lost after the tap, and the sender's timer runs out.
TEST(RoceRepairs, WhatTheCaptureLostMayBeSentAgain) {
    Script script;
    script.requests(0, 3);
    script.ack(5);
    script.after_us(70'000);
    script.requests(4, 6);
    script.ack(6);
    expect(script, {2, 0, 0, 0, 1});
    EXPECT_EQ(script.shown().unseen_acknowledged_packets, 2u);
    EXPECT_EQ(script.messages(Operation::write), 7u);
}

/// The response is stamped before its request.
TEST(RoceRepairs, AReadThatIsStampedAfterItsResponse) {
    Script script;
    script.request(0);
    script.ack(0);
    script.answer(1, response_only, ack_syndrome, 1024);
    EXPECT_EQ(script.shown().unseen_acknowledged_packets, 1u);
    script.read(1, 1024);
    script.request(2);
    script.ack(2);
    expect(script, {0, 0, 0, 0, 0});
    EXPECT_EQ(script.shown().unseen_acknowledged_packets, 0u);
    EXPECT_EQ(script.messages(Operation::read), 1u);
    EXPECT_EQ(script.bytes(Operation::read), 1024u);
    EXPECT_EQ(script.latencies(Operation::read), 0u);
    EXPECT_EQ(script.requester().ledger.messages(), 0u);
}

/// READs of four responses each: 2 to 5, 6 to 9, 10 to 13. The request for the second is not in the capture.
TEST(RoceRepairs, AReadThatTheCaptureLostIsOnePacket) {
    for (const bool last : {false, true}) {
        SCOPED_TRACE(last ? "nothing follows" : "one follows");
        Script script;
        script.request(0, write_first);
        script.request(1, write_last);
        script.read(2, 4096);
        if (!last) script.read(10, 4096);
        for (std::int64_t first = 2; first <= (last ? 6 : 10); first += 4) {
            script.answer(first, response_first, ack_syndrome, 1024);
            script.answer(first + 1, response_middle, 0, 1024);
            script.answer(first + 2, response_middle, 0, 1024);
            script.answer(first + 3, response_last, ack_syndrome, 1024);
        }
        EXPECT_EQ(script.shown().unseen_acknowledged_packets, 1u);
        expect(script, {0, 0, 0, 0, 0});
    }
}

/// A requester that lacks a response asks again before it goes on.
TEST(RoceRepairs, AResponseThatNobodyMissesIsTheCaptures) {
    for (const bool again : {false, true}) {
        SCOPED_TRACE(again ? "asked for again" : "not asked for again");
        Script script;
        script.read(0, 4096);
        script.answer(0, response_first, ack_syndrome, 1024);
        script.answer(2, response_middle, 0, 1024);
        script.answer(3, response_last, ack_syndrome, 1024);
        EXPECT_EQ(script.store.responder(script.responder()).missing, 1u);
        if (again) {
            script.read(1, 3072);
            script.answer(1, response_first, ack_syndrome, 1024);
            script.answer(2, response_middle, 0, 1024);
            script.answer(3, response_last, ack_syndrome, 1024);
        }
        script.after_us(20'000);
        script.request(4);
        EXPECT_EQ(script.store.responder(script.responder()).missing, again ? 1u : 0u);
        EXPECT_EQ(script.complaints().unseen_acknowledged, again ? 0u : 1u);
    }
}

/// One READ of ten responses, of which the fifth is lost; the repeat begins there. No MTU was known before. IBTA vol.
/// 1, 9.7.3.1, 9.7.5.2.8.
TEST(RoceRepairs, AReadOfUnknownExtentIsAskedForAgain) {
    Script script;
    script.read(0, 10'240);
    for (std::int64_t index = 0; index < 10; ++index)
        if (index != 4)
            script.answer(index,
                          index == 0   ? response_first
                          : index == 9 ? response_last
                                       : response_middle,
                          ack_syndrome, 1024);
    script.after_us(20);
    script.read(4, 6144);
    for (std::int64_t index = 4; index < 10; ++index)
        script.answer(index,
                      index == 4   ? response_first
                      : index == 9 ? response_last
                                   : response_middle,
                      ack_syndrome, 1024);
    script.request(10);
    expect(script, {1, 0, 0, 0, 0});
    EXPECT_EQ(script.messages(Operation::read), 1u);
    EXPECT_EQ(script.bytes(Operation::read), 10'240u);
    EXPECT_EQ(script.latencies(Operation::read), 0u);  // Karn
    EXPECT_EQ(script.shown().responses_max, 1u);
    EXPECT_EQ(script.shown().message_bytes.max(), 10'240u);
}

/// The only round trip so far was one of 95 ms. What was acknowledged is not late after 2 ms of silence: a timer ran
/// out.
TEST(RoceRepairs, AcknowledgedPacketsAreNotLate) {
    Script script;
    script.requests(0, 3);
    script.after_us(95'000);
    script.ack(3);
    script.requests(4, 7);
    script.after_us(2000);
    script.requests(0, 8);
    expect(script, {8, 0, 0, 0, 1});
}

/// A sender that goes back correctly, 4 us from the tap: of what it repeats, 33 is lost on these 4 us.
void lose_a_repeat(Script& script) {
    for (std::int64_t index = 0; index < 30; ++index) {
        script.request(index);
        script.now_ns += 9'500;
        script.ack(index);
        script.now_ns += 1'500;
    }
    script.requests(30, 33);
    script.now_ns += 6'500;
    script.nak(30);
    script.now_ns += 1'500;
    script.requests(30, 32);
    script.request(34);
    script.now_ns += 6'500;
    for (const std::int64_t index : {30, 31, 32}) script.ack(index);
    script.nak(33);
    script.now_ns += 1'500;
    script.requests(33, 34);
    script.now_ns += 8'500;
    script.ack(34);
}

/// That the tap is on the sender's side shows by round trips alone: packets may be lost before it, as the NAK says.
TEST(RoceRepairs, ARepeatThatIsLostBeforeTheTapIsNoViolation) {
    Script script;
    lose_a_repeat(script);
    EXPECT_EQ(metrics::vantage_of(script.requester(), &script.responder()), metrics::Vantage::sender);
    EXPECT_EQ(script.shown().find_event_summary(metrics::EventKind::go_back_incomplete), nullptr);
}

/// On the sender's own interface nothing is lost before the tap: it has not sent it.
TEST(RoceRepairs, ARepeatThatTheSenderLeavesOutIsAViolation) {
    Script script;
    script.direction = wire::Direction::outbound;
    lose_a_repeat(script);
    ASSERT_NE(script.shown().find_event_summary(metrics::EventKind::go_back_incomplete), nullptr);
}

}  // namespace
