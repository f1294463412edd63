#include <gtest/gtest.h>

#include "script.h"

/// What is sent and answered in order. IBTA vol. 1, 9.7; the figures are counted by hand.
namespace {

using namespace roce_test;
using metrics::Operation;

struct Message {
    Operation operation;
    std::uint8_t first;
    std::uint8_t middle;
    std::uint8_t last;
    std::uint8_t only;
};
constexpr Message kinds[] = {
    {Operation::send, send_first, send_middle, send_last, send_only},
    {Operation::send_immediate, send_first, send_middle, send_last_immediate, send_only_immediate},
    {Operation::send_invalidate, send_first, send_middle, send_last_invalidate, send_only_invalidate},
    {Operation::write, write_first, write_middle, write_last, write_only},
    {Operation::write_immediate, write_first, write_middle, write_last_immediate, write_only_immediate},
};

TEST(RoceMessages, EveryOperationOfOneAndOfThreePackets) {
    for (const metrics::Service service : {metrics::Service::rc, metrics::Service::xrc}) {
        const std::uint8_t base = service == metrics::Service::xrc ? xrc : 0;
        for (const Message& kind : kinds) {
            SCOPED_TRACE(metrics::name_of(service));
            SCOPED_TRACE(metrics::operation_names[metrics::index_of(kind.operation)]);
            Script script(1000, service);
            script.request(0, base | kind.only, 7);
            script.request(1, base | kind.first, 1024);
            script.request(2, base | kind.middle, 1024);
            script.request(3, base | kind.last, 100);
            EXPECT_EQ(script.requester().ledger.messages(), 2u);
            script.answer(3, base | acknowledge);
            for (const Message& each : kinds) {
                const bool mine = each.operation == kind.operation;
                EXPECT_EQ(script.messages(each.operation), mine ? 2u : 0u);
                EXPECT_EQ(script.bytes(each.operation), mine ? 7u + 1024 + 1024 + 100 : 0u);
                EXPECT_EQ(script.latencies(each.operation), mine ? 2u : 0u);
            }
            EXPECT_EQ(script.requester().ledger.messages(), 0u);
            EXPECT_EQ(script.shown().retransmitted_packets.value_or(0), 0u);
            EXPECT_EQ(script.shown().missing_packets.value_or(0), 0u);
        }
    }
}

TEST(RoceMessages, LatencyIsFromTheLastPacketToTheAcknowledgement) {
    Script script;
    script.request(0, write_first);
    script.after_us(50);
    script.request(1, write_last);
    script.after_us(9);
    script.ack(1);
    const metrics::Histogram latency = script.store.unpack(script.requester(), metrics::latency_of(Operation::write));
    ASSERT_EQ(latency.count(), 1u);
    EXPECT_EQ(latency.sum(), 10'000u);
}

/// Two queues of an adapter, two clocks: the second acknowledgement, and the first response to the READ, are stamped
/// 500 ns before what they answer. That is no round trip of none; the others took 10 us, the READ's last response 1500
/// ns.
TEST(RoceMessages, WhatIsStampedBeforeItsPacketMeasuresNothing) {
    Script script;
    script.request(0);
    script.after_us(9);
    script.ack(0);
    script.request(1);
    script.now_ns -= 1500;  // every packet takes 1 us
    script.ack(1);
    script.request(2);
    script.after_us(9);
    script.ack(2);
    EXPECT_EQ(script.latencies(Operation::write), 2u);
    EXPECT_EQ(script.shown().round_trip_min_ns, 10'000u);
    script.read(3, 2048);
    script.now_ns -= 1500;
    script.answer(3, response_first, ack_syndrome, 1024);
    script.after_us(1);
    script.answer(4, response_last, ack_syndrome, 1024);
    EXPECT_EQ(script.store.unpack(script.requester(), metrics::FlowHistogram::first_response).count(), 0u);
    EXPECT_EQ(script.store.unpack(script.requester(), metrics::latency_of(Operation::read)).sum(), 1500u);
    EXPECT_EQ(script.shown().round_trip_min_ns, 1500u);
    EXPECT_EQ(script.messages(Operation::write), 3u);
    EXPECT_EQ(script.requester().ledger.messages(), 0u);
}

TEST(RoceMessages, AtomicsWaitForTheirOwnAnswers) {
    Script script;
    script.request(0, fetch_add, 0);
    script.request(1, compare_swap, 0);
    EXPECT_EQ(script.requester().ledger.responses(), 2u);
    script.answer(0, atomic_acknowledge);
    EXPECT_EQ(script.requester().ledger.responses(), 1u);
    script.answer(1, atomic_acknowledge);
    EXPECT_EQ(script.requester().ledger.responses(), 0u);
    EXPECT_EQ(script.messages(Operation::fetch_add), 1u);
    EXPECT_EQ(script.bytes(Operation::compare_swap), 8u);
    EXPECT_EQ(script.latencies(Operation::compare_swap), 1u);
}

/// A ledger remembers 64 messages of a flow; of those that it merges no latency is known. Each of these was
/// acknowledged 200 us after it was sent, the one by one.
TEST(RoceMessages, MessagesThatWereMergedHaveNoLatency) {
    constexpr unsigned messages = 200;
    Script script;
    script.requests(0, messages - 1);
    for (unsigned index = 0; index < messages; ++index) script.ack(index);
    const metrics::Histogram latency = script.store.unpack(script.requester(), metrics::latency_of(Operation::write));
    EXPECT_GT(latency.count(), 0u);
    EXPECT_EQ(latency.sum(), latency.count() * 200'000);
    EXPECT_EQ(latency.count() + script.shown().merged_messages, messages);
    EXPECT_EQ(script.requester().request.round_trip_min_ns, 200'000u);
    EXPECT_EQ(script.messages(Operation::write), messages);
    EXPECT_EQ(script.requester().ledger.messages(), 0u);
}

/// READs also, and neither is the time to the first response: of them all, 100 us.
TEST(RoceMessages, ReadsThatWereMergedHaveNoLatency) {
    constexpr unsigned reads = 100;
    Script script;
    for (unsigned index = 0; index < reads; ++index) script.read(index, 8);
    for (unsigned index = 0; index < reads; ++index) script.answer(index, response_only, ack_syndrome, 8);
    for (const metrics::FlowHistogram figure :
         {metrics::latency_of(Operation::read), metrics::FlowHistogram::first_response}) {
        const metrics::Histogram latency = script.store.unpack(script.requester(), figure);
        EXPECT_GT(latency.count(), 0u);
        EXPECT_EQ(latency.sum(), latency.count() * 100'000);
        EXPECT_EQ(latency.count() + script.shown().merged_messages, reads);
    }
    EXPECT_EQ(script.requester().request.round_trip_min_ns, 100'000u);
    EXPECT_EQ(script.messages(Operation::read), reads);
    EXPECT_EQ(script.requester().ledger.messages(), 0u);
}

/// A READ takes a PSN for each response packet. IBTA vol. 1, 9.7.3.1.
TEST(RoceMessages, ReadTakesAPsnForEachResponse) {
    for (const bool known : {true, false}) {
        SCOPED_TRACE(known ? "MTU known" : "MTU unknown");
        Script script;
        std::int64_t next = 0;
        if (known) {
            script.request(0, write_first, 1024);
            script.request(1, write_last, 1024);
            next = 2;
        }
        script.read(next, 4096);
        script.read(next + 4, 1);
        script.request(next + 5);
        EXPECT_EQ(script.shown().missing_packets.value_or(0), 0u);
        script.answer(next, response_first, ack_syndrome, 1024);
        script.answer(next + 1, response_middle, 0, 1024);
        script.answer(next + 2, response_middle, 0, 1024);
        EXPECT_EQ(script.latencies(Operation::read), 0u);
        script.answer(next + 3, response_last, ack_syndrome, 1024);
        EXPECT_EQ(script.latencies(Operation::read), 1u);
        script.answer(next + 4, response_only, ack_syndrome, 1);
        EXPECT_EQ(script.latencies(Operation::read), 2u);
        EXPECT_EQ(script.bytes(Operation::read), 4097u);
        EXPECT_EQ(script.shown().unseen_acknowledged_packets, 0u);
    }
}

TEST(RoceMessages, AcknowledgementOfWhatTheTapHasNotSeen) {
    Script script;
    script.request(0);
    script.ack(3);
    script.request(4);
    EXPECT_EQ(script.shown().unseen_acknowledged_packets, 3u);
    EXPECT_EQ(script.shown().missing_packets.value_or(0), 0u);
}

/// IBTA vol. 1, 9.7.7.2: a count of 0 allows no further SEND.
TEST(RoceMessages, CreditsThatRunOutAreCountedOnce) {
    Script script;
    script.request(0, send_only);
    script.answer(0, acknowledge, 2);
    EXPECT_EQ(script.complaints().credits_exhausted, 0u);
    script.request(1, send_only);
    script.answer(1, acknowledge, 0);
    script.answer(1, acknowledge, 0);
    EXPECT_EQ(script.complaints().credits_exhausted, 1u);
}

/// The AETH of the last acknowledgement says 0, that of the response after it 1024 (code 20), and then the application
/// thinks for a millisecond. IBTA vol. 1, 9.7.7.2.
TEST(RoceMessages, ResponsesGiveCredits) {
    for (const bool atomic : {false, true}) {
        SCOPED_TRACE(atomic ? "FETCH_ADD" : "READ");
        Script script;
        for (std::int64_t index = 0; index < 10; index += 2) {
            script.request(index, send_only);
            script.answer(index, acknowledge, 0);
            if (atomic)
                script.request(index + 1, fetch_add, 0);
            else
                script.read(index + 1, 64);
            script.answer(index + 1, atomic ? atomic_acknowledge : response_only, 20, atomic ? 0 : 64);
            script.after_us(1000);
        }
        EXPECT_EQ(script.responder().credits, 20u);
        EXPECT_EQ(script.complaints().credits_exhausted, 5u);
        EXPECT_EQ(script.requester().attribution.time_in(metrics::State::credit), 0u);
        script.request(10, send_only);
        script.ack(10);
        EXPECT_EQ(script.requester().attribution.time_in(metrics::State::credit), 0u);
    }
}

/// The SEND at 3 waits until the response says that there is a receive for it: 1003 us of silence, of which that told
/// is the last.
TEST(RoceMessages, AResponseEndsTheWaitForCredits) {
    Script script;
    script.request(0, send_only);
    script.answer(0, acknowledge, 0);
    script.read(1, 2048);
    script.after_us(1000);
    script.answer(1, response_first, 0, 1024);
    script.answer(2, response_last, 1, 1024);
    script.request(3, send_only);
    EXPECT_EQ(script.requester().attribution.last_state(), metrics::State::credit);
    EXPECT_EQ(script.requester().attribution.time_in(metrics::State::credit), 1'003'000u);
}

/// In the midst of a response there is no AETH, and what the network has held back or doubled is no news.
TEST(RoceMessages, OnlyTheNewestAethGivesCredits) {
    Script script;
    script.request(0, send_only);
    script.answer(0, acknowledge, 5);
    script.read(1, 4096);
    script.answer(1, response_first, 6, 1024);
    EXPECT_EQ(script.responder().credits, 6u);
    script.answer(2, response_middle, 0, 1024);
    script.answer(3, response_middle, 0, 1024);
    EXPECT_EQ(script.responder().credits, 6u);
    script.answer(1, response_first, 0, 1024);
    EXPECT_EQ(script.responder().credits, 6u);
    script.answer(4, response_last, 7, 1024);
    EXPECT_EQ(script.responder().credits, 7u);
    EXPECT_EQ(script.complaints().credits_exhausted, 0u);
}

TEST(RoceMessages, NotificationsAreCountedWithTheirInterval) {
    Script script;
    script.request(0);
    script.answer(0, cnp, 0);
    script.after_us(49);
    script.answer(0, cnp, 0);
    EXPECT_EQ(script.complaints().cnps, 2u);
    const metrics::Histogram interval = script.store.unpack(script.requester(), metrics::FlowHistogram::cnp_interval);
    ASSERT_EQ(interval.count(), 1u);
    EXPECT_EQ(interval.sum(), 50'000u);
}

TEST(RoceMessages, AFarPsnOfAnIdleQueuePairIsAnotherLife) {
    Script script;
    script.requests(0, 3);
    script.ack(3);
    script.request(0x300000);
    EXPECT_EQ(script.store.table.live(), 3u);
    EXPECT_TRUE(script.requester().finished);
    EXPECT_EQ(script.messages(Operation::write), 4u);
    EXPECT_EQ(script.requester().counts.packets, 4u);
}

TEST(RoceMessages, UnreliableConnectionsMissWhatDoesNotCome) {
    Script script(0xfffffe, metrics::Service::uc);
    script.request(0, uc | write_first);
    script.request(1, uc | write_last);
    script.request(4, uc | send_only);
    EXPECT_EQ(script.requester().request.missing, 2u);
    EXPECT_EQ(script.messages(Operation::write), 1u);
    EXPECT_EQ(script.messages(Operation::send), 1u);
}

/// The PSNs of a UD queue pair go to all of its partners. IBTA vol. 1, 9.8.
TEST(RoceMessages, DatagramsHaveNoGaps) {
    Script script(1000, metrics::Service::ud);
    script.request(0, ud | send_only);
    script.request(9, ud | send_only);
    EXPECT_EQ(script.requester().request.missing, 0u);
    EXPECT_EQ(script.messages(Operation::send), 2u);
}

struct Kind {
    metrics::Service service;
    std::uint8_t base;
};
constexpr Kind ordered[] = {{metrics::Service::rc, 0}, {metrics::Service::uc, uc}};

/// The capture begins within a message. The next one, of 1024 and 100 octets, took a microsecond.
TEST(RoceMessages, AMessageThatTheCaptureCutHasNoSize) {
    for (const Kind& kind : ordered) {
        SCOPED_TRACE(metrics::name_of(kind.service));
        Script script(1000, kind.service);
        script.request(0, kind.base | write_middle);
        script.request(1, kind.base | write_last, 100);
        EXPECT_EQ(script.shown().message_bytes.count(), 0u);
        EXPECT_EQ(script.shown().message_duration_ns.count(), 0u);
        script.request(2, kind.base | write_first);
        script.request(3, kind.base | write_last, 100);
        EXPECT_EQ(script.shown().message_bytes.count(), 1u);
        EXPECT_EQ(script.shown().message_bytes.sum(), 1124u);
        EXPECT_EQ(script.shown().message_duration_ns.sum(), 1000u);
        EXPECT_EQ(script.messages(Operation::write), 2u);
    }
}

/// Between a first and a last packet the end of one message and the begin of another are missing. Those come later:
/// two messages of 2048 octets; the first took 3 us, the second one's first packet came after its last.
TEST(RoceMessages, AHoleMayHoldTheBorderOfTwoMessages) {
    for (const Kind& kind : ordered) {
        SCOPED_TRACE(metrics::name_of(kind.service));
        Script script(1000, kind.service);
        script.request(0, kind.base | send_first);
        script.request(3, kind.base | send_last);
        EXPECT_EQ(script.shown().message_bytes.count(), 0u);
        EXPECT_EQ(script.shown().message_duration_ns.count(), 0u);
        script.request(2, kind.base | send_first);
        script.request(1, kind.base | send_last);
        EXPECT_EQ(script.messages(Operation::send), 2u);
        EXPECT_EQ(script.shown().message_bytes.count(), 2u);
        EXPECT_EQ(script.shown().message_bytes.min(), 2048u);
        EXPECT_EQ(script.shown().message_bytes.max(), 2048u);
        EXPECT_EQ(script.shown().message_duration_ns.count(), 1u);
        EXPECT_EQ(script.shown().message_duration_ns.sum(), 3000u);
    }
}

/// Of the first the last packet is missing, which comes after the second.
TEST(RoceMessages, AMessageWhoseEndComesLateHasASize) {
    Script script;
    script.request(0, send_first);
    script.request(1, send_middle);
    script.request(3, send_only, 8);
    script.request(2, send_last, 24);
    EXPECT_EQ(script.messages(Operation::send), 2u);
    EXPECT_EQ(script.shown().message_bytes.count(), 2u);
    EXPECT_EQ(script.shown().message_bytes.max(), 2072u);
    EXPECT_EQ(script.shown().message_bytes.sum(), 2080u);
}

/// A WRITE's first packet has its length. IBTA vol. 1, 9.4.3.
TEST(RoceMessages, AWriteTellsItsSize) {
    for (const Kind& kind : ordered) {
        SCOPED_TRACE(metrics::name_of(kind.service));
        Script script(1000, kind.service);
        script.begin_write(0, 3072, kind.base | write_first);
        script.request(2, kind.base | write_last);
        EXPECT_EQ(script.shown().message_bytes.count(), 1u);
        EXPECT_EQ(script.shown().message_bytes.sum(), 3072u);
        EXPECT_EQ(script.shown().message_duration_ns.sum(), 1000u);
        // 3 to 5, and 6 to 8: 5 and 6 are missing.
        script.begin_write(3, 3072, kind.base | write_first);
        script.request(4, kind.base | write_middle);
        script.request(7, kind.base | write_middle);
        script.request(8, kind.base | write_last);
        EXPECT_EQ(script.shown().message_bytes.count(), 1u);
    }
}

/// A packet whose CRC is wrong comes again.
TEST(RoceMessages, AMessageThatWasDamagedHasASize) {
    Script script;
    script.request(0);
    script.damaged(1);
    script.request(2);
    script.nak(1);
    script.after_us(20);
    script.requests(1, 2);
    script.ack(2);
    EXPECT_EQ(script.messages(Operation::write), 3u);
    EXPECT_EQ(script.shown().message_bytes.count(), 3u);
    EXPECT_EQ(script.shown().unseen_acknowledged_packets, 0u);
}

}  // namespace
