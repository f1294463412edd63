/// Datagrams of traced programs: put together from records, made into packets, paired with their answers.
#include <array>
#include <cerrno>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

#include "observe/datagrams/mad_packets.h"
#include "observe/datagrams/mad_table.h"
#include "observe/datagrams/mad_transactions.h"
#include "observe/datagrams/traced_mad.h"
#include "wire/vcrc.h"

namespace {

using namespace observe::datagrams;
using trace::MadEvent;
using trace::Record;
using trace::RecordKind;

std::byte at(base::Bytes bytes, std::size_t place) { return bytes[place]; }
std::uint32_t word(base::Bytes bytes, std::size_t place) { return base::load_be32(bytes.data() + place); }

/// A datagram in the common header's form (IBTA vol. 1, 13.4.3), with bytes that count up after it.
std::vector<std::byte> datagram(std::uint8_t management_class, std::uint8_t method, std::uint16_t attribute,
                                std::uint64_t transaction, std::size_t bytes = 256, std::uint16_t status = 0) {
    std::vector<std::byte> out(bytes);
    for (std::size_t i = 24; i < bytes; ++i) out[i] = static_cast<std::byte>(i);
    out[0] = std::byte{1};
    out[1] = std::byte{management_class};
    out[2] = std::byte{2};
    out[3] = std::byte{method};
    base::store_be16(out.data() + 4, status);
    base::store_be64(out.data() + 8, transaction);
    base::store_be16(out.data() + 16, attribute);
    return out;
}

/// The records of a datagram, as docs/trace.md describes them.
std::vector<Record> records_of(const std::vector<std::byte>& bytes, MadEvent event, std::int64_t time_ns,
                               std::uint32_t thread = 5) {
    std::vector<Record> out(1);
    out[0].kind = RecordKind::mad;
    out[0].number = 1;
    out[0].mad = {};
    out[0].mad.event = event;
    out[0].mad.bytes = static_cast<std::uint32_t>(bytes.size());
    out[0].mad.recorded_bytes = out[0].mad.bytes;
    out[0].mad.remote_lid = 4;
    out[0].mad.local_lid = 7;
    out[0].mad.remote_queue_pair = 1;
    out[0].mad.queue_key = 0x80010000;
    for (std::size_t from = 0; from < bytes.size(); from += 40) {
        Record& part = out.emplace_back();
        part.kind = RecordKind::mad_bytes;
        part.number = static_cast<std::uint32_t>(from / 40);
        part.mad_bytes = {};
        std::memcpy(part.mad_bytes.data(), bytes.data() + from, std::min<std::size_t>(40, bytes.size() - from));
    }
    for (Record& record : out) {
        record.time_ns = time_ns;
        record.process = 9;
        record.thread = thread;
    }
    return out;
}

const TracedMad* add(MadAssembler& assembler, const std::vector<Record>& records) {
    const TracedMad* last = nullptr;
    for (const Record& record : records) last = assembler.add(record);
    return last;
}

TEST(MadAssembler, puts_datagrams_of_two_threads_together) {
    MadAssembler assembler;
    const auto one = datagram(3, 0x12, 0x11, 1);
    const auto other = datagram(4, 0x01, 0x12, 2, 100);
    const auto of_one = records_of(one, MadEvent::sent, 10, 5);
    const auto of_other = records_of(other, MadEvent::sent, 10, 6);
    std::vector<std::vector<std::byte>> got;
    for (std::size_t i = 0; i < of_one.size(); ++i) {
        for (const auto* records : {&of_one, &of_other}) {
            if (i >= records->size()) continue;
            const TracedMad* const mad = assembler.add((*records)[i]);
            if (mad != nullptr) got.emplace_back(mad->bytes.begin(), mad->bytes.end());
        }
    }
    EXPECT_THAT(got, testing::ElementsAre(other, one));
    EXPECT_EQ(assembler.incomplete(), 0);
}

TEST(MadAssembler, drops_a_datagram_with_a_record_missing) {
    for (const std::size_t missing : std::to_array<std::size_t>({1, 3, 7})) {
        MadAssembler assembler;
        auto records = records_of(datagram(3, 0x12, 0x11, 1), MadEvent::sent, 10);
        records.erase(records.begin() + static_cast<std::ptrdiff_t>(missing));
        EXPECT_EQ(add(assembler, records), nullptr);
        EXPECT_NE(add(assembler, records_of(datagram(3, 0x12, 0x11, 2), MadEvent::sent, 20)), nullptr);
        EXPECT_EQ(assembler.incomplete(), 1) << missing;
    }
}

TEST(MadAssembler, drops_what_a_lost_record_interrupts) {
    MadAssembler assembler;
    auto records = records_of(datagram(3, 0x12, 0x11, 1), MadEvent::sent, 10);
    Record lost;
    lost.kind = RecordKind::lost;
    lost.process = 9;
    lost.thread = 5;
    lost.count = 1;
    records.insert(records.begin() + 3, lost);
    EXPECT_EQ(add(assembler, records), nullptr);
    EXPECT_EQ(assembler.incomplete(), 1);
}

TEST(MadAssembler, believes_no_length) {
    MadAssembler assembler;
    auto records = records_of(datagram(3, 0x12, 0x11, 1), MadEvent::sent, 10);
    records[0].mad.recorded_bytes = 0xffffffff;
    EXPECT_EQ(add(assembler, records), nullptr);
    records[0].mad.recorded_bytes = 257;
    EXPECT_EQ(add(assembler, records), nullptr);
    EXPECT_EQ(assembler.incomplete(), 2);
}

std::vector<std::vector<std::byte>> packets_of(const std::vector<std::byte>& bytes, MadEvent event) {
    MadAssembler assembler;
    MadPackets packets;
    std::vector<std::vector<std::byte>> out;
    packets.make(*add(assembler, records_of(bytes, event, 1'500'000'000)),
                 [&](base::Bytes packet) { out.emplace_back(packet.begin(), packet.end()); });
    return out;
}

TEST(MadPackets, have_the_addresses_of_both_ways) {
    const auto sent = packets_of(datagram(4, 0x01, 0x12, 1), MadEvent::sent);
    const auto received = packets_of(datagram(4, 0x81, 0x12, 1), MadEvent::received);
    ASSERT_EQ(sent.size(), 1);
    ASSERT_EQ(received.size(), 1);
    // ERF 16, LRH 8, BTH 12, DETH 8, datagram 256, ICRC 4, VCRC 2.
    ASSERT_EQ(sent[0].size(), 306);
    // 1.5 s since 1970, as a little-endian 32.32 number; type 21, varying length.
    EXPECT_EQ(word(sent[0], 0), 0x00000080);
    EXPECT_EQ(word(sent[0], 4), 0x01000000);
    EXPECT_EQ(word(sent[0], 8), 0x15040132);
    EXPECT_EQ(base::load_be16(sent[0].data() + 14), 290);
    const base::Bytes lrh = base::Bytes(sent[0]).subspan(16);
    // Lane 0, BTH next, to LID 4; (290 - 2) / 4 = 72 words, from LID 7.
    EXPECT_EQ(word(lrh, 0), 0x00020004);
    EXPECT_EQ(word(lrh, 4), 0x00480007);
    const base::Bytes lrh_back = base::Bytes(received[0]).subspan(16);
    EXPECT_EQ(word(lrh_back, 0), 0x00020007);
    EXPECT_EQ(word(lrh_back, 4), 0x00480004);
    // UD SEND Only, P_Key 0xffff, queue pair 1, Q_Key of queue pair 1, from queue pair 1.
    EXPECT_EQ(word(lrh, 8), 0x6400ffff);
    EXPECT_EQ(word(lrh, 12), 1);
    EXPECT_EQ(word(lrh, 20), 0x80010000);
    EXPECT_EQ(word(lrh, 24), 1);
    EXPECT_EQ(base::load_be16(lrh.data() + 288), wire::vcrc(lrh.first(288)));
}

TEST(MadPackets, pad_short_datagrams) {
    const auto packets = packets_of(datagram(4, 0x01, 0x12, 1, 100), MadEvent::sent);
    ASSERT_EQ(packets.size(), 1);
    EXPECT_EQ(packets[0].size(), 306);
    EXPECT_EQ(at(packets[0], 44 + 100), std::byte{0});
}

/// SubnAdmGetTableResp of 500 bytes of records: the length of a record does not matter here.
std::vector<std::byte> table(std::size_t bytes, std::uint32_t segment) {
    auto out = datagram(3, 0x92, 0x11, 1, 56 + bytes);
    out[24] = std::byte{1};  // version
    out[25] = std::byte{1};  // DATA
    out[26] = std::byte{1};  // active
    out[27] = std::byte{0};
    base::store_be32(out.data() + 28, segment);
    base::store_be32(out.data() + 32, 0);
    return out;
}

TEST(MadPackets, cut_a_table_into_segments) {
    const auto whole = table(500, 1);
    const auto packets = packets_of(whole, MadEvent::received);
    // 200 + 200 + 100 bytes.
    ASSERT_EQ(packets.size(), 3);
    // First: all data and the 20 bytes between the RMPP header and the data, for each segment. Last: its own.
    const std::uint32_t lengths[] = {500 + 3 * 20, 0, 100 + 20};
    const std::uint8_t flags[] = {0x03, 0x01, 0x05};  // active; first; last
    for (std::size_t i = 0; i < packets.size(); ++i) {
        const base::Bytes mad = base::Bytes(packets[i]).subspan(44, 256);
        EXPECT_EQ(at(mad, 26), std::byte{flags[i]}) << i;
        EXPECT_EQ(word(mad, 28), i + 1);
        EXPECT_EQ(word(mad, 32), lengths[i]) << i;
        const std::size_t here = i == 2 ? 100 : 200;
        EXPECT_TRUE(std::equal(mad.begin() + 56, mad.begin() + 56 + static_cast<std::ptrdiff_t>(here),
                               whole.begin() + 56 + static_cast<std::ptrdiff_t>(200 * i)))
            << i;
    }
    // PSNs count up.
    EXPECT_EQ(word(packets[2], 16 + 8 + 8), 2);
}

TEST(MadPackets, number_a_single_segment_that_the_kernel_would_number) {
    auto sent = table(112, 0);
    sent[24] = sent[25] = std::byte{0};  // as opensm leaves them: the kernel fills them in
    const auto packets = packets_of(sent, MadEvent::sent);
    ASSERT_EQ(packets.size(), 1);
    const base::Bytes mad = base::Bytes(packets[0]).subspan(44, 256);
    EXPECT_EQ(word(mad, 24) >> 8, 0x010107);
    EXPECT_EQ(word(mad, 28), 1);
    EXPECT_EQ(word(mad, 32), 132);
}

TEST(MadPackets, leave_a_segment_as_it_came) {
    auto segment = table(200, 3);
    const auto packets = packets_of(segment, MadEvent::received);
    ASSERT_EQ(packets.size(), 1);
    EXPECT_TRUE(std::equal(segment.begin(), segment.end(), packets[0].begin() + 44));
}

class Transactions : public testing::Test {
protected:
    void add(const std::vector<std::byte>& bytes, MadEvent event, std::int64_t time_ns, std::uint16_t error = 0,
             std::uint16_t lid = 4) {
        auto records = records_of(bytes, event, time_ns);
        records[0].mad.error = error;
        records[0].mad.remote_lid = lid;
        records[0].mad.timeout_ms = 100;
        transactions.add(*::add(assembler, records));
    }
    const MadFigures& only(Role role) const {
        EXPECT_EQ(transactions.kinds().size(), 1);
        EXPECT_EQ(transactions.kinds().begin()->first.role, role);
        return transactions.kinds().begin()->second;
    }
    MadAssembler assembler;
    MadTransactions transactions;
};

TEST_F(Transactions, take_from_the_first_try_to_the_answer) {
    // The kernel replaces the upper half of the identifier.
    add(datagram(3, 0x12, 0x11, 0x1111111100000001), MadEvent::sent, 1000);
    add(datagram(3, 0x12, 0x11, 0x1111111100000001), MadEvent::sent, 5000);
    add(datagram(3, 0x92, 0x11, 0x2222222200000001, 256, 0x0200), MadEvent::received, 9000);
    add(datagram(3, 0x92, 0x11, 0x2222222200000001), MadEvent::received, 9500);  // a second answer
    const MadFigures& figures = only(Role::asks);
    EXPECT_EQ(figures.count, 1);
    EXPECT_EQ(figures.repeats, 1);
    EXPECT_EQ(figures.open, 0);
    EXPECT_EQ(figures.errors, 1);
    EXPECT_EQ(figures.latency_ns.count(), 1);
    EXPECT_EQ(figures.latency_ns.sum(), 8000);
}

TEST_F(Transactions, of_a_request_that_came_back) {
    add(datagram(0x81, 0x01, 0x11, 1), MadEvent::sent, 1000);
    add(datagram(0x81, 0x01, 0x11, 2), MadEvent::sent, 1000);
    add(datagram(0x81, 0x01, 0x11, 3), MadEvent::sent, 1000);
    add(datagram(0x81, 0x01, 0x11, 1), MadEvent::returned, 2000, ETIMEDOUT);
    add(datagram(0x81, 0x01, 0x11, 2), MadEvent::returned, 2000, EIO);
    const MadFigures& figures = only(Role::asks);
    EXPECT_EQ(figures.count, 3);
    EXPECT_EQ(figures.timed_out, 1);
    EXPECT_EQ(figures.failed, 1);
    EXPECT_EQ(figures.open, 1);
    EXPECT_TRUE(figures.latency_ns.empty());
}

TEST_F(Transactions, that_came_back_and_is_sent_again_is_a_repeat) {
    add(datagram(4, 0x01, 0x12, 1), MadEvent::sent, 1000);
    add(datagram(4, 0x01, 0x12, 1), MadEvent::returned, 2000, ETIMEDOUT);
    add(datagram(4, 0x01, 0x12, 1), MadEvent::sent, 2100);
    add(datagram(4, 0x81, 0x12, 1), MadEvent::received, 2600);
    const MadFigures& figures = only(Role::asks);
    EXPECT_EQ(figures.count, 1);
    EXPECT_EQ(figures.repeats, 1);
    EXPECT_EQ(figures.timed_out, 0);
    EXPECT_EQ(figures.open, 0);
    EXPECT_EQ(figures.latency_ns.sum(), 1600);
}

TEST_F(Transactions, of_others_that_the_program_answers) {
    add(datagram(3, 0x01, 0x35, 7), MadEvent::received, 1000);
    add(datagram(3, 0x81, 0x35, 7), MadEvent::sent, 1300);
    const MadFigures& figures = only(Role::answers);
    EXPECT_EQ(figures.latency_ns.sum(), 300);
    EXPECT_THAT(figures.peers, testing::ElementsAre(testing::Pair(4, 1)));
}

TEST_F(Transactions, of_several_hosts_may_have_one_identifier) {
    // Two hosts, and two programs of the first one, whose kernel makes the upper half of the identifier.
    add(datagram(3, 0x01, 0x35, 0x1111111100000007), MadEvent::received, 1000, 0, 4);
    add(datagram(3, 0x01, 0x35, 0x1111111100000007), MadEvent::received, 1100, 0, 5);
    add(datagram(3, 0x01, 0x35, 0x2222222200000007), MadEvent::received, 1200, 0, 4);
    add(datagram(3, 0x81, 0x35, 0x1111111100000007), MadEvent::sent, 1300, 0, 5);
    add(datagram(3, 0x81, 0x35, 0x2222222200000007), MadEvent::sent, 1500, 0, 4);
    const MadFigures& figures = only(Role::answers);
    EXPECT_EQ(figures.count, 3);
    EXPECT_EQ(figures.repeats, 0);
    EXPECT_EQ(figures.open, 1);
    EXPECT_EQ(figures.latency_ns.sum(), (1300 - 1100) + (1500 - 1200));
    EXPECT_THAT(figures.peers, testing::ElementsAre(testing::Pair(4, 2), testing::Pair(5, 1)));
}

TEST_F(Transactions, are_apart_for_both_directions) {
    // Two managers ask each other with the same identifier.
    add(datagram(1, 0x01, 0x20, 7), MadEvent::sent, 1000);
    add(datagram(1, 0x01, 0x20, 7), MadEvent::received, 1100);
    add(datagram(1, 0x81, 0x20, 7), MadEvent::sent, 1200);
    add(datagram(1, 0x81, 0x20, 7), MadEvent::received, 1500);
    ASSERT_EQ(transactions.kinds().size(), 2);
    EXPECT_EQ(transactions.kinds().at({9, Role::asks, 1, 1, 0x20}).latency_ns.sum(), 500);
    EXPECT_EQ(transactions.kinds().at({9, Role::answers, 1, 1, 0x20}).latency_ns.sum(), 100);
}

TEST_F(Transactions, repress_of_a_trap_is_its_answer) {
    add(datagram(1, 0x05, 0x02, 7), MadEvent::received, 1000);
    add(datagram(1, 0x07, 0x02, 7), MadEvent::sent, 1400);
    EXPECT_EQ(only(Role::answers).latency_ns.sum(), 400);
}

TEST_F(Transactions, need_whole_headers) {
    add(datagram(3, 0x12, 0x11, 1, 24), MadEvent::sent, 1000);
    auto cut = datagram(3, 0x12, 0x11, 1);
    cut.resize(23);
    add(cut, MadEvent::sent, 1000);
    EXPECT_EQ(transactions.datagrams(), 1);
    EXPECT_EQ(transactions.uncounted(), 1);
}

/// 65,536 requests are known at most. Those that came back make room, together; those that are open do not.
TEST_F(Transactions, that_came_back_make_room_for_others) {
    const auto send = [&](std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t id = from; id < to; ++id) add(datagram(0x81, 0x01, 0x11, id, 24), MadEvent::sent, 1000);
    };
    const auto come_back = [&](std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t id = from; id < to; ++id)
            add(datagram(0x81, 0x01, 0x11, id, 24), MadEvent::returned, 2000, ETIMEDOUT);
    };
    send(0, 65'536);
    send(65'536, 65'636);
    EXPECT_EQ(transactions.uncounted(), 100);
    come_back(0, 4'096);
    send(65'636, 69'732);
    EXPECT_EQ(transactions.uncounted(), 100);
    send(69'732, 69'742);
    EXPECT_EQ(transactions.uncounted(), 110);
    // What was forgotten is a new request when it is sent again; there is no room for it.
    send(0, 1);
    const MadFigures& figures = only(Role::asks);
    EXPECT_EQ(transactions.uncounted(), 111);
    EXPECT_EQ(figures.count, 69'743);
    EXPECT_EQ(figures.repeats, 0);
    EXPECT_EQ(figures.timed_out, 4'096);
    EXPECT_EQ(figures.open, 65'536);
}

TEST_F(Transactions, table_counts_peers_without_a_place) {
    // 64 LIDs have places of their own; two more requests go to others.
    for (std::uint16_t lid = 1; lid <= 66; ++lid) add(datagram(3, 0x12, 0x11, lid), MadEvent::sent, 1000, 0, lid);
    EXPECT_THAT(mad_tables(transactions, {}),
                testing::AllOf(testing::HasSubstr("management datagrams of process 9\n"),
                               testing::HasSubstr("lid 1 (1), lid 2 (1), lid 3 (1), 61 more, other LIDs (2)\n")));
}

TEST_F(Transactions, table_names_what_is_asked_and_whom) {
    add(datagram(3, 0x12, 0x11, 1), MadEvent::sent, 1000);
    add(datagram(3, 0x92, 0x11, 1), MadEvent::received, 3000);
    const std::string text = mad_tables(transactions, {});
    EXPECT_THAT(text, testing::ContainsRegex("SubnAdmGetTable\\(NodeRecord\\) +1 +0 +0 +0 +0 .*lid 4\n"));
}

}  // namespace
