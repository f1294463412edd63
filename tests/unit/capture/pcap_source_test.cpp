#include <gmock/gmock.h>

#include "support.h"

namespace capture::test {
namespace {

using testing::HasSubstr;

class PcapByteOrder : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Both, PcapByteOrder, testing::Bool(),
                         [](const auto& which) { return which.param ? "big" : "little"; });

TEST_P(PcapByteOrder, microseconds) {
    Maker file(GetParam());
    file.pcap_header(0xa1b2c3d4, 228).record(1'700'000'000, 999'999, "hello", 60).record(1, 2, "", 0);
    const Contents got = read_text(file.str());
    ASSERT_EQ(got.status, ReadStatus::end) << got.error;
    ASSERT_EQ(got.frames.size(), 2U);
    EXPECT_EQ(got.frames[0], (Kept{"hello", 60, 228, wire::Direction::unknown, 0, 1'700'000'000'999'999'000, 1, ""}));
    EXPECT_EQ(got.frames[1], (Kept{"", 0, 228, wire::Direction::unknown, 0, 1'000'002'000, 2, ""}));
    EXPECT_EQ(got.interfaces.at(0).snaplen, 65535U);
    EXPECT_EQ(got.interfaces.at(0).ticks_per_sec, 1'000'000U);
}

TEST_P(PcapByteOrder, nanoseconds_beyond_2038) {
    Maker file(GetParam());
    file.pcap_header(0xa1b23c4d).record(4'294'967'295, 999'999'999, "x", 1);
    const Contents got = read_text(file.str());
    ASSERT_EQ(got.frames.size(), 1U);
    EXPECT_EQ(got.frames[0].time_ns, 4'294'967'295'999'999'999);
    EXPECT_EQ(got.interfaces.at(0).ticks_per_sec, 1'000'000'000U);
}

TEST_P(PcapByteOrder, longer_records_of_kuznetzov_tell_the_direction) {
    Maker file(GetParam());
    file.pcap_header(0xa1b2cd34);
    for (const unsigned type : {0U, 4U}) file.u32(1).u32(2).u32(3).u32(3).u32(7).u16(0x800).u8(type).u8(0).text("abc");
    const Contents got = read_text(file.str());
    ASSERT_EQ(got.frames.size(), 2U) << got.error;
    EXPECT_EQ(got.frames[0].bytes, "abc");
    EXPECT_EQ(got.frames[0].direction, wire::Direction::inbound);
    EXPECT_EQ(got.frames[1].direction, wire::Direction::outbound);
}

TEST_P(PcapByteOrder, frame_check_sequence_is_no_part_of_the_link_type) {
    Maker file(GetParam());
    file.pcap_header(0xa1b2c3d4, 0x4400'0001);
    const Contents got = read_text(file.str());
    EXPECT_EQ(got.interfaces.at(0).link_type, wire::LinkType::ethernet);
    EXPECT_EQ(got.interfaces.at(0).fcs_octets, 4);
}

// DLT_RAW, which some writers put into files, is 12 or 14; tshark 4.0.17 reads both as LINKTYPE_RAW, 101.
TEST_P(PcapByteOrder, numbers_of_DLT_RAW_are_taken_for_its_link_type) {
    for (const unsigned number : {12u, 14u, 101u}) {
        Maker file(GetParam());
        file.pcap_header(0xa1b2c3d4, number).record(1, 2, "abc", 3);
        const Contents got = read_text(file.str());
        EXPECT_EQ(got.interfaces.at(0).link_type, wire::LinkType::raw) << number;
        EXPECT_EQ(got.frames.at(0).link_type, 101U) << number;
        EXPECT_TRUE(got.interfaces.at(0).name.empty());
    }
}

TEST_P(PcapByteOrder, versions_before_2_3_have_the_lengths_in_the_other_order) {
    Maker file(GetParam());
    file.pcap_header(0xa1b2c3d4, 1, 2).u32(1).u32(2).u32(60).u32(3).text("abc");
    const Contents got = read_text(file.str());
    ASSERT_EQ(got.frames.size(), 1U) << got.error;
    EXPECT_EQ(got.frames[0].bytes, "abc");
    EXPECT_EQ(got.frames[0].wire_length, 60U);
}

TEST(PcapSource, wire_length_is_never_below_what_was_captured) {
    Maker file;
    file.pcap_header().record(1, 2, "abcdef", 3);
    EXPECT_EQ(read_text(file.str()).frames.at(0).wire_length, 6U);
}

TEST(PcapSource, impossible_length_is_told_with_its_place) {
    Maker file;
    file.pcap_header().record(1, 2, "abc", 3).u32(1).u32(2).u32(0x7fff'ffff).u32(3).text("whatever");
    for (const std::size_t batch : std::initializer_list<std::size_t>{0, 8}) {
        const Contents got = read_text(file.str(), {}, batch);
        EXPECT_EQ(got.status, ReadStatus::error);
        EXPECT_EQ(got.frames.size(), 1U);
        EXPECT_EQ(got.offset, 24U + 19);
        EXPECT_THAT(got.error, HasSubstr("2147483647"));
        EXPECT_THAT(got.error, HasSubstr("after 1 frame"));
    }
}

/// tshark 4.0.17 reads such a file, which some writers make: the version alone is in the other byte order.
TEST_P(PcapByteOrder, version_in_the_other_byte_order) {
    Maker file(GetParam());
    file.u32(0xa1b2c3d4).u16(0x0200).u16(0x0400).u32(0).u32(0).u32(65535).u32(1).record(1, 2, "abc", 60);
    const Contents got = read_text(file.str());
    ASSERT_EQ(got.frames.size(), 1U) << got.error;
    EXPECT_EQ(got.frames[0].bytes, "abc");
    EXPECT_EQ(got.frames[0].wire_length, 60U);
}

TEST(PcapSource, unknown_version_is_refused) {
    Maker file;
    file.u32(0xa1b2c3d4).u16(9).u16(4).u32(0).u32(0).u32(0).u32(1);
    EXPECT_THAT(read_text(file.str()).error, HasSubstr("version 9.4"));
}

TEST(PcapSource, cut_anywhere_delivers_what_is_whole) {
    Maker file;
    file.pcap_header();
    std::vector<std::size_t> ends{file.str().size()};
    for (const std::size_t octets : std::initializer_list<std::size_t>{0, 1, 5, 60}) {
        file.record(1, 2, std::string(octets, 'x'), octets);
        ends.push_back(file.str().size());
    }
    for (const Access access : {Access::mapped, Access::read}) {
        for (std::size_t cut = 0; cut <= file.str().size(); ++cut) {
            const Contents got = read_text(std::string_view(file.str()).substr(0, cut), {.access = access});
            if (cut < 24) {
                EXPECT_FALSE(got.opened);
                EXPECT_THAT(got.error, cut == 0  ? HasSubstr("empty")
                                       : cut < 4 ? HasSubstr("is not a pcap")
                                                 : HasSubstr("cut short"));
                continue;
            }
            const auto whole = std::count_if(ends.begin(), ends.end(), [&](std::size_t end) { return end <= cut; }) - 1;
            EXPECT_EQ(got.frames.size(), static_cast<std::size_t>(whole)) << cut;
            const bool at_boundary = std::count(ends.begin(), ends.end(), cut) > 0;
            EXPECT_EQ(got.status, at_boundary ? ReadStatus::end : ReadStatus::error) << cut;
            if (!at_boundary) {
                EXPECT_THAT(got.error, HasSubstr("still being written"));
                EXPECT_EQ(got.offset, ends[static_cast<std::size_t>(whole)]);
            }
        }
    }
}

}  // namespace
}  // namespace capture::test
