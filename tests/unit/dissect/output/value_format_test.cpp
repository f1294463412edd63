// Values as tshark 4.0.17 prints them; IPv6 against inet_ntop(3).
#include "dissect/output/value_format.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string>
#include <string_view>

#include "base/text_format.h"

namespace {

using namespace std::string_view_literals;
using base::OctetStyle;
using wire::Base;
using wire::FieldInfo;
using wire::Kind;

base::Bytes octets(std::string_view text) { return std::as_bytes(std::span{text}); }

std::string value(const FieldInfo& info, const wire::Value& found, OctetStyle style = OctetStyle::plain) {
    std::string out;
    dissect::output::append_value(out, info, found, style);
    return out;
}
std::string line(const FieldInfo& info, std::uint64_t number) {
    std::string out;
    dissect::output::append_tree_line(out, info, {number, {}, {}});
    return out;
}
std::string ipv6(const std::array<unsigned char, 16>& address) {
    std::string out;
    base::append_ipv6(out, std::as_bytes(std::span{address}));
    return out;
}
std::string reference(const std::array<unsigned char, 16>& address) {
    char text[INET6_ADDRSTRLEN];
    return inet_ntop(AF_INET6, address.data(), text, sizeof text);
}

TEST(ValueFormat, HexIsPaddedToTheWidthOfTheKind) {
    // infiniband.bth.destqp, ip.id, iwarp_rdma.opcode, infiniband.deth.q_key of rxe-rping and siw-rping.
    EXPECT_EQ(value({"", "", 0, 24, Kind::uint24, Base::hex}, {0x11, {}, {}}), "0x000011");
    EXPECT_EQ(value({"", "", 0, 16, Kind::uint16, Base::hex}, {0xe3e, {}, {}}), "0x0e3e");
    EXPECT_EQ(value({"", "", 4, 4, Kind::uint8, Base::hex}, {3, {}, {}}), "0x03");
    EXPECT_EQ(value({"", "", 0, 32, Kind::uint64, Base::hex}, {0x80010000, {}, {}}), "0x0000000080010000");
    EXPECT_EQ(value({"", "", 0, 0, Kind::uint64, Base::hex}, {~std::uint64_t{0}, {}, {}}), "0xffffffffffffffff");
}

TEST(ValueFormat, OtherKinds) {
    EXPECT_EQ(value({"", "", 0, 24, Kind::uint24}, {6580053, {}, {}}), "6580053");
    EXPECT_EQ(value({"", "", 0, 64, Kind::uint64}, {~std::uint64_t{0}, {}, {}}), "18446744073709551615");
    EXPECT_EQ(value({"", "", 0, 1, Kind::boolean}, {1, {}, {}}), "1");
    EXPECT_EQ(value({"", "", 0, 1, Kind::boolean}, {0, {}, {}}), "0");
    EXPECT_EQ(value({"", "", 0, 0, Kind::none}, {}), "1");
    EXPECT_EQ(value({"", "", 0, 32, Kind::ipv4}, {0, octets("\xc0\x00\x02\x01"sv.substr(0, 4)), {}}), "192.0.2.1");
    EXPECT_EQ(value({"", "", 0, 48, Kind::ether}, {0, octets("\x52\x54\x00\x00\x00\x02"sv), {}}), "52:54:00:00:00:02");
    EXPECT_EQ(value({"", "", 0, 0, Kind::bytes}, {0, octets("\x1f\x00\x00\x06"sv), {}}), "1f000006");
    EXPECT_EQ(value({"", "", 0, 0, Kind::bytes}, {0, octets("\x1f\x00\x00\x06"sv), {}}, OctetStyle::colons),
              "1f:00:00:06");
    EXPECT_EQ(value({"", "", 0, 0, Kind::string}, {0, {}, "eth:ip"}), "eth:ip");
}

TEST(ValueFormat, TimesAreSignedSeconds) {
    const auto time = [](std::int64_t nanoseconds) {
        return value({"", "", 0, 0, Kind::time}, {static_cast<std::uint64_t>(nanoseconds), {}, {}});
    };
    EXPECT_EQ(time(1795225249'473152000), "1795225249.473152000");  // frame.time_epoch of rxe-rping's first frame
    EXPECT_EQ(time(1278000), "0.001278000");
    EXPECT_EQ(time(-1500), "-0.000001500");
    EXPECT_EQ(time(std::numeric_limits<std::int64_t>::min()), "-9223372036.854775808");
}

TEST(ValueFormat, Ipv6IsWrittenAsInetNtopWritesIt) {
    std::mt19937 random{6};
    for (int round = 0; round < 200'000; ++round) {
        std::array<unsigned char, 16> address{};
        // Mostly zeros, so that runs of every place and length come up; sometimes the mapped prefix.
        for (auto& octet : address)
            if (random() % 4 == 0) octet = static_cast<unsigned char>(random() % 3 == 0 ? 0xff : random());
        if (round % 7 == 0) {
            std::fill_n(address.begin(), 10, static_cast<unsigned char>(0));
            address[10] = address[11] = 0xff;
        }
        ASSERT_EQ(ipv6(address), reference(address));
    }
    EXPECT_EQ(ipv6({}), "::");
    std::array<unsigned char, 16> loopback{};
    loopback[15] = 1;
    EXPECT_EQ(ipv6(loopback), "::1");
}

TEST(ValueFormat, TreeLinesShowBitsAndNames) {
    // As tshark -V prints rxe-rping's frames 1 and 20, and siw-rping's Read Request.
    EXPECT_EQ(line({"", "MigReq", 1, 1, Kind::boolean}, 0), ".0.. .... = MigReq: False");
    EXPECT_EQ(line({"", "Pad Count", 2, 2, Kind::uint8}, 0), "..00 .... = Pad Count: 0");
    EXPECT_EQ(line({"", "Acknowledge Request", 64, 1, Kind::boolean}, 1), "1... .... = Acknowledge Request: True");
    EXPECT_EQ(line({"", "Remote CM Response Timeout", 0, 5, Kind::uint8, Base::hex}, 0x14),
              "1010 0... = Remote CM Response Timeout: 0x14");
    EXPECT_EQ(line({"", "Fragment Offset", 51, 13, Kind::uint16}, 0), "...0 0000 0000 0000 = Fragment Offset: 0");
    EXPECT_EQ(line({"", "Destination Queue Pair", 40, 24, Kind::uint24, Base::hex}, 0x11),
              "Destination Queue Pair: 0x000011");
    EXPECT_EQ(line({"", "Packet Sequence Number", 72, 24, Kind::uint24}, 6580053), "Packet Sequence Number: 6580053");
    constexpr wire::ValueName opcodes[] = {{1, "Read Request"}};
    EXPECT_EQ(line({"", "OpCode", 4, 4, Kind::uint8, Base::hex, false, opcodes}, 1),
              ".... 0001 = OpCode: Read Request (0x1)");
    EXPECT_EQ(line({"", "OpCode", 4, 4, Kind::uint8, Base::hex, false, opcodes}, 9),
              ".... 1001 = OpCode: Unknown (0x9)");
}

TEST(ValueFormat, LongOctetStringsAreCutInTheTree) {
    const std::string zeros(40, '\0');
    std::string out;
    dissect::output::append_tree_line(out, {"", "Data", 0, 0, Kind::bytes}, {0, octets(zeros), {}});
    EXPECT_EQ(out, "Data: " + std::string(72, '0') + "\u2026");
}

TEST(ValueFormat, TextFromThePacketCannotSteerATerminal) {
    std::string out;
    base::append_printable(out, "a\x1b[31m\n\t\x7f\xff\xc2\x9bgr\xc3\xbc\xc3\x9f");
    EXPECT_EQ(out, "a\\x1b[31m\\n\\t\\x7f\\xff\\xc2\\x9bgr\xc3\xbc\xc3\x9f");
}

}  // namespace
