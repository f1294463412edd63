#include <gmock/gmock.h>
#include <limits>

#include "capture/files/tick_clock.h"
#include "support.h"

namespace capture::test {
namespace {

using testing::HasSubstr;
using namespace std::string_view_literals;

class PcapngByteOrder : public testing::TestWithParam<bool> {
protected:
    Maker file_{GetParam()};
    Maker part() const { return file_.part(); }
    std::string tsresol(unsigned value) const {
        return part().option(9, std::string(1, static_cast<char>(value))).str();
    }
};
INSTANTIATE_TEST_SUITE_P(Both, PcapngByteOrder, testing::Bool(),
                         [](const auto& which) { return which.param ? "big" : "little"; });

TEST_P(PcapngByteOrder, everything_that_describes_is_kept) {
    file_.section(
        part().option(1, "one").option(1, "two").option(2, "iron").option(3, "Linux").option(4, "cap").u32(0).str());
    file_.interface(1, 96,
                    part()
                        .option(2, "eth0")
                        .option(3, "the card")
                        .option(1, "remark")
                        .option(8, part().u64(100'000'000'000).str())
                        .option(9, "\x09")
                        .option(11, std::string(1, '\0') + "udp port 4791")
                        .option(12, "Linux 6")
                        .option(13, "\x04")
                        .option(15, "mlx5")
                        .str());
    const Contents got = read_text(file_.str());
    ASSERT_EQ(got.status, ReadStatus::end) << got.error;
    EXPECT_EQ(got.sections, (std::vector<SectionInfo>{{"one\ntwo", "iron", "Linux", "cap"}}));
    const InterfaceInfo expected{.name = "eth0",
                                 .description = "the card",
                                 .filter = "udp port 4791",
                                 .os = "Linux 6",
                                 .hardware = "mlx5",
                                 .comment = "remark",
                                 .link_type = wire::LinkType::ethernet,
                                 .snaplen = 96,
                                 .ticks_per_sec = 1'000'000'000,
                                 .speed_bits_per_sec = 100'000'000'000,
                                 .fcs_octets = 4};
    EXPECT_EQ(got.interfaces, std::vector<InterfaceInfo>{expected});
}

TEST_P(PcapngByteOrder, frames_of_all_three_packet_blocks) {
    file_.section().interface(1).interface(276, 4);
    file_.enhanced(1, 1'700'000'000'123'456, "hello", 60,
                   part().option(1, "why").option(2, part().u32(2).str()).u32(0).str());
    file_.block(
        2, part().u16(0).u16(3).u32(0).u32(5).u32(3).u32(9).text("abc").pad().option(2, part().u32(1).str()).str());
    file_.block(3, part().u32(7).text("simple!").str());
    const Contents got = read_text(file_.str());
    ASSERT_EQ(got.status, ReadStatus::end) << got.error;
    ASSERT_EQ(got.frames.size(), 3U);
    EXPECT_EQ(got.frames[0],
              (Kept{"hello", 60, 276, wire::Direction::outbound, 1, 1'700'000'000'123'456'000, 1, "why"}));
    EXPECT_EQ(got.frames[1], (Kept{"abc", 9, 1, wire::Direction::inbound, 0, 5'000, 2, ""}));
    // A Simple Packet Block has no time: that of the frame before it keeps order and distances.
    EXPECT_EQ(got.frames[2], (Kept{"simple!", 7, 1, wire::Direction::unknown, 0, 5'000, 3, ""}));
}

TEST_P(PcapngByteOrder, simple_packets_end_at_the_snaplen) {
    file_.section().interface(1, 4).block(3, part().u32(7).text("simp").str());
    const Contents got = read_text(file_.str());
    ASSERT_EQ(got.frames.size(), 1U) << got.error;
    EXPECT_EQ(got.frames[0].bytes, "simp");
    EXPECT_EQ(got.frames[0].wire_length, 7U);
}

TEST_P(PcapngByteOrder, resolutions_and_offsets) {
    struct Case {
        unsigned resolution;
        std::uint64_t ticks;
        std::int64_t offset_sec;
        std::int64_t time_ns;
    };
    const Case cases[] = {
        {0, 5, 0, 5'000'000'000},
        {3, 5, 0, 5'000'000},
        {6, 5, 10, 10'000'005'000},
        {9, 5, -1, -999'999'995},
        {12, 5'999, 0, 5},
        {0x80, 5, 0, 5'000'000'000},
        {0x80 | 1, 3, 1, 2'500'000'000},
        {0x80 | 32, 1ULL << 31, 0, 500'000'000},
        {0x80 | 63, 1ULL << 62, 0, 500'000'000},
    };
    for (const Case& each : cases) {
        Maker file(GetParam());
        file.section()
            .interface(1, 0,
                       tsresol(each.resolution) +
                           part().option(14, part().u64(static_cast<std::uint64_t>(each.offset_sec)).str()).str())
            .enhanced(0, each.ticks, "x", 1);
        const Contents got = read_text(file.str());
        ASSERT_EQ(got.frames.size(), 1U) << got.error;
        EXPECT_EQ(got.frames[0].time_ns, each.time_ns) << each.resolution;
    }
    for (const unsigned resolution : {20U, 127U, 0x80U | 64, 0xffU}) {
        Maker file(GetParam());
        file.section().interface(1, 0, tsresol(resolution)).enhanced(0, 1, "x", 1);
        EXPECT_THAT(read_text(file.str()).error, HasSubstr("if_tsresol")) << resolution;
    }
}

TEST_P(PcapngByteOrder, sections_have_their_own_order_and_interfaces) {
    file_.section().interface(1, 0, part().option(2, "a").str()).enhanced(0, 1, "first", 5);
    Maker other(!GetParam());
    other.section().interface(101, 0, other.part().option(2, "b").str()).enhanced(0, 2, "second", 6);
    other.enhanced(1, 3, "unknown", 7);
    const Contents got = read_text(file_.str() + other.str());
    ASSERT_EQ(got.frames.size(), 2U);
    EXPECT_EQ(got.frames[1], (Kept{"second", 6, 101, wire::Direction::unknown, 1, 2'000, 2, ""}));
    ASSERT_EQ(got.interfaces.size(), 2U);
    EXPECT_EQ(got.interfaces[1].name, "b");
    EXPECT_EQ(got.interfaces[0].section, 0U);
    EXPECT_EQ(got.interfaces[1].section, 1U);
    EXPECT_EQ(got.sections.size(), 2U);
    EXPECT_EQ(got.status, ReadStatus::error);
    EXPECT_THAT(got.error, HasSubstr("is of interface 1, but its section has described 1"));
}

// pcapng, 4.2: interfaces are numbered from 0 in each section, named or not.
TEST_P(PcapngByteOrder, interfaces_have_the_number_of_their_section) {
    file_.section().interface(1).interface(1, 0, part().option(2, "eth1").str()).enhanced(0, 1, "a", 1);
    file_.section().interface(1).enhanced(0, 2, "b", 1);
    Directory directory;
    save(directory / "file", file_.str());
    const auto source = open_file(directory / "file");
    ASSERT_TRUE(source);
    for (wire::Frame frame; (*source)->next(frame) == ReadStatus::frame;) {
        EXPECT_EQ((*source)->id_of(frame.interface), 0U) << frame.number;
    }
    ASSERT_EQ((*source)->interfaces().size(), 3U);
    EXPECT_EQ((*source)->id_of(1), 1U);
}

// DLT_RAW, which some writers put into files, is 12 or 14; tshark 4.0.17 reads both as LINKTYPE_RAW, 101.
TEST_P(PcapngByteOrder, numbers_of_DLT_RAW_are_taken_for_its_link_type) {
    file_.section().interface(12).interface(14).interface(13).enhanced(1, 1, "a", 1);
    const Contents got = read_text(file_.str());
    ASSERT_EQ(got.interfaces.size(), 3U) << got.error;
    EXPECT_EQ(got.interfaces[0].link_type, wire::LinkType::raw);
    EXPECT_EQ(got.interfaces[1].link_type, wire::LinkType::raw);
    EXPECT_EQ(got.interfaces[2].link_type, wire::LinkType{13});
    EXPECT_EQ(got.frames.at(0).link_type, 101U);
}

TEST_P(PcapngByteOrder, unknown_blocks_of_any_length_are_skipped) {
    file_.section().interface(1).block(4, "names").block(0x0bad, std::string(40 << 20, 'x')).block(10, "secrets!");
    file_.block(0x4000'0bad, "custom").enhanced(0, 1, "kept", 4).block(0x7777, "");
    for (const Access access : {Access::mapped, Access::read}) {
        const Contents got = read_text(file_.str(), {.access = access});
        EXPECT_EQ(got.status, ReadStatus::end) << got.error;
        ASSERT_EQ(got.frames.size(), 1U);
        EXPECT_EQ(got.frames[0].bytes, "kept");
    }
}

TEST_P(PcapngByteOrder, several_comments_stay_apart_even_in_a_batch) {
    file_.section().interface(1);
    for (const char* mark : {"1", "2", "3"})
        file_.enhanced(0, 1, mark, 1,
                       part().option(1, std::string("a") + mark).option(1, std::string("b") + mark).str());
    file_.enhanced(0, 1, "4", 1, part().option(1, "single").str());
    for (const std::size_t batch : std::initializer_list<std::size_t>{0, 2, 16}) {
        const Contents got = read_text(file_.str(), {}, batch);
        ASSERT_EQ(got.frames.size(), 4U);
        EXPECT_EQ(got.frames[0].comment, "a1\0b1\0"sv);
        EXPECT_EQ(got.frames[2].comment, "a3\0b3\0"sv);
        EXPECT_EQ(got.frames[3].comment, "single");
    }
}

TEST_P(PcapngByteOrder, counts_come_from_the_statistics_block_else_from_the_packets) {
    const Directory directory;
    const std::string path = directory / "capture";
    file_.section().interface(1).interface(1).interface(1);
    file_.enhanced(0, 1, "x", 1, part().option(4, part().u64(3).str()).str());
    file_.enhanced(0, 2, "x", 1, part().option(4, part().u64(4).str()).str());
    file_.enhanced(1, 2, "x", 1, part().option(4, part().u64(4).str()).str());
    file_.block(5, part()
                       .u32(1)
                       .u32(0)
                       .u32(9)
                       .option(4, part().u64(100).str())
                       .option(5, part().u64(5).str())
                       .option(7, part().u64(6).str())
                       .u32(0)
                       .str());
    save(path, file_.str());
    auto source = open_file(path);
    ASSERT_TRUE(source.ok());
    EXPECT_EQ((*source)->interfaces().size(), 3U) << "known before the first frame is asked for";
    wire::Frame frame;
    while ((*source)->next(frame) == ReadStatus::frame) {
    }
    const Source& base = **source;
    EXPECT_EQ(base.statistics(0), (Statistics{.kernel_dropped = 7}));
    EXPECT_EQ(base.statistics(1), (Statistics{.received = 100, .kernel_dropped = 6, .interface_dropped = 5}));
    EXPECT_EQ(base.statistics(2), Statistics{});
    EXPECT_EQ(base.statistics(), (Statistics{.received = 100, .kernel_dropped = 13, .interface_dropped = 5}));
}

TEST_P(PcapngByteOrder, damage_is_told_with_its_place) {
    const std::string front = Maker(GetParam()).section().interface(1).enhanced(0, 1, "good", 4).str();
    const std::string sound = Maker(GetParam()).enhanced(0, 1, "good", 4).str();
    struct Case {
        std::string block;
        const char* message;
    };
    std::string bad_trailer = sound;
    bad_trailer[bad_trailer.size() - (GetParam() ? 1 : 4)] ^= 4;
    const Case cases[] = {
        {bad_trailer, "begins with length 36 and ends with length 32"},
        {part().u32(6).u32(13).text("xxxxxxxx").str(), "claims 13 bytes"},
        {part().u32(6).u32(8).text("xxxxxxxx").str(), "claims 8 bytes"},
        {part().u32(6).u32(0xffff'fffc).text("xxxxxxxx").str(), "claims 4294967292 bytes"},
        {part().block(6, "short").str(), "has 20 bytes and needs 32"},
        {part().block(6, part().u32(0).u64(0).u32(5).u32(5).text("good").str()).str(),
         "claims 5 captured bytes and has room for 4"},
        {part().block(3, part().u32(9).text("good").str()).str(), "claims 9 captured bytes and has room for 4"},
        {part().block(1, "x").str(), "needs 20"},
        {part().block(5, "x").str(), "needs 24"},
        {part().block(5, part().u32(4).u64(0).str()).str(), "is of interface 4"},
        {part().block(1, part().u32(1).u32(0).u16(2).u16(50).text("x").str()).str(), "an option"},
        {part().block(0x0a0d0d0a, part().u32(0x1a2b3c4d).u16(2).u16(0).u64(0).str()).str(), "version 2.0"},
        {part().block(0x0a0d0d0a, part().u32(0x12345678).u16(1).u16(0).u64(0).str()).str(), "byte-order magic"},
        {part().u32(0x77).u32(16).u32(0).u32(20).str(), "begins with length 16 and ends with length 20"},
    };
    for (const Case& each : cases) {
        for (const std::size_t batch : std::initializer_list<std::size_t>{0, 8}) {
            const Contents got = read_text(front + each.block + sound, {}, batch);
            EXPECT_EQ(got.status, ReadStatus::error) << each.message;
            EXPECT_EQ(got.frames.size(), 1U);
            EXPECT_THAT(got.error, HasSubstr(each.message));
            EXPECT_GE(got.offset, front.size());
            EXPECT_LE(got.offset, front.size() + 12);
        }
    }
}

TEST_P(PcapngByteOrder, malformed_options_of_a_packet_lose_only_themselves) {
    file_.section().interface(1).enhanced(0, 1, "data", 4, part().option(1, "kept").u16(1).u16(999).str());
    const Contents got = read_text(file_.str());
    ASSERT_EQ(got.status, ReadStatus::end) << got.error;
    EXPECT_EQ(got.frames.at(0).comment, "kept");
}

TEST_P(PcapngByteOrder, interfaces_are_bounded) {
    std::string many = Maker(GetParam()).section().str();
    const std::string one = Maker(GetParam()).interface(1).str();
    for (int i = 0; i < 70'000; ++i) many += one;
    const Contents got = read_text(many);
    EXPECT_EQ(got.status, ReadStatus::error);
    EXPECT_THAT(got.error, HasSubstr("65536 interfaces"));
}

TEST_P(PcapngByteOrder, cut_anywhere_delivers_what_is_whole) {
    std::vector<std::size_t> ends;
    std::vector<std::size_t> frame_ends;
    const auto mark = [&](bool frame) {
        ends.push_back(file_.str().size());
        if (frame) frame_ends.push_back(file_.str().size());
    };
    file_.section();
    mark(false);
    file_.interface(1, 0, part().option(2, "eth0").str());
    mark(false);
    file_.enhanced(0, 1, "abc", 3, part().option(1, "remark").u32(0).str());
    mark(true);
    file_.block(0x77, "unknown");
    mark(false);
    file_.block(3, part().u32(2).text("xy").str());
    mark(true);
    for (const Access access : {Access::mapped, Access::read}) {
        for (std::size_t cut = 4; cut <= file_.str().size(); ++cut) {
            const Contents got = read_text(std::string_view(file_.str()).substr(0, cut), {.access = access});
            EXPECT_EQ(got.opened, cut >= ends[0]) << cut;
            if (!got.opened) {
                EXPECT_THAT(got.error, HasSubstr("cut short"));
                continue;
            }
            const auto whole =
                std::count_if(frame_ends.begin(), frame_ends.end(), [&](std::size_t end) { return end <= cut; });
            EXPECT_EQ(got.frames.size(), static_cast<std::size_t>(whole)) << cut;
            const bool at_boundary = std::count(ends.begin(), ends.end(), cut) > 0;
            EXPECT_EQ(got.status, at_boundary ? ReadStatus::end : ReadStatus::error) << cut << got.error;
            if (!at_boundary) {
                EXPECT_THAT(got.error, HasSubstr("still being written"));
                EXPECT_EQ(std::count(ends.begin(), ends.end(), got.offset), 1) << "the place is a block's start";
            }
        }
    }
}

TEST(TickClock, saturates_and_never_overflows) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t LEAST = std::numeric_limits<std::int64_t>::min();
    constexpr std::uint64_t ALL = ~std::uint64_t{0};
    for (const std::uint64_t ticks_per_sec : {std::uint64_t{1}, std::uint64_t{1'000}, std::uint64_t{1'000'000},
                                              std::uint64_t{1'000'000'000}, std::uint64_t{1} << 20}) {
        EXPECT_EQ(TickClock(ticks_per_sec, 0).nanoseconds(ALL), most);
        EXPECT_EQ(TickClock(ticks_per_sec, most).nanoseconds(0), most);
        EXPECT_EQ(TickClock(ticks_per_sec, most).nanoseconds(ALL), most);
        EXPECT_EQ(TickClock(ticks_per_sec, LEAST).nanoseconds(0), LEAST);
        EXPECT_EQ(TickClock(ticks_per_sec, 5).nanoseconds(ticks_per_sec * 2), 7'000'000'000);
    }
    EXPECT_EQ(TickClock(10'000'000'000'000'000'000U, 0).nanoseconds(ALL), 1'844'674'407);
    EXPECT_EQ(TickClock(std::uint64_t{1} << 63, 0).nanoseconds(ALL), 1'999'999'999);
}

}  // namespace
}  // namespace capture::test
