// Expected lines are tcpdump 4.99.3's.
#include "dissect/output/hex.h"

#include <array>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace {

using namespace std::string_view_literals;
using dissect::output::OctetDump;

std::string dump(std::string_view octets, OctetDump form) {
    std::string out;
    dissect::output::append_dump(out, std::as_bytes(std::span{octets}), form);
    return out;
}

// The end of rxe-rping's first frame, link layer left out: the last line and the one before.
constexpr auto tail = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x7f\xa1\xd2\x0d"sv;

TEST(Hex, Hex) {
    EXPECT_EQ(dump(tail, OctetDump::hex),
              "\t0x0000:  0000 0000 0000 0000 0000 0000 0000 0000\n"
              "\t0x0010:  7fa1 d20d\n");
}
TEST(Hex, HexWithAscii) {
    EXPECT_EQ(dump(tail, OctetDump::hex_ascii),
              "\t0x0000:  0000 0000 0000 0000 0000 0000 0000 0000  ................\n"
              "\t0x0010:  7fa1 d20d                                ....\n");
    EXPECT_EQ(dump("\xd2\x0d"sv, OctetDump::hex_ascii), "\t0x0000:  d20d                                     ..\n");
}
TEST(Hex, OddNumberOfOctets) {
    EXPECT_EQ(dump("abc", OctetDump::hex), "\t0x0000:  6162 63\n");
    EXPECT_EQ(dump("abc", OctetDump::hex_ascii), "\t0x0000:  6162 63                                  abc\n");
}
TEST(Hex, OffsetsGrowBeyondFourDigits) {
    const std::string many(65536 + 1, 'x');
    EXPECT_NE(dump(many, OctetDump::hex).find("\n\t0x10000:  78\n"), std::string::npos);
}
TEST(Hex, Ascii) {
    EXPECT_EQ(dump("GET / HTTP\r\nHost: x\r\n\r\n", OctetDump::ascii), "GET / HTTP\nHost: x\n\n\n");
    EXPECT_EQ(dump("a\rb\tc\x7f\x80 ~", OctetDump::ascii), "a.b\tc.. ~\n");
    EXPECT_EQ(dump("abc\r", OctetDump::ascii), "abc\n");
    EXPECT_EQ(dump("abc\rd", OctetDump::ascii), "abcd\n");
    EXPECT_EQ(dump("abc\rde", OctetDump::ascii), "abc.de\n");
}
TEST(Hex, NothingToShow) {
    EXPECT_EQ(dump("", OctetDump::hex), "");
    EXPECT_EQ(dump("abc", OctetDump::none), "");
}

}  // namespace
