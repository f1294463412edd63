#include <gmock/gmock.h>

#include "support.h"

// Terminates, sent and understood. RFC 5040 section 4.8, Figures 7 to 10.

namespace {

using iwarp::rdmap::parse_terminate;
using iwarp::rdmap::terminate_text;
using support::hex;
using support::octets_of;
using support::pattern;
using wire::RdmapOpcode;
namespace fault = iwarp::fault;

class Terminates : public support::Stream {
protected:
    std::string body(const iwarp::Fault& of) const { return hex(inbound->terminate_body(of)); }
};

TEST_F(Terminates, OfTaggedFaultsCarryTheDdpHeader) {
    const auto header = support::header_of(support::Tagged{.stag = 0x11223344, .offset = 0x0102030405060708});
    ASSERT_EQ(raw(header, pattern(100)), "1/1/00");
    // Layer 1, type 1, code 0; M and D; 14 + 100 octets; the header as it came.
    EXPECT_EQ(body(fault::tagged_invalid_stag),
              "1100c000"
              "0072"
              "c140112233440102030405060708");
}

TEST_F(Terminates, OfUntaggedFaultsCarryTheDdpHeader) {
    ASSERT_EQ(untagged({.msn = 2}, pattern(10)), "1/2/03");
    EXPECT_EQ(body(fault::msn_range),
              "1203c000"
              "001c"
              "414300000000000000000000000200000000");
}

TEST_F(Terminates, OfReadRequestsCarryBothHeaders) {
    ASSERT_EQ(read_request(1, {.sink_stag = 0xa1a2a3a4,
                               .sink_offset = 0xb1b2b3b4b5b6b7b8,
                               .size = 0x01020304,
                               .source_stag = 0xc1c2c3c4,
                               .source_offset = 0xd1d2d3d4d5d6d7d8}),
              "0/1/00");
    EXPECT_EQ(body(fault::read_invalid_stag),
              "0100e000"
              "002e"
              "414100000000000000010000000100000000"
              "a1a2a3a4b1b2b3b4b5b6b7b801020304c1c2c3c4d1d2d3d4d5d6d7d8");
}

TEST_F(Terminates, OfAtomicsCarryTheDdpHeaderAlone) {
    ASSERT_EQ(atomic_request(1, {.remote_stag = 5}), "0/1/00");
    EXPECT_EQ(body(fault::atomic_invalid_stag),
              "0100c000"
              "0046"
              "414a00000000000000010000000100000000");
}

TEST_F(Terminates, OfInvalidationsCarryTheDdpHeader) {
    post(1, 0, 10);
    ASSERT_EQ(untagged({.opcode = RdmapOpcode::send_invalidate, .invalidate = 0x99}), "0/1/09");
    EXPECT_EQ(body(fault::cannot_invalidate),
              "0109c000"
              "0012"
              "414400000099000000000000000100000000");
}

TEST_F(Terminates, OfOtherLayersCarryNothing) {
    post(1, 0, 10);
    untagged({}, pattern(5));
    EXPECT_EQ(body(fault::crc), "20020000");
    EXPECT_EQ(body(fault::insufficient_ird), "20060000");
    EXPECT_EQ(body(fault::local_catastrophic), "00000000");
    // A fault found elsewhere has no header here.
    EXPECT_EQ(body(fault::read_bounds), "01010000");
}

TEST_F(Terminates, OfTheFirstFaultKeepItsHeader) {
    ASSERT_EQ(untagged({.msn = 7}, pattern(10)), "1/2/03");
    tagged({.stag = stag, .offset = offset_of(0)}, pattern(500));
    EXPECT_EQ(body(fault::msn_range),
              "1203c000"
              "001c"
              "414300000000000000000000000700000000");
}

TEST_F(Terminates, AreToldAndNothingAfterThem) {
    post(1, 0, 100);
    const auto message = octets_of("1205c000 05a4 41430000000000000000 00000001 00000000");
    EXPECT_EQ(untagged({.opcode = RdmapOpcode::terminate, .queue = 2}, message), "");
    ASSERT_EQ(events.terminates.size(), 1u);
    EXPECT_FALSE(events.terminates[0].sent_by_us);
    EXPECT_EQ(events.terminates[0].layer, 1);
    EXPECT_EQ(events.terminates[0].type, 2);
    EXPECT_EQ(events.terminates[0].code, 5);
    EXPECT_EQ(events.terminates[0].text, "DDP untagged buffer error: DDP message too long for available buffer");
    EXPECT_EQ(untagged({}, pattern(50)), "");
    EXPECT_EQ(untagged({.opcode = RdmapOpcode::terminate, .queue = 2, .msn = 2}, message), "");
    EXPECT_EQ(tagged({.stag = 1}, pattern(65000)), "");
    EXPECT_EQ(events.terminates.size(), 1u);
    EXPECT_TRUE(events.messages.empty());
    EXPECT_EQ(receives.size(), 1u);
}

TEST_F(Terminates, ThatAreWrongThemselves) {
    constexpr auto opcode = RdmapOpcode::terminate;
    const auto again = [&] { restart({.domain = domain, .queue_pair = queue_pair}); };
    EXPECT_EQ(untagged({.opcode = opcode, .queue = 0}, pattern(4)), "1/2/01");
    again();
    EXPECT_EQ(untagged({.opcode = opcode, .queue = 2, .msn = 2}, pattern(4)), "1/2/03");
    again();
    EXPECT_EQ(untagged({.opcode = opcode, .queue = 2, .offset = 4}, pattern(4)), "1/2/04");
    again();
    EXPECT_EQ(untagged({.opcode = opcode, .queue = 2}, pattern(1000)), "1/2/05");
    for (const std::size_t octets : {0u, 1u, 3u}) {
        again();
        EXPECT_EQ(untagged({.opcode = opcode, .queue = 2}, pattern(octets)), "");
        ASSERT_EQ(events.terminates.size(), 1u);
        EXPECT_FALSE(events.terminates[0].text.empty());
    }
    again();
    EXPECT_EQ(untagged({.opcode = opcode, .queue = 2}, octets_of("1101c000")), "");  // its header is missing
    EXPECT_EQ(events.terminates[0].code, 1);
}

// As Linux siw sent them, in the captures siw-verbs-badrkey-r, -badrkey-w, -oob-r and -rnr: what each was about is
// known from how it was made.
TEST(SiwTerminates, AreUnderstood) {
    const auto of = [](const char* message) {
        const auto t = parse_terminate(octets_of(message));
        return std::array<int, 3>{t.layer, t.type, t.code};
    };
    using testing::ElementsAre;
    EXPECT_THAT(of("10000700 0000 414100000000000000010000000100000000"
                   "4214e30000007f6b540fb3c000001388668c000000007f0721d04000"),
                ElementsAre(0, 1, 0));                                                    // a read with a wrong key
    EXPECT_THAT(of("11000300 0594 8140194cc00000007f8315840000"), ElementsAre(1, 1, 0));  // a write with a wrong key
    EXPECT_THAT(of("10010700 0000 414100000000000000010000000100000000"
                   "84327b0000007f90781583c000001000ec23cc0000007fa23db89800"),
                ElementsAre(0, 1, 1));  // a read beyond its region
    EXPECT_THAT(of("21020300 0590 014300000000000000000000000100000000"), ElementsAre(1, 2, 2));  // no receive
    EXPECT_THAT(of("02020000"),
                ElementsAre(2, 0, 2));  // a CRC error has no header: only the known codes show the order
}

TEST(TerminateTexts, NameWhatTheTablesName) {
    EXPECT_EQ(terminate_text(0, 0, 0), "RDMA local catastrophic error");
    EXPECT_EQ(terminate_text(0, 0, 0x55), "RDMA local catastrophic error");  // any code is acceptable
    EXPECT_EQ(terminate_text(0, 1, 0), "RDMA remote protection error: invalid STag");
    EXPECT_EQ(terminate_text(0, 1, 1), "RDMA remote protection error: base or bounds violation");
    EXPECT_EQ(terminate_text(0, 1, 4), "RDMA remote protection error: TO wrap");
    EXPECT_EQ(terminate_text(0, 1, 9), "RDMA remote protection error: STag cannot be invalidated");
    EXPECT_EQ(terminate_text(0, 2, 6), "RDMA remote operation error: unexpected OpCode");
    EXPECT_EQ(terminate_text(0, 2, 0xff), "RDMA remote operation error: unspecified error");
    EXPECT_EQ(terminate_text(1, 0, 0), "DDP local catastrophic error");
    EXPECT_EQ(terminate_text(1, 1, 1), "DDP tagged buffer error: base or bounds violation");
    EXPECT_EQ(terminate_text(1, 2, 2), "DDP untagged buffer error: invalid MSN - no buffer available");
    EXPECT_EQ(terminate_text(2, 0, 2), "MPA error: received MPA CRC does not match");
    EXPECT_EQ(terminate_text(2, 0, 7), "MPA error: no matching ready-to-receive option");
    EXPECT_EQ(terminate_text(0, 7, 0x12), "RDMA error type 7: code 0x12");
    EXPECT_EQ(terminate_text(1, 1, 0x77), "DDP tagged buffer error: code 0x77");
    EXPECT_EQ(terminate_text(2, 3, 1), "LLP error type 3: code 0x01");
    EXPECT_EQ(terminate_text(15, 15, 255), "layer 15 error type 15: code 0xff");
}

TEST(TerminateTexts, ReadBackWhatIsSent) {
    for (int layer = 0; layer < 3; ++layer)
        for (int type = 0; type < 3; ++type)
            for (int code = 0; code < 256; ++code) {
                const auto octets =
                    octets_of(hex(std::array{static_cast<std::byte>(layer << 4 | type), static_cast<std::byte>(code),
                                             std::byte{0xc0}, std::byte{0}}) +
                              "0012" + std::string(36, '0'));
                const auto read = parse_terminate(octets);
                EXPECT_EQ(read.layer, layer);
                EXPECT_EQ(read.type, type);
                EXPECT_EQ(read.code, code);
            }
}

}  // namespace
