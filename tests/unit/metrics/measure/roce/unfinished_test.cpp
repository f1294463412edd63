#include <gtest/gtest.h>

#include "script.h"

/// Messages of which packets come late, again or never. Of each the expected octets are those of its packets that
/// passed, where its last one did: 1024 a packet, unless another length is given.
namespace {

using namespace roce_test;
using metrics::EventKind;
using metrics::Operation;

struct Counts {
    std::uint64_t missing;
    std::uint64_t duplicates;
    std::uint64_t reordered;
};
void expect_counts(const Script& script, const Counts& counts) {
    const metrics::FlowSnapshot shown = script.shown();
    EXPECT_EQ(shown.missing_packets, counts.missing);
    EXPECT_EQ(shown.duplicate_packets, counts.duplicates);
    EXPECT_EQ(shown.reordered_packets, counts.reordered);
}
void expect_octets(Script& script, Operation operation, std::uint64_t messages, std::uint64_t octets) {
    SCOPED_TRACE(metrics::operation_names[metrics::index_of(operation)]);
    EXPECT_EQ(script.messages(operation), messages);
    EXPECT_EQ(script.bytes(operation), octets);
}
std::uint64_t stalled(Script& script) { return script.requester().attribution.time_in(metrics::State::nic_stall); }

/// No sender repeats anything on UC: a packet that was not missing is the network's copy, whatever else is missing.
TEST(UcMessages, ACopyIsNoMessageAndFillsNoHole) {
    Script script(500, metrics::Service::uc);
    script.identification = 100;
    for (const std::int64_t index : {0, 1, 2, 4, 5, 6, 7}) script.request(index, uc | send_only, 64);
    script.identification = 105;
    script.request(6, uc | send_only, 64);
    for (const std::int64_t index : {8, 9}) script.request(index, uc | send_only, 64);
    // Ten were sent, the fourth was lost.
    expect_octets(script, Operation::send, 9, 9 * 64);
    EXPECT_EQ(script.shown().payload_bytes, 9u * 64);
    expect_counts(script, {1, 1, 0});
    // It comes after all, and twice.
    script.request(3, uc | send_only, 64);
    script.request(3, uc | send_only, 64);
    expect_octets(script, Operation::send, 10, 10 * 64);
    expect_counts(script, {0, 2, 1});
}

TEST(UcMessages, ACopyOfAFirstPacketIsCountedOnce) {
    Script script(500, metrics::Service::uc);
    script.begin_write(0, 2000, uc | write_first);
    script.request(1, uc | write_last, 976);
    script.begin_write(0, 2000, uc | write_first);
    script.begin_write(2, 2000, uc | write_first);
    script.request(3, uc | write_last, 976);
    expect_octets(script, Operation::write, 2, 4000);
    EXPECT_EQ(script.shown().payload_bytes, 4000u);
    expect_counts(script, {0, 1, 0});
}

/// What passed before the capture's first packet was sent: it comes late, and was no hole.
TEST(UcMessages, TheFirstPacketsMayBeShuffled) {
    Script script(500, metrics::Service::uc);
    script.request(1, uc | send_only, 64);
    script.request(0, uc | send_only, 64);
    expect_octets(script, Operation::send, 2, 128);
    expect_counts(script, {0, 0, 1});
}

/// 0xfffffe, 0xffffff, 0, 1: the second is late, and the third doubled.
TEST(UcMessages, PsnsWrap) {
    Script script(0xfffffe, metrics::Service::uc);
    for (const std::int64_t index : {0, 2, 1, 2, 3}) script.request(index, uc | send_only, 64);
    expect_octets(script, Operation::send, 4, 256);
    expect_counts(script, {0, 1, 1});
}

TEST(UcMessages, OctetsWithoutAnEndAreNoMessages) {
    Script script(500, metrics::Service::uc);
    // 0 to 3 whole; 4 to 7 without 5; 8 to 11 without its end; 12 to 15 whole.
    for (std::int64_t first = 0; first < 16; first += 4) {
        script.begin_write(first, 4096, uc | write_first);
        if (first != 4) script.request(first + 1, uc | write_middle);
        script.request(first + 2, uc | write_middle);
        if (first != 8) script.request(first + 3, uc | write_last);
        if (first == 8) expect_octets(script, Operation::write, 2, (4 + 3) * 1024);
    }
    expect_octets(script, Operation::write, 3, (4 + 3 + 4) * 1024);
    // All of them passed.
    EXPECT_EQ(script.shown().payload_bytes, 14u * 1024);
    expect_counts(script, {2, 0, 0});
    // Now the end comes late: its message counts with all that it has.
    script.request(11, uc | write_last_immediate, 100);
    expect_octets(script, Operation::write, 3, (4 + 3 + 4) * 1024);
    expect_octets(script, Operation::write_immediate, 1, 3 * 1024 + 100);
    // And the middle of the second one.
    script.request(5, uc | write_middle);
    expect_octets(script, Operation::write, 3, 12 * 1024);
    EXPECT_EQ(script.shown().message_bytes.sum(), 3u * 4096 + 3 * 1024 + 100);
}

/// By its RETH the first message ends with packet 2; the next is seen from its second packet on.
TEST(UcMessages, AHoleOverTheEndOfAWriteIsNoStall) {
    Script script(500, metrics::Service::uc);
    script.begin_write(0, 3072, uc | write_first);
    script.request(1, uc | write_middle);
    EXPECT_EQ(stalled(script), 1000u);
    script.after_us(49);
    script.request(4, uc | write_middle);
    EXPECT_EQ(stalled(script), 1000u);
    script.request(5, uc | write_last);
    EXPECT_EQ(stalled(script), 2000u);
    expect_octets(script, Operation::write, 1, 2048);
    // Here the hole lies inside: the message had been posted, and its packets were 50 us apart.
    script.begin_write(6, 4096, uc | write_first);
    const std::uint64_t before = stalled(script);
    script.after_us(49);
    script.request(8, uc | write_middle);
    EXPECT_EQ(stalled(script) - before, 50'000u);
    script.request(9, uc | write_last);
    expect_octets(script, Operation::write, 2, 2048 + 3072);
}

/// A SEND does not tell its length: what is after the hole may be another message's.
TEST(UcMessages, AHoleInASendIsNoStall) {
    Script script(500, metrics::Service::uc);
    script.request(0, uc | send_first);
    script.after_us(49);
    script.request(2, uc | send_middle);
    EXPECT_EQ(stalled(script), 0u);
    script.request(3, uc | send_last_immediate, 24);
    expect_octets(script, Operation::send_immediate, 1, 2048 + 24);
    script.request(1, uc | send_middle);
    expect_octets(script, Operation::send_immediate, 1, 3072 + 24);
    expect_octets(script, Operation::send, 0, 0);
}

/// Immediate data shows in the last packet alone, which here the next message has overtaken.
TEST(UcMessages, ALateEndTellsWhatItsMessageWas) {
    Script script(500, metrics::Service::uc);
    script.begin_write(0, 2548, uc | write_first);
    script.request(1, uc | write_middle);
    script.begin_write(3, 2548, uc | write_first);
    script.request(2, uc | write_last_immediate, 500);
    script.request(4, uc | write_middle);
    script.request(5, uc | write_last_immediate, 500);
    expect_octets(script, Operation::write_immediate, 2, 2 * 2548);
    expect_octets(script, Operation::write, 0, 0);
    expect_counts(script, {0, 0, 1});
}

/// The same of a WRITE that has its second packet missing as well: it comes last.
TEST(UcMessages, ALateEndBehindAHoleTellsWhatItsMessageWas) {
    Script script(500, metrics::Service::uc);
    script.begin_write(0, 4096, uc | write_first);
    script.request(2, uc | write_middle);
    script.request(4, uc | send_only, 64);
    expect_octets(script, Operation::write, 0, 0);
    script.request(3, uc | write_last_immediate);
    expect_octets(script, Operation::write_immediate, 1, 3072);
    script.request(1, uc | write_middle);
    expect_octets(script, Operation::write_immediate, 1, 4096);
    EXPECT_EQ(script.shown().message_bytes.sum(), 64u + 4096);
}

TEST(RcMessages, ARepeatedEndTellsWhatItsMessageWas) {
    Script script;
    script.request(0);
    script.ack(0);
    script.begin_write(1, 2548);
    script.request(2, write_middle);
    script.request(4, send_only, 64);
    // Until then it is unknown what the message is.
    expect_octets(script, Operation::write, 1, 1024);
    script.nak(3);
    script.after_us(10);
    script.request(3, write_last_immediate, 500);
    script.request(4, send_only, 64);
    script.ack(4);
    expect_octets(script, Operation::write, 1, 1024);
    expect_octets(script, Operation::write_immediate, 1, 2548);
    expect_octets(script, Operation::send, 1, 64);
}

TEST(RcMessages, ARepeatedBeginIsOfTheMessageThatItsEndTold) {
    Script script;
    script.request(0, send_only, 512);
    script.ack(0);
    script.request(2, send_last_invalidate, 500);
    script.nak(1);
    script.after_us(10);
    script.request(1, send_first);
    script.request(2, send_last_invalidate, 500);
    script.ack(2);
    expect_octets(script, Operation::send, 1, 512);
    expect_octets(script, Operation::send_invalidate, 1, 1524);
}

/// The RETH shows that the message is complete except its middle, before that is repeated.
TEST(RcMessages, ARepeatedMidstIsOfTheMessageThatItsEndTold) {
    Script script;
    script.request(0);
    script.ack(0);
    script.begin_write(1, 5 * 1024);
    script.request(3, write_middle);
    script.request(5, write_last_immediate);
    expect_octets(script, Operation::write_immediate, 1, 3 * 1024);
    script.nak(2);
    script.after_us(10);
    script.request(2, write_middle);
    script.request(3, write_middle);
    script.request(4, write_middle);
    script.request(5, write_last_immediate);
    script.ack(5);
    expect_octets(script, Operation::write, 1, 1024);
    expect_octets(script, Operation::write_immediate, 1, 5 * 1024);
    EXPECT_EQ(script.shown().message_bytes.sum(), 6u * 1024);
}

/// Of two SENDs the first one's end and the second one's begin are missing: they look like one until those come.
TEST(RcMessages, TwoSendsThatLookedLikeOne) {
    Script script;
    script.request(0, send_only, 64);
    script.ack(0);
    script.request(1, send_first);
    script.request(4, send_middle);
    script.nak(2);
    script.after_us(10);
    script.request(2, send_last, 10);
    expect_octets(script, Operation::send, 2, 64 + 1024 + 10);
    script.request(3, send_first);
    script.request(4, send_middle);
    script.request(5, send_last_invalidate, 20);
    script.ack(5);
    expect_octets(script, Operation::send, 2, 64 + 1024 + 10);
    expect_octets(script, Operation::send_invalidate, 1, 2048 + 20);
}

/// An interval's figures are differences of two looks: no look may show less than the one before.
TEST(RcMessages, OctetsNeverShrink) {
    for (const std::uint8_t base : {std::uint8_t{0}, uc}) {
        Script script(1000, base == uc ? metrics::Service::uc : metrics::Service::rc);
        metrics::FlowSnapshot former = script.shown();
        const auto look = [&] {
            const metrics::FlowSnapshot now = script.shown();
            for (std::size_t i = 0; i < metrics::operation_count; ++i)
                EXPECT_GE(now.operations[i].bytes, former.operations[i].bytes) << i;
            former = now;
        };
        const auto part = [&](std::int64_t index, std::uint8_t opcode) {
            if (opcode == write_first)
                script.begin_write(index, 3 * 1024, base | opcode);
            else
                script.request(index, base | opcode);
            look();
        };
        part(0, write_first);
        part(1, write_middle);
        part(3, write_first);
        part(5, write_last_immediate);
        part(2, write_last_immediate);
        part(4, write_middle);
        part(6, send_first);
        part(8, send_middle);
        part(10, send_last);
        part(7, send_last_immediate);
        part(9, send_middle);
        expect_octets(script, Operation::write_immediate, 2, 6 * 1024);
        expect_octets(script, Operation::write, 0, 0);
        EXPECT_EQ(script.bytes(Operation::send) + script.bytes(Operation::send_immediate), 5u * 1024);
    }
}

}  // namespace
