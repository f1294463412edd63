#include <gtest/gtest.h>

#include "reads.h"

/// READs and atomics whose responses were lost, which the answer to a later request shows, or nothing but a timer.
/// IBTA vol. 1, 9.7.5.2.8 for implied NAKs; counted by hand.
namespace {

using namespace roce_test;
using metrics::Operation;

/// A READ or an atomic of one PSN, and its response.
void ask(Script& script, std::int64_t index, bool atomic) {
    if (atomic)
        script.request(index, fetch_add, 0);
    else
        script.read(index, 1024);
}
void respond(Script& script, std::int64_t index, bool atomic) {
    if (atomic)
        script.answer(index, atomic_acknowledge);
    else
        script.answer(index, response_only, ack_syndrome, 1024);
}

/// The response is lost after the tap, and so is the READ's or atomic's requester's reason for asking again: all has
/// been answered here. It sees the acknowledgement of the WRITE after it, and no timer is that short.
TEST(RoceReads, AResponseThatIsLostBehindTheTapIsAskedForAgain) {
    for (const bool atomic : {false, true}) {
        SCOPED_TRACE(atomic ? "FETCH_ADD" : "READ");
        Script script;
        for (std::int64_t index = 0; index < 8; index += 2) {
            ask(script, index, atomic);
            script.request(index + 1);
            respond(script, index, atomic);
            script.ack(index + 1);
        }
        script.after_us(20);
        ask(script, 6, atomic);
        EXPECT_EQ(script.requester().attribution.last_state(), metrics::State::recover_nak);
        script.request(7);
        respond(script, 6, atomic);
        script.ack(7);
        EXPECT_EQ(script.shown().timeouts, 0u);
        EXPECT_EQ(repeated(script), 2u);
        EXPECT_EQ(script.shown().duplicate_packets, 0u);
    }
}

/// The response to a READ is lost, and the SEND after it finds no receive posted. The requester sees by that answer
/// that it lacks the response, and goes back to the READ at once: it is asked to wait for what comes after.
TEST(RoceReads, AReceiverThatIsNotReadyImpliesThatAResponseWasLost) {
    Script script;
    for (std::int64_t index = 0; index < 8; index += 2) {
        script.read(index, 1024);
        script.request(index + 1, send_only);
        if (index == 6) break;
        answer_only(script, index, 1024);
        script.ack(index + 1);
    }
    script.answer(7, acknowledge, rnr_syndrome(14));
    script.after_us(5);
    script.read(6, 1024);
    EXPECT_EQ(script.requester().attribution.last_state(), metrics::State::recover_nak);
    script.request(7, send_only);
    answer_only(script, 6, 1024);
    script.ack(7);
    const metrics::FlowSnapshot shown = script.shown();
    EXPECT_EQ(shown.find_event_summary(metrics::EventKind::go_back_wrong_start), nullptr)
        << "the RNR NAK named the SEND";
    EXPECT_EQ(shown.timeouts, 0u);
    EXPECT_EQ(script.complaints().rnr_naks, 1u);
    EXPECT_EQ(repeated(script), 2u);
    EXPECT_EQ(script.requester().ledger.messages(), 0u);
}

/// With nothing after it that was answered, only a timer asks for it again.
TEST(RoceReads, ALastResponseIsAskedForAgainByATimer) {
    for (const bool atomic : {false, true}) {
        SCOPED_TRACE(atomic ? "FETCH_ADD" : "READ");
        Script script;
        for (std::int64_t index = 0; index < 4; ++index) {
            ask(script, index, atomic);
            respond(script, index, atomic);
        }
        script.after_us(20'000);
        ask(script, 3, atomic);
        respond(script, 3, atomic);
        EXPECT_EQ(script.shown().timeouts, 1u);
        EXPECT_EQ(script.requester().attribution.last_state(), metrics::State::recover_timeout);
    }
}

/// Pairs of a READ or atomic and a WRITE. Of the second one the response is lost before the tap: what is heard is the
/// acknowledgement of the WRITE, and both come again. IBTA vol. 1, 9.7.5.2.8. A response passes 2 us after its request,
/// an acknowledgement 2 us after its WRITE.
TEST(RoceReads, AnAcknowledgementImpliesThatAResponseWasLost) {
    for (const bool atomic : {false, true}) {
        SCOPED_TRACE(atomic ? "FETCH_ADD" : "READ");
        Script script;
        const auto pair = [&](std::int64_t index, bool lost) {
            ask(script, index, atomic);
            script.request(index + 1);
            if (!lost) respond(script, index, atomic);
            script.ack(index + 1);
        };
        pair(0, false);
        pair(2, true);
        EXPECT_EQ(responses_missing(script), 1u);
        EXPECT_EQ(script.requester().ledger.messages(), 2u);
        pair(2, false);
        pair(4, false);
        const Operation operation = atomic ? Operation::fetch_add : Operation::read;
        EXPECT_EQ(responses_missing(script), 1u);
        EXPECT_EQ(responses_repeated(script), 1u);
        EXPECT_EQ(script.responder().request.reordered, 0u);
        EXPECT_EQ(missing(script), 0u);
        EXPECT_EQ(repeated(script), 2u);
        EXPECT_EQ(script.shown().timeouts, 0u);
        EXPECT_EQ(script.requester().attribution.time_in(metrics::State::recover_timeout), 0u);
        EXPECT_GT(script.requester().attribution.time_in(metrics::State::recover_nak), 0u);
        EXPECT_EQ(script.messages(operation), 3u);
        EXPECT_EQ(script.messages(Operation::write), 3u);
        for (const Operation each : {operation, Operation::write}) {  // Karn
            const metrics::Histogram latency = script.store.unpack(script.requester(), metrics::latency_of(each));
            EXPECT_EQ(latency.count(), 2u);
            EXPECT_EQ(latency.sum(), 4000u);
        }
        EXPECT_EQ(script.requester().ledger.messages(), 0u);
        EXPECT_EQ(script.requester().ledger.messages_max(), 2u);
    }
}

/// A NAK implies it as well. Of the READ's four responses, 0 to 3, the last two are lost, and the WRITE at 4.
TEST(RoceReads, ANakImpliesThatResponsesWereLost) {
    Script script;
    script.read(0, 4096);
    script.request(5);
    answer_of_four(script, 0);
    answer_of_four(script, 1);
    script.nak(4);
    EXPECT_EQ(responses_missing(script), 2u);
    EXPECT_EQ(missing(script), 1u);
    script.after_us(20);
    script.read(2, 2048);
    script.requests(4, 5);
    answer_all(script, 2, 2);
    script.ack(5);
    EXPECT_EQ(responses_missing(script), 2u);
    EXPECT_EQ(responses_repeated(script), 2u);
    EXPECT_EQ(payload(script), 4u * 1024);
    EXPECT_EQ(missing(script), 1u);
    EXPECT_EQ(repeated(script), 3u);
    EXPECT_EQ(script.shown().timeouts, 0u);
    EXPECT_EQ(script.latencies(Operation::read), 0u);
    EXPECT_EQ(script.latencies(Operation::write), 0u);
    EXPECT_EQ(script.requester().ledger.messages(), 0u);
}

/// The network, or a clock for each queue, has the acknowledgement overtake the response before it, which took 3 us.
/// Responses alone are in their order.
TEST(RoceReads, AnAcknowledgementThatOvertakesAResponse) {
    for (const bool atomic : {false, true}) {
        SCOPED_TRACE(atomic ? "FETCH_ADD" : "READ");
        Script script;
        ask(script, 0, atomic);
        script.request(1);
        script.ack(1);
        EXPECT_EQ(responses_missing(script), 1u);
        respond(script, 0, atomic);
        expect_shuffled(script, 0, 0);
        const metrics::Histogram latency = script.store.unpack(
            script.requester(), metrics::latency_of(atomic ? Operation::fetch_add : Operation::read));
        EXPECT_EQ(latency.count(), 1u);
        EXPECT_EQ(latency.sum(), 3000u);
        ask(script, 2, atomic);
        respond(script, 2, atomic);
        expect_shuffled(script, 0, 0);
    }
}

/// Its requester goes on without asking again: the capture alone has lost the response. How long READ and WRITE took is
/// not known.
TEST(RoceReads, AnImpliedResponseThatNobodyMissesIsTheCaptures) {
    for (const bool atomic : {false, true}) {
        SCOPED_TRACE(atomic ? "FETCH_ADD" : "READ");
        Script script;
        ask(script, 0, atomic);
        script.request(1);
        script.ack(1);
        EXPECT_EQ(responses_missing(script), 1u);
        script.after_us(20'000);
        script.request(2);
        EXPECT_EQ(responses_missing(script), 0u);
        EXPECT_EQ(script.complaints().unseen_acknowledged, 1u);
        script.ack(2);
        EXPECT_EQ(script.requester().ledger.messages(), 0u);
        EXPECT_EQ(script.latencies(atomic ? Operation::fetch_add : Operation::read), 0u);
        EXPECT_EQ(script.latencies(Operation::write), 1u);
    }
}

/// A requester that has never had more than two messages outstanding sends two more, and so on: it has had that
/// response.
TEST(RoceReads, AnImpliedResponseMakesNoQueueDeeper) {
    for (const bool atomic : {false, true}) {
        SCOPED_TRACE(atomic ? "FETCH_ADD" : "READ");
        Script script;
        for (std::int64_t index = 0; index < 20; index += 2) {
            ask(script, index, atomic);
            script.request(index + 1);
            if (index != 4) respond(script, index, atomic);
            script.ack(index + 1);
        }
        EXPECT_EQ(script.requester().ledger.messages(), 0u);
        EXPECT_EQ(script.requester().ledger.messages_max(), 2u);
        EXPECT_EQ(responses_missing(script), 0u);
        EXPECT_EQ(script.complaints().unseen_acknowledged, 1u);
        EXPECT_EQ(script.latencies(atomic ? Operation::fetch_add : Operation::read), 9u);
        EXPECT_EQ(script.latencies(Operation::write), 9u);
        EXPECT_EQ(script.messages(Operation::write), 10u);
    }
}

/// More is outstanding than ever before, but the requester asks again all the same: it was lost.
TEST(RoceReads, AnImpliedResponseThatIsAskedForLate) {
    Script script;
    script.read(0, 1024);
    script.request(1);
    script.ack(1);
    script.requests(2, 3);
    EXPECT_EQ(script.complaints().unseen_acknowledged, 1u);
    script.after_us(20);
    script.read(0, 1024);
    script.requests(1, 3);
    answer_all(script, 0, 1);
    script.ack(3);
    EXPECT_EQ(responses_missing(script), 1u);
    EXPECT_EQ(responses_repeated(script), 1u);
    EXPECT_EQ(script.complaints().unseen_acknowledged, 0u);
    EXPECT_EQ(repeated(script), 4u);
    EXPECT_EQ(script.shown().timeouts, 0u);
    EXPECT_EQ(script.latencies(Operation::read), 0u);
    EXPECT_EQ(script.latencies(Operation::write), 0u);
    EXPECT_EQ(script.requester().ledger.messages(), 0u);
}

/// READs after a WRITE wait for nothing that its acknowledgement shows.
TEST(RoceReads, AnAcknowledgementOfWhatCameBeforeAReadImpliesNothing) {
    Script script;
    script.request(0);
    script.read(1, 1024);
    script.ack(0);
    EXPECT_EQ(script.latencies(Operation::write), 1u);
    answer_all(script, 1, 1);
    expect_shuffled(script, 0, 0);
    EXPECT_EQ(script.latencies(Operation::read), 1u);
}

}  // namespace
