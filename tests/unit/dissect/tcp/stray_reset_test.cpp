#include "dissect/tcp/stray_reset.h"

#include <gtest/gtest.h>

#include "tests/unit/dissect/iwarp/stream_builder.h"

/// Which RSTs a receiver takes: RFC 9293, 3.10.7.4.
namespace {

using namespace iwarp_test;
using dissect::Notice;
using dissect::TcpSummary;
using dissect::tcp::is_stray_reset;
using dissect::tcp::ResetBounds;

constexpr std::uint8_t rst = 0x04;
constexpr std::uint8_t stray_rst_ack = 0x14;

TcpSummary reset(std::uint32_t sequence, std::uint8_t flags = rst, std::uint32_t acknowledgment = 0) {
    TcpSummary tcp;
    tcp.sequence = sequence;
    tcp.flags = flags;
    tcp.acknowledgment = acknowledgment;
    return tcp;
}

TEST(StrayReset, what_the_receiver_had_and_what_lies_beyond_its_window_is_stray) {
    const ResetBounds known{5000, 4000, 900};
    EXPECT_FALSE(is_stray_reset(reset(5000), known));
    EXPECT_FALSE(is_stray_reset(reset(4000), known));
    EXPECT_FALSE(is_stray_reset(reset(3999), known)) << "behind a FIN that was acknowledged since";
    EXPECT_TRUE(is_stray_reset(reset(3998), known));
    EXPECT_FALSE(is_stray_reset(reset(5000 + 65536), known));
    EXPECT_TRUE(is_stray_reset(reset(5001 + 65536), known));
    EXPECT_TRUE(is_stray_reset(reset(5000 + 0x30000000), known));
}

TEST(StrayReset, either_number_will_do_and_the_farther_one_where_there_are_two) {
    EXPECT_FALSE(is_stray_reset(reset(70'000), {5000, 9000, {}}));  // 9000 + 65,536 = 74,536
    EXPECT_TRUE(is_stray_reset(reset(70'000), {{4000}, {}, {}}));   // 4000 + 65,536 = 69,536
    EXPECT_FALSE(is_stray_reset(reset(4'000'000), {{}, 5000, {}}));
    EXPECT_TRUE(is_stray_reset(reset(4000), {{}, 5000, {}}));
    // Numbers go on from 2^32 - 1 to 0.
    EXPECT_FALSE(is_stray_reset(reset(10), {0xfffffff0, 0xfffffff0, {}}));
    EXPECT_TRUE(is_stray_reset(reset(0xffffff00), {10, 5, {}}));
}

/// Its number is 0; what it acknowledges tells whom it is for.
TEST(StrayReset, of_a_refused_syn_the_acknowledgement_decides) {
    EXPECT_FALSE(is_stray_reset(reset(0, stray_rst_ack, 1001), {{}, {}, 1001}));
    EXPECT_TRUE(is_stray_reset(reset(0, stray_rst_ack, 0x40000000), {{}, {}, 1001}));
    EXPECT_FALSE(is_stray_reset(reset(77), {{}, {}, 1001})) << "nothing is known";
    EXPECT_FALSE(is_stray_reset(reset(0, stray_rst_ack, 5), {}));
}

/// A hole is open when a RST comes that is none of this connection's: the server's next octet is its 21st.
TEST(StrayReset, what_waits_behind_a_hole_goes_on_to_wait) {
    for (const std::uint32_t off : {0u, 0x30000000u}) {
        Wire wire;
        wire.client.start(true, false, true);
        wire.server.start(false, false, true);
        for (std::uint32_t msn = 1; msn <= 3; ++msn) wire.client.send(msn, 0, true, Octets(100, std::byte{7}));
        wire.handshake();
        wire.segment(true, {0, 20});
        wire.segment(false, {0, 20}, 20);
        // A Send of 100 octets takes 2 + 18 + 100 + 4 = 124.
        wire.segment(true, {20, 124}, 20);
        wire.segment(true, {20 + 2 * 124, 124}, 20);
        wire.raw(false, wire.isn(false) + 21 + off, rst, {}, 0);
        wire.segment(true, {20 + 124, 124}, 20);
        const Found found = find(wire);
        const bool stray = off != 0;
        EXPECT_EQ(found.client.size(), stray ? 4u : 3u);
        EXPECT_EQ(found.gap_octets, stray ? 0u : 124u);
    }
}

}  // namespace
