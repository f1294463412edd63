#include <gtest/gtest.h>
#include <vector>

#include "dissect/tcp/fpdu_head.h"

/// The head that is kept of an FPDU in step. Octets by hand, from RFC 5044, 4.1; RFC 5041, 4.2 and 4.3; RFC 5040, 4.1.
namespace {

using dissect::tcp::FpduHead;
using dissect::tcp::KeptHead;

std::vector<std::byte> octets(std::initializer_list<unsigned> values) {
    std::vector<std::byte> out;
    for (const unsigned value : values) out.push_back(static_cast<std::byte>(value));
    return out;
}

// A Write of four octets, the last of its message, and its CRC.
const auto write = octets({0, 18, 0xc1, 0x40, 0x12, 0x34, 0x56, 0x78, 0,    0,    0x7f, 0,
                           1, 2,  3,    4,    0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xee, 0xee, 0xee});
// A Send of four octets at offset 1408 of message 9, not the last.
const auto send = octets({0, 22, 0x01, 0x43, 0, 0,    0,    0,    0,    0,    0,    0,    0,    0,
                          0, 9,  0,    0,    5, 0x80, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xee, 0xee, 0xee});

TEST(KeptHead, is_read_as_tagged) {
    KeptHead kept;
    kept.keep(write);
    const FpduHead head = kept.read();
    EXPECT_EQ(head.ulpdu_length, 18u);
    EXPECT_TRUE(head.tagged);
    EXPECT_TRUE(head.last);
    EXPECT_TRUE(head.whole);
    EXPECT_EQ(head.opcode, 0u);
    EXPECT_EQ(head.stag, 0x12345678u);
    EXPECT_EQ(head.offset, 0x7f0001020304u);
    EXPECT_EQ(head.payload_length(), 4u);
}

TEST(KeptHead, is_read_as_untagged) {
    KeptHead kept;
    kept.keep(write);
    kept.keep(send);
    const FpduHead head = kept.read();
    EXPECT_EQ(head.ulpdu_length, 22u);
    EXPECT_FALSE(head.tagged);
    EXPECT_FALSE(head.last);
    EXPECT_EQ(head.opcode, 3u);
    EXPECT_EQ(head.queue, 0u);
    EXPECT_EQ(head.msn, 9u);
    EXPECT_EQ(head.offset, 1408u);
    EXPECT_EQ(head.payload_length(), 4u);
}

/// What a snap length left of one says nothing of the one before.
TEST(KeptHead, of_a_short_one_the_rest_is_zero) {
    KeptHead kept;
    kept.keep(send);
    kept.keep(base::Bytes(write).first(10));
    const FpduHead head = kept.read();
    EXPECT_TRUE(head.tagged);
    EXPECT_EQ(head.stag, 0x12345678u);
    EXPECT_EQ(head.offset, 0u);
}

TEST(KeptHead, agrees_with_the_strict_reading) {
    for (const auto& fpdu : {write, send}) {
        KeptHead kept;
        kept.keep(fpdu);
        FpduHead strict;
        ASSERT_NE(dissect::tcp::read_head(fpdu.data(), static_cast<std::uint32_t>(fpdu.size()), strict), 0u);
        const FpduHead head = kept.read();
        EXPECT_EQ(head.ulpdu_length, strict.ulpdu_length);
        EXPECT_EQ(head.tagged, strict.tagged);
        EXPECT_EQ(head.last, strict.last);
        EXPECT_EQ(head.whole, strict.whole);
        EXPECT_EQ(head.opcode, strict.opcode);
        EXPECT_EQ(head.stag, strict.stag);
        EXPECT_EQ(head.queue, strict.queue);
        EXPECT_EQ(head.msn, strict.msn);
        EXPECT_EQ(head.offset, strict.offset);
    }
}

}  // namespace
