/// The table of opcodes against IBTA vol. 1, table 38, copied here by opcode, and names against tshark's.
#include "wire/bth_opcode.h"

#include <array>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <utility>

namespace {

using enum wire::ExtendedHeader;

/// One letter a header: R RDETH, D DETH, X XRCETH, r RETH, t AtomicETH, a AETH, k AtomicAckETH, i ImmDt, v IETH, f
/// FETH, w ATOMIC WRITE's data, c CNP; then p where a payload may follow.
std::string shape_of(unsigned opcode) {
    const wire::BthOpcode& info = wire::bth_opcode(static_cast<std::uint8_t>(opcode));
    if (!info.known()) return "?";
    constexpr std::string_view letters = ".RDXrtakivfwc";
    std::string shape;
    unsigned size = 0;
    for (unsigned i = 0; i < info.header_count; ++i) {
        shape += letters[static_cast<unsigned>(info.headers[i])];
        size += wire::size_of_header(info.headers[i]);
    }
    EXPECT_EQ(size, info.header_octets);
    if (info.has_payload) shape += 'p';
    return shape;
}

TEST(BthOpcode, HeadersOfTable38) {
    // Opcodes 0 to 31 of a service, by position; "?" is reserved.
    const std::array<std::string_view, 32> rc{"p",   "p",  "p",  "ip", "p",  "ip", "rp", "p",  "p", "ip", "rp",
                                              "rip", "r",  "ap", "p",  "ap", "ap", "a",  "ak", "t", "t",  "?",
                                              "vp",  "vp", "?",  "?",  "?",  "?",  "fr", "rw", "?", "?"};
    const std::array<std::string_view, 32> uc{"p",   "p", "p", "ip", "p", "ip", "rp", "p", "p", "ip", "rp",
                                              "rip", "?", "?", "?",  "?", "?",  "?",  "?", "?", "?",  "?",
                                              "?",   "?", "?", "?",  "?", "?",  "?",  "?", "?", "?"};
    const std::array<std::string_view, 32> rd{"RDp", "RDp",  "RDp",  "RDip",  "RDp",  "RDip", "RDrp", "RDp",
                                              "RDp", "RDip", "RDrp", "RDrip", "RDr",  "Rap",  "Rp",   "Rap",
                                              "Rap", "Ra",   "Rak",  "RDt",   "RDt",  "RD",   "?",    "?",
                                              "?",   "?",    "?",    "?",     "RDfr", "RDrw", "?",    "?"};
    const std::array<std::string_view, 32> xrc{
        "Xp", "Xp", "Xp", "Xip", "Xp", "Xip", "Xrp", "Xp",  "Xp", "Xip", "Xrp", "Xrip", "Xr",  "ap",  "p", "ap",
        "ap", "a",  "ak", "Xt",  "Xt", "?",   "Xvp", "Xvp", "?",  "?",   "?",   "?",    "Xfr", "Xrw", "?", "?"};
    for (unsigned i = 0; i < 32; ++i) {
        EXPECT_EQ(shape_of(i), rc[i]) << "RC " << i;
        EXPECT_EQ(shape_of(0x20 + i), uc[i]) << "UC " << i;
        EXPECT_EQ(shape_of(0x40 + i), rd[i]) << "RD " << i;
        EXPECT_EQ(shape_of(0x60 + i), i == 4 ? "Dp" : i == 5 ? "Dip" : "?") << "UD " << i;
        EXPECT_EQ(shape_of(0x80 + i), i <= 1 ? "c" : "?") << "CNP " << i;
        EXPECT_EQ(shape_of(0xa0 + i), xrc[i]) << "XRC " << i;
        EXPECT_EQ(shape_of(0xc0 + i), "?");
        EXPECT_EQ(shape_of(0xe0 + i), "?");
    }
}

TEST(BthOpcode, ServicesAndParts) {
    EXPECT_EQ(wire::bth_opcode(0x04).service, wire::BthService::rc);
    EXPECT_EQ(wire::bth_opcode(0x64).service, wire::BthService::ud);
    EXPECT_EQ(wire::bth_opcode(0xa4).service, wire::BthService::xrc);
    EXPECT_EQ(wire::bth_opcode(0x80).service, wire::BthService::cnp);
    EXPECT_EQ(wire::bth_opcode(0xc3).service, wire::BthService::manufacturer);
    EXPECT_EQ(wire::bth_opcode(0x1f).service, wire::BthService::reserved);
    EXPECT_TRUE(wire::bth_opcode(0x06).starts_message());
    EXPECT_FALSE(wire::bth_opcode(0x06).ends_message());
    EXPECT_FALSE(wire::bth_opcode(0x07).starts_message());
    EXPECT_TRUE(wire::bth_opcode(0x16).ends_message());
    EXPECT_TRUE(wire::bth_opcode(0x16).has_invalidate());
    EXPECT_TRUE(wire::bth_opcode(0x0b).has_immediate());
    EXPECT_EQ(wire::bth_opcode(0x0e).role, wire::BthRole::response);
    EXPECT_EQ(wire::bth_opcode(0x11).role, wire::BthRole::acknowledgement);
    EXPECT_EQ(wire::bth_opcode(0x0c).role, wire::BthRole::request);
}

TEST(BthOpcode, NamesAsTsharkPrintsThem) {
    const std::pair<unsigned, std::string_view> known[] = {
        {0, "Reliable Connection (RC) - SEND First"},
        {11, "Reliable Connection (RC) - RDMA WRITE Only with Immediate"},
        {13, "Reliable Connection (RC) - RDMA READ response First"},
        {17, "Reliable Connection (RC) - Acknowledge"},
        {18, "Reliable Connection (RC) - ATOMIC Acknowledge"},
        {23, "Reliable Connection (RC) - SEND Only with Invalidate"},
        {36, "Unreliable Connection (UC) - SEND Only"},
        {85, "Reliable Datagram (RD) - RESYNC"},
        {100, "Unreliable Datagram (UD) - SEND only"},
        {101, "Unreliable Datagram (UD) - SEND only with Immediate"},
        {128, "CNP"},
        {172, "Extended Reliable Connection (XRC) - RDMA READ Request"},
        {183, "Extended Reliable Connection (XRC) - SEND Only with Invalidate"},
    };
    for (const auto& [opcode, name] : known) EXPECT_EQ(wire::name_of(wire::bth_opcode_names, opcode), name);
    EXPECT_EQ(wire::name_of(wire::bth_opcode_names, 0xff), "");
}

// IBTA vol. 1, table 38: the words are the same for all services.
TEST(BthOpcode, MessageNamesHaveOneSpelling) {
    constexpr std::uint8_t of_all_services[] = {0x04, 0x24, 0x44, 0x64, 0xa4};
    for (const auto opcode : of_all_services) EXPECT_EQ(wire::bth_message_name(opcode), "SEND Only");
    EXPECT_EQ(wire::bth_message_name(0x65), "SEND Only with Immediate");
    EXPECT_EQ(wire::bth_message_name(0x55), "RESYNC");
    EXPECT_EQ(wire::bth_message_name(0x81), "CNP");
    constexpr std::uint8_t nameless[] = {0x18, 0x35, 0x6a, 0xff};
    for (const auto opcode : nameless) EXPECT_EQ(wire::bth_message_name(opcode), "");
}

}  // namespace
