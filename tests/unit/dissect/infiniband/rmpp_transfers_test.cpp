/// Segments of the Reliable Multi-Packet Protocol. The datagrams are put together here as IBTA vol. 1, 13.6 and 15.2.1
/// describe them: 200 bytes of data in each segment of Subnet Administration, and 20 bytes of its header counted too.
#include "dissect/rmpp_transfers.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/support/allocations.h"
#include "wire/mad_class.h"

namespace {

using dissect::Dissection;
using dissect::LayerId;
using dissect::RmppSegment;
using dissect::RmppTransfers;

constexpr std::size_t segment_room = 200;
constexpr std::uint32_t record_length = 112;  // of a NodeRecord, in words of eight bytes

constexpr unsigned flag_active = 1;
constexpr unsigned flag_first = 2;
constexpr unsigned flag_last = 4;
enum class Type : std::uint8_t { data = 1, ack = 2, stop = 3, abort = 4 };

/// Two LIDs, then the datagram: a dissection of no other packet.
struct Datagram {
    std::vector<std::byte> bytes = std::vector<std::byte>(4 + 256);
    Dissection dissection;

    explicit Datagram(std::uint16_t from, std::uint16_t to, std::uint64_t transaction = 7) {
        base::store_be16(bytes.data(), from);
        base::store_be16(bytes.data() + 2, to);
        dissection.network = {.family = dissect::Network::Family::lid, .source_offset = 0, .destination_offset = 2};
        dissection.layers[0] = {.id = LayerId::mad, .offset = 4, .length = 256, .wire_length = 256};
        dissection.layer_count = 1;
        dissection.present.insert(LayerId::mad);
        put(1, 0x03);
        base::store_be64(mad() + 8, transaction);
    }
    std::byte* mad() { return bytes.data() + 4; }
    void put(std::size_t at, unsigned value) { mad()[at] = static_cast<std::byte>(value); }
    Datagram& rmpp(Type type, unsigned flags, std::uint32_t one, std::uint32_t two) {
        put(24, 1);
        put(25, static_cast<unsigned>(type));
        put(26, flags | flag_active);
        base::store_be32(mad() + 28, one);
        base::store_be32(mad() + 32, two);
        return *this;
    }
};

/// Byte i of a table is i modulo 251, so that no two places of a segment's length are alike.
std::byte octet_of(std::size_t place) { return static_cast<std::byte>(place % 251); }

class Table {
public:
    explicit Table(std::size_t records) : size_(records * record_length) {}

    std::uint32_t segments() const { return static_cast<std::uint32_t>((size_ + segment_room - 1) / segment_room); }
    Datagram segment(std::uint32_t number, std::uint64_t transaction = 7) const {
        Datagram datagram(1, 8, transaction);
        const bool is_last = number == segments();
        const std::size_t begin = (number - 1) * segment_room;
        const std::size_t used = std::min(segment_room, size_ - begin);
        const std::size_t whole = size_ + 20 * segments();
        const std::size_t payload = is_last ? used + 20 : number == 1 ? whole : 0;
        datagram.rmpp(Type::data, (number == 1 ? flag_first : 0u) | (is_last ? flag_last : 0u), number,
                      static_cast<std::uint32_t>(payload));
        base::store_be16(datagram.mad() + 44, record_length / 8);
        for (std::size_t i = 0; i < used; ++i) datagram.mad()[56 + i] = octet_of(begin + i);
        return datagram;
    }

private:
    std::size_t size_;
};

const RmppSegment* note(RmppTransfers& transfers, const Datagram& datagram) {
    return transfers.note(datagram.dissection, datagram.bytes);
}

std::vector<std::uint64_t> joined(const RmppSegment* segment) {
    std::vector<std::uint64_t> numbers;
    for (const dissect::JoinedRecord& record : dissect::joined_records(*segment, record_length)) {
        numbers.push_back(record.number);
        EXPECT_EQ(record.octets.size(), record_length);
        for (std::size_t i = 0; i < record.octets.size(); ++i)
            EXPECT_EQ(record.octets[i], octet_of(record.number * record_length + i));
    }
    return numbers;
}

using Numbers = std::vector<std::uint64_t>;

TEST(RmppTransfers, counts_segments_and_joins_records) {
    // Five records of 112 bytes: 560 bytes, segments of 200, 200 and 160. Record 1 is at 112..224, record 3 at
    // 336..448.
    const Table table(5);
    ASSERT_EQ(table.segments(), 3u);
    RmppTransfers transfers;
    const RmppSegment* segment = note(transfers, table.segment(1));
    ASSERT_NE(segment, nullptr);
    EXPECT_EQ(segment->count, 3u);
    EXPECT_EQ(joined(segment), Numbers{});
    segment = note(transfers, table.segment(2));
    EXPECT_EQ(segment->count, 3u);
    EXPECT_EQ(joined(segment), Numbers{1});
    segment = note(transfers, table.segment(3));
    EXPECT_TRUE(segment->is_last);
    EXPECT_EQ(segment->octets, 560u);
    EXPECT_EQ(segment->missing, 0u);
    EXPECT_EQ(joined(segment), Numbers{3});
}

TEST(RmppTransfers, a_lost_segment_takes_its_records_with_it) {
    const Table table(5);
    RmppTransfers transfers;
    note(transfers, table.segment(1));
    const RmppSegment* segment = note(transfers, table.segment(3));
    EXPECT_EQ(segment->octets, 560u);
    EXPECT_EQ(segment->missing, 1u);
    EXPECT_EQ(joined(segment), Numbers{});
    // It is sent again at last, and has the ends of two records.
    segment = note(transfers, table.segment(2));
    EXPECT_EQ(joined(segment), (Numbers{1, 3}));
}

TEST(RmppTransfers, a_repeated_segment_says_nothing_new) {
    const Table table(5);
    RmppTransfers transfers;
    note(transfers, table.segment(1));
    note(transfers, table.segment(2));
    const RmppSegment* segment = note(transfers, table.segment(2));
    EXPECT_TRUE(segment->is_repeated);
    EXPECT_EQ(joined(segment), Numbers{});
    segment = note(transfers, table.segment(3));
    EXPECT_FALSE(segment->is_repeated);
    EXPECT_EQ(segment->missing, 0u);
}

TEST(RmppTransfers, a_capture_may_begin_in_the_middle) {
    const Table table(5);
    RmppTransfers transfers;
    const RmppSegment* segment = note(transfers, table.segment(2));
    EXPECT_EQ(segment->count, std::nullopt);
    EXPECT_EQ(joined(segment), Numbers{});
    segment = note(transfers, table.segment(3));
    EXPECT_EQ(segment->count, 3u);
    EXPECT_EQ(segment->missing, 1u);
    EXPECT_EQ(joined(segment), Numbers{3});
}

TEST(RmppTransfers, an_acknowledged_transaction_may_be_used_again) {
    const Table table(5);
    RmppTransfers transfers;
    for (std::uint32_t number = 1; number <= 3; ++number) note(transfers, table.segment(number));
    EXPECT_TRUE(note(transfers, table.segment(1))->is_repeated);  // without an acknowledgement it is sent again
    EXPECT_EQ(note(transfers, Datagram(8, 1).rmpp(Type::ack, 0, 3, 64)), nullptr);
    EXPECT_FALSE(note(transfers, table.segment(1))->is_repeated);
    EXPECT_EQ(joined(note(transfers, table.segment(2))), Numbers{1});
}

TEST(RmppTransfers, either_end_may_give_up) {
    const Table table(5);
    for (const auto& [from, to] : {std::pair{1, 8}, std::pair{8, 1}}) {
        RmppTransfers transfers;
        note(transfers, table.segment(1));
        note(transfers,
             Datagram(static_cast<std::uint16_t>(from), static_cast<std::uint16_t>(to)).rmpp(Type::abort, 0, 0, 0));
        EXPECT_EQ(note(transfers, table.segment(2))->count, std::nullopt);
    }
}

TEST(RmppTransfers, transactions_are_told_apart) {
    const Table table(5);
    RmppTransfers transfers;
    note(transfers, table.segment(1, 7));
    EXPECT_EQ(joined(note(transfers, table.segment(2, 8))), Numbers{});
    EXPECT_EQ(joined(note(transfers, table.segment(2, 7))), Numbers{1});
}

TEST(RmppTransfers, memory_is_bounded) {
    const Table table(5);
    RmppTransfers transfers(RmppTransfers::Bounds{.transfers = 2, .transfer_octets = 400, .octets = 4000});
    note(transfers, table.segment(1, 1));
    note(transfers, table.segment(1, 2));
    note(transfers, table.segment(1, 3));
    EXPECT_EQ(joined(note(transfers, table.segment(2, 1))), Numbers{});  // the idlest was forgotten for the third
    EXPECT_EQ(joined(note(transfers, table.segment(2, 3))), Numbers{1});
    const RmppSegment* segment = note(transfers, table.segment(3, 3));  // beyond 400 bytes
    EXPECT_EQ(segment->octets, 560u);
    EXPECT_EQ(segment->held, nullptr);
    EXPECT_EQ(joined(segment), Numbers{});
}

TEST(RmppTransfers, a_segment_number_is_no_size) {
    RmppTransfers transfers;
    Datagram datagram = Table(5).segment(1);
    datagram.rmpp(Type::data, 0, 0xffffffff, 0);
    const RmppSegment* segment = note(transfers, datagram);
    ASSERT_NE(segment, nullptr);
    EXPECT_EQ(segment->held, nullptr);
    datagram.rmpp(Type::data, flag_last, 0, 220);
    EXPECT_EQ(note(transfers, datagram), nullptr);
}

/// Ports that anybody can send to: one datagram must not cost what a whole table does.
TEST(RmppTransfers, a_segment_far_ahead_takes_no_memory_for_those_before) {
    RmppTransfers transfers;
    Datagram datagram = Table(5).segment(1);
    datagram.rmpp(Type::data, 0, 20'000, 0);
    support::fail_allocations_of(4096);
    const RmppSegment* segment = note(transfers, datagram);
    support::fail_allocations_of(0);
    ASSERT_NE(segment, nullptr);
    EXPECT_EQ(segment->number, 20'000u);
    EXPECT_EQ(joined(segment), Numbers{});
}

TEST(RmppTransfers, a_record_may_lie_in_many_segments) {
    // A record of 504 bytes has parts of three segments, which come in any order: 0 to 503, 504 to 1007.
    const Table table(9);  // 1008 bytes: six segments
    ASSERT_EQ(table.segments(), 6u);
    for (const auto& order : {std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1}, {4, 1, 6, 3, 5, 2}}) {
        RmppTransfers transfers;
        std::vector<std::uint64_t> numbers;
        for (const std::uint32_t number : order)
            for (const auto& record : dissect::joined_records(*note(transfers, table.segment(number)), 504)) {
                numbers.push_back(record.number);
                ASSERT_EQ(record.octets.size(), 504u);
                for (std::size_t i = 0; i < record.octets.size(); ++i)
                    ASSERT_EQ(record.octets[i], octet_of(record.number * 504 + i)) << i;
            }
        std::ranges::sort(numbers);
        EXPECT_EQ(numbers, (Numbers{0, 1}));
    }
}

/// Classes that have segments, and their headers, by Linux' ib_is_mad_class_rmpp() and ib_get_mad_data_offset().
TEST(RmppTransfers, classes_with_segments) {
    EXPECT_EQ(wire::mad::rmpp_data_octet(0x03), 56);
    for (const std::uint8_t management_class : std::to_array<std::uint8_t>({0x06, 0x10, 0x12}))
        EXPECT_EQ(wire::mad::rmpp_data_octet(management_class), 64);
    EXPECT_EQ(wire::mad::rmpp_data_octet(0x30), 40);
    EXPECT_EQ(wire::mad::rmpp_data_octet(0x4f), 40);
    for (const std::uint8_t management_class :
         std::to_array<std::uint8_t>({0x01, 0x04, 0x07, 0x0f, 0x11, 0x21, 0x50, 0x81}))
        EXPECT_EQ(wire::mad::rmpp_data_octet(management_class), 0);
}

TEST(RmppTransfers, segments_of_vendors_and_datagrams_without_segments) {
    // A vendor's class with an OUI has four bytes of header, and 216 of data.
    RmppTransfers transfers;
    Datagram vendor(1, 8);
    vendor.put(1, 0x32);
    vendor.rmpp(Type::data, flag_first, 1, 2 * 220);
    EXPECT_EQ(note(transfers, vendor)->count, 2u);
    vendor.rmpp(Type::data, flag_last, 2, 4 + 10);
    EXPECT_EQ(note(transfers, vendor)->octets, 216u + 10);
    Datagram counters(1, 8);
    counters.put(1, 0x04);
    counters.rmpp(Type::data, flag_first | flag_last, 1, 220);
    EXPECT_EQ(note(transfers, counters), nullptr);
    Datagram inactive(1, 8);
    inactive.put(25, 1);
    EXPECT_EQ(note(transfers, inactive), nullptr);
}

}  // namespace
