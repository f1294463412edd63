/// RoCE and InfiniBand packets from the network layer on; values as tshark 4.0.17 prints them.
#include <gtest/gtest.h>

#include "../../wire/infiniband/hex_octets.h"
#include "described.h"
#include "packets.h"
#include "wire/icrc.h"

namespace {

using dissect::CrcStatus;
using dissect::LayerId;
using dissect::Outcome;
using dissect::Reason;

TEST(InfinibandTransport, LocalPacket) {
    const Described packet{octets(packets::lrh_write), LayerId::lrh};
    EXPECT_EQ(packet.layers(), "lrh bth reth payload icrc vcrc");
    EXPECT_EQ(packet.found.stop.outcome, Outcome::complete);
    EXPECT_EQ(packet.found.bth.icrc, CrcStatus::good);
    EXPECT_EQ(packet.found.bth.vcrc, CrcStatus::good);
    EXPECT_EQ(packet.found.bth.payload_length, 14u);
    EXPECT_EQ(packet.found.network.family, wire::AddressFamily::lid);
    EXPECT_EQ(packet["infiniband.lrh.vl"], "0x07");
    EXPECT_EQ(packet["infiniband.lrh.dlid"], "14172");
    EXPECT_EQ(packet["infiniband.payload"], "bb884d85fd5cfba4728bc0690ed4");
    EXPECT_EQ(packet["infiniband.invariant.crc"], "0x9625b75a");
    EXPECT_EQ(packet["infiniband.variant.crc"], "0x45fa");
    EXPECT_EQ(packet["rdma.icrc.status"], "1");
    EXPECT_EQ(packet["rdma.vcrc.status"], "1");
}

TEST(InfinibandTransport, GlobalPacketWithoutLrh) {
    auto padded = octets(packets::grh_write);
    padded.resize(padded.size() + 7);  // as an Ethernet frame may be
    const Described packet{padded, LayerId::grh};
    EXPECT_EQ(packet.layers(), "grh bth reth payload icrc");
    EXPECT_EQ(packet.found.bth.icrc, CrcStatus::good);
    EXPECT_EQ(packet.found.bth.payload_length, 5u);
    EXPECT_EQ(packet["infiniband.payload"], "0000000001");
    EXPECT_EQ(packet["infiniband.grh.tclass"], "2");
    EXPECT_EQ(packet["infiniband.grh.sgid"], "::ffff:15.0.0.2");
    EXPECT_EQ(packet["infiniband.bth"], "0a70ffff0000010a80a788bc");
    EXPECT_EQ(packet["infiniband.bth.destqp"], "0x00010a");
    EXPECT_EQ(packet["infiniband.bth.padcnt"], "3");
    EXPECT_EQ(packet["infiniband.bth.psn"], "10979516");
    EXPECT_EQ(packet["infiniband.reserved"], "00");
    EXPECT_EQ(packet["infiniband.reth.va"], "0x000055d4c0726000");
    EXPECT_EQ(packet["infiniband.reth.dmalen"], "5");
    EXPECT_EQ(packet.found.bth.virtual_address, 0x55d4c0726000u);
    EXPECT_EQ(packet.found.bth.remote_key, 0x47b3u);
}

TEST(InfinibandTransport, CongestionNotification) {
    const Described packet{octets(packets::ipv4_cnp), LayerId::ipv4};
    EXPECT_EQ(packet.layers(), "ip udp bth cnp icrc");
    EXPECT_EQ(packet.found.bth.icrc, CrcStatus::good);
    EXPECT_TRUE(packet.found.bth.becn);
    EXPECT_EQ(packet["infiniband.bth.becn"], "1");
    EXPECT_EQ(packet["infiniband.bth.fecn"], "0");
    EXPECT_EQ(packet["infiniband.reserved"], "40");
    EXPECT_EQ(packet["infiniband.invariant.crc"], "0x82fd002a");
}

TEST(InfinibandTransport, Atomics) {
    const Described request{octets(packets::ipv4_compare_swap), LayerId::ipv4};
    EXPECT_EQ(request.layers(), "ip udp bth atomiceth icrc");
    EXPECT_EQ(request["infiniband.reth.va"], "0x00007fc713def008");
    EXPECT_EQ(request["infiniband.atomiceth.swapdt"], "1");
    EXPECT_EQ(request["infiniband.atomiceth.cmpdt"], "0");
    EXPECT_EQ(request.found.bth.swap_or_add, 1u);
    EXPECT_EQ(request.found.bth.icrc, CrcStatus::good);
    const Described response{octets(packets::ipv4_atomic_acknowledge), LayerId::ipv4};
    EXPECT_EQ(response.layers(), "ip udp bth aeth atomicacketh icrc");
    EXPECT_EQ(response["infiniband.aeth.syndrome.credit_count"], "31");
    EXPECT_EQ(response["infiniband.aeth.syndrome.timer"], "-");
    EXPECT_EQ(response["infiniband.atomicacketh.origremdt"], "0");
    EXPECT_EQ(response.found.bth.icrc, CrcStatus::good);
}

TEST(InfinibandTransport, RnrNak) {
    const Described packet{octets(packets::ipv4_rnr_nak), LayerId::ipv4};
    EXPECT_EQ(packet["infiniband.aeth.syndrome"], "32");
    EXPECT_EQ(packet["infiniband.aeth.syndrome.opcode"], "1");
    EXPECT_EQ(packet["infiniband.aeth.syndrome.timer"], "0");
    EXPECT_EQ(packet["infiniband.aeth.syndrome.credit_count"], "-");
    EXPECT_EQ(packet["infiniband.aeth.msn"], "0");
}

TEST(InfinibandTransport, WriteWithImmediateAndNoPayload) {
    const Described packet{octets(packets::ipv4_write_immediate), LayerId::ipv4};
    EXPECT_EQ(packet.layers(), "ip udp bth reth immdt icrc");
    EXPECT_EQ(packet["infiniband.immdt"], "aabb0000,aabb0000");
    EXPECT_EQ(packet.found.bth.immediate, 0xaabb0000u);
    EXPECT_EQ(packet.found.bth.payload_length, 0u);
    EXPECT_EQ(packet.found.bth.icrc, CrcStatus::good);
}

TEST(InfinibandTransport, OverIpv6) {
    const Described packet{octets(packets::ipv6_acknowledge), LayerId::ipv6};
    EXPECT_EQ(packet.found.bth.icrc, CrcStatus::good);
    EXPECT_EQ(packet.found.bth.msn, 1u);
}

/// Not verified where there is no header to start from, or where it is not asked for.
TEST(InfinibandTransport, UncheckedIcrc) {
    const auto bytes = octets("1100ffff0000001900323deb20000000ee6e4af8");
    EXPECT_EQ(Described(bytes, LayerId::bth).found.bth.icrc, CrcStatus::unchecked);
    EXPECT_EQ(Described(bytes, LayerId::bth)["rdma.icrc.status"], "2");
    dissect::Dissection found;
    const auto whole = octets(packets::lrh_write);
    dissect::dissect_unit(LayerId::lrh, whole, static_cast<std::uint32_t>(whole.size()), {.verify_crc = false}, found);
    EXPECT_EQ(found.bth.icrc, CrcStatus::unchecked);
    EXPECT_EQ(found.bth.vcrc, CrcStatus::unchecked);
}

/// Every flipped bit of a packet on an InfiniBand link is found, by one CRC or the other, or stops the dissection.
TEST(InfinibandTransport, EveryFlippedBitIsFound) {
    for (const auto& [hex, first] : {std::pair{packets::lrh_write, LayerId::lrh}, {packets::grh_write, LayerId::grh}}) {
        const auto right = octets(hex);
        for (unsigned bit = 0; bit < right.size() * 8; ++bit) {
            auto changed = right;
            changed[bit / 8] ^= std::byte{0x80} >> (bit % 8);
            const Described packet{changed, first};
            const dissect::Dissection& found = packet.found;
            const bool noticed =
                found.stop.outcome != Outcome::complete || found.bth.icrc == CrcStatus::bad ||
                (first == LayerId::lrh && (found.bth.vcrc == CrcStatus::bad || !found.has(LayerId::bth)));
            const unsigned octet = bit / 8;
            // Traffic class, flow label, hop limit; FECN, BECN and the reserved bits next to them.
            const bool may_change = first == LayerId::grh && ((bit >= 4 && octet < 4) || octet == 7 || octet == 44);
            EXPECT_NE(noticed, may_change) << bit;
        }
    }
}

/// Snap lengths: what is there is read, and nothing is called malformed.
TEST(InfinibandTransport, EverySnapLength) {
    for (const auto& [hex, first] : {std::pair{packets::lrh_write, LayerId::lrh},
                                     {packets::grh_write, LayerId::grh},
                                     {packets::ipv4_connect_request, LayerId::ipv4},
                                     {packets::ipv4_atomic_acknowledge, LayerId::ipv4}}) {
        const auto whole = octets(hex);
        for (std::size_t length = 0; length < whole.size(); ++length) {
            const Described packet{{whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)},
                                   first,
                                   static_cast<std::uint32_t>(whole.size())};
            ASSERT_EQ(packet.found.stop.outcome, Outcome::truncated) << length;
            ASSERT_EQ(packet.found.stop.reason, Reason::snapped) << length;
            if (!packet.found.has(LayerId::icrc)) {
                ASSERT_EQ(packet["rdma.icrc.status"], "-");
            }
        }
    }
}

TEST(InfinibandTransport, SnappedPayload) {
    auto bytes = octets(packets::lrh_write);
    bytes.resize(40);
    const Described packet{bytes, LayerId::lrh, 58};
    EXPECT_EQ(packet.layers(), "lrh bth reth payload");
    const dissect::LayerRef* payload = packet.found.find(LayerId::payload);
    EXPECT_EQ(payload->length, 4u);
    EXPECT_EQ(payload->wire_length, 14u);
    EXPECT_EQ(packet.found.bth.payload_length, 14u);
    EXPECT_EQ(packet.found.bth.icrc, CrcStatus::absent);
    bytes.resize(30);  // in the RETH: the payload's length is known all the same
    EXPECT_EQ(Described(bytes, LayerId::lrh, 58).found.bth.payload_length, 14u);
}

/// Packets that are too short for what they say they are.
TEST(InfinibandTransport, Malformed) {
    const auto outcome = [](std::string_view hex, LayerId first) {
        const Described packet{octets(hex), first};
        EXPECT_EQ(packet.found.stop.outcome, Outcome::malformed) << hex;
        return packet.found.stop.reason;
    };
    EXPECT_EQ(outcome("1100ffff0000001900323deb", LayerId::bth), Reason::missing_icrc);
    EXPECT_EQ(outcome("1100ffff0000001900323deb00000000", LayerId::bth), Reason::too_short);
    EXPECT_EQ(outcome("0430ffff0000001900323deb0000ee6e4af8", LayerId::bth), Reason::bad_pad_count);
    EXPECT_EQ(outcome("7012375C000117D2", LayerId::lrh), Reason::bad_header_length);
    EXPECT_EQ(outcome("7012375C000E17D2", LayerId::lrh), Reason::bad_total_length);
}

/// What a mirror keeps of a frame of RoCEv1: its GRH has the length of the packet.
TEST(InfinibandTransport, CutWithoutSnapLength) {
    const Described packet{octets("6020000000281b4000000000000000000000ffff0f00000200000000000000000000ffff0f000002"),
                           LayerId::grh};
    EXPECT_EQ(packet.found.stop.outcome, Outcome::truncated);
    EXPECT_EQ(packet.found.stop.reason, Reason::snapped);
}

TEST(InfinibandTransport, OddAndUnsupported) {
    // An Acknowledge with four bytes too many.
    const Described odd{octets("1100ffff0000001900323deb20000000 01020304 ee6e4af8"), LayerId::bth};
    EXPECT_EQ(odd.found.odd.reason, Reason::wrong_length);
    EXPECT_EQ(odd["infiniband.payload"], "01020304");
    // A manufacturer's opcode: the BTH, and that something follows.
    const Described unknown{octets("c000ffff0000001900323deb20000000 01020304 ee6e4af8"), LayerId::bth};
    EXPECT_EQ(unknown.found.stop.outcome, Outcome::unsupported);
    EXPECT_EQ(unknown.found.stop.reason, Reason::unknown_opcode);
    EXPECT_EQ(unknown.layers(), "bth payload icrc");
    EXPECT_EQ(unknown["infiniband.bth.opcode"], "192");
}

/// Every opcode with as many octets as it needs, none of which any other packet shares: RD, XRC and FLUSH too.
TEST(InfinibandTransport, ExtendedHeadersFollowEachOther) {
    const auto layers = [](std::string_view opcode, std::size_t more) {
        auto bytes = octets(std::string{opcode} + "00ffff0000001900323deb");
        bytes.resize(bytes.size() + more + 4, std::byte{0x5a});
        const Described packet{bytes, LayerId::bth};
        EXPECT_EQ(packet.found.stop.outcome, Outcome::complete);
        EXPECT_EQ(packet.found.odd_count, 0);
        return packet.layers();
    };
    EXPECT_EQ(layers("4b", 40), "bth rdeth deth reth immdt payload icrc");
    EXPECT_EQ(layers("52", 16), "bth rdeth aeth atomicacketh icrc");
    EXPECT_EQ(layers("55", 12), "bth rdeth deth icrc");
    EXPECT_EQ(layers("ab", 24), "bth xrceth reth immdt icrc");
    EXPECT_EQ(layers("b3", 32), "bth xrceth atomiceth icrc");
    EXPECT_EQ(layers("b7", 12), "bth xrceth ieth payload icrc");
    EXPECT_EQ(layers("1c", 20), "bth feth reth icrc");
    EXPECT_EQ(layers("1d", 24), "bth reth atomic_write icrc");
    EXPECT_EQ(layers("80", 16), "bth cnp icrc");
    EXPECT_EQ(layers("65", 16), "bth deth immdt payload icrc");
}

}  // namespace
