// Native ERF files: what tshark 4.0.17 reads of the same bytes.
#include <gmock/gmock.h>

#include "support.h"

namespace capture::test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t start_seconds = 1'700'000'000;

/// One record; `fraction` counts 2^-32 s, `padding` zeros follow the packet.
std::string erf_record(unsigned type, unsigned flags, std::uint32_t fraction, std::string_view front,
                       std::string_view packet, unsigned wire_length, unsigned padding = 0) {
    Maker stamp(false);
    stamp.u32(fraction).u32(start_seconds);
    Maker head(true);
    const auto length = static_cast<unsigned>(16 + front.size() + packet.size() + padding);
    head.text(stamp.str()).u8(type).u8(flags).u16(length).u16(0).u16(wire_length).text(front).text(packet);
    return head.str() + std::string(padding, '\0');
}

const std::string arp = std::string(12, '\2') + "\x08\x06" + std::string(46, 'a');

/// Metadata, padding, a frame with an extension header and padding from port B, one that was cut from port A.
std::string sample_file() {
    const std::string extension("\x03\x01\x02\x03\x04\x05\x06\x07", 8);
    const std::string pad(2, '\0');
    return erf_record(27, 4, 0, {}, std::string(16, 'm'), 0) + erf_record(48, 4, 0, {}, std::string(16, '\0'), 0) +
           erf_record(0x80 | 2, 5, 0x80000000, extension + pad, arp, 64, 10) +
           erf_record(2, 4, 0x80000003, pad, arp, 62);
}

TEST(ErfSource, RecordsAreFrames) {
    const Contents got = read_text(sample_file());
    ASSERT_EQ(got.status, ReadStatus::end) << got.error;
    ASSERT_EQ(got.frames.size(), 3U);
    const auto& tagged = got.frames[1];
    EXPECT_EQ(tagged.time_ns, 1'700'000'000'500'000'000);
    EXPECT_EQ(tagged.wire_length, 16U + 8 + 2 + 64);
    EXPECT_EQ(tagged.bytes.size(), 16U + 8 + 2 + 64) << "of the padding, what the wire length covers";
    EXPECT_EQ(tagged.number, 2U);
    EXPECT_EQ(tagged.interface, 1U);
    const auto& cut = got.frames[2];
    EXPECT_EQ(cut.time_ns, 1'700'000'000'500'000'001);
    EXPECT_EQ(cut.wire_length, 16U + 2 + 62);
    EXPECT_EQ(cut.bytes.size(), 16U + 2 + 60);
    EXPECT_EQ(cut.interface, 0U);
    ASSERT_EQ(got.interfaces.size(), 2U);
    EXPECT_EQ(got.interfaces[1].name, "Port B");
    EXPECT_EQ(got.interfaces[1].link_type, wire::LinkType::erf);
}

TEST(ErfSource, OneRecordIsAFile) {
    EXPECT_EQ(read_text(erf_record(2, 4, 0, std::string(2, '\0'), arp, 60)).frames.size(), 1U);
}

TEST(ErfSource, AFileThatIsCutShortIsReadAsFarAsItGoes) {
    const std::string all = sample_file();
    const Contents got = read_text(all.substr(0, all.size() - 5));
    EXPECT_EQ(got.frames.size(), 2U);
    EXPECT_EQ(got.status, ReadStatus::error);
    EXPECT_THAT(got.error, HasSubstr("cut short"));
}

TEST(ErfSource, DamageIsReported) {
    std::string all = sample_file();
    for (unsigned i = 0; i < 4; ++i) all += erf_record(2, 4, 0x90000000, std::string(2, '\0'), arp, 60);
    const std::size_t last = all.size() - (16 + 2 + 60);
    all[last + 10] = 0;
    all[last + 11] = 15;
    const Contents got = read_text(all);
    EXPECT_EQ(got.frames.size(), 6U);
    EXPECT_THAT(got.error, HasSubstr("a record of 15 bytes"));
}

TEST(ErfSource, WhatIsNoErfIsRefused) {
    const std::string pad(2, '\0');
    const std::string one = erf_record(2, 4, 0, pad, arp, 60);
    const auto refused = [](const std::string& text) { return read_text(text).error; };
    EXPECT_THAT(refused(one.substr(0, one.size() - 1)), HasSubstr("is not a")) << "its only record is cut";
    EXPECT_THAT(refused(one + one.substr(0, 8) + '\x7e' + one.substr(9)), HasSubstr("is not a")) << "type 126";
    EXPECT_THAT(refused(std::string(64, '\0')), HasSubstr("nothing but zeros"));
    std::string back = one + one;
    back[one.size() + 5] = static_cast<char>(back[one.size() + 5] - 1);  // 256 seconds before the first
    EXPECT_THAT(refused(back), HasSubstr("is not a"));
    std::string flags = one;
    flags[9] = '\x44';
    EXPECT_THAT(refused(flags), HasSubstr("is not a"));
}

}  // namespace
}  // namespace capture::test
