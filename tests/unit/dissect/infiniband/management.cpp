/// Management datagrams and the messages of the Communication Manager; values as tshark 4.0.17 prints them, where it
/// knows the message.
#include <gtest/gtest.h>
#include <string>

#include "../../wire/infiniband/hex_octets.h"
#include "described.h"
#include "packets.h"

namespace {

using dissect::CrcStatus;
using dissect::LayerId;
using dissect::Outcome;

TEST(Management, ConnectRequest) {
    const Described packet{octets(packets::ipv4_connect_request), LayerId::ipv4};
    EXPECT_EQ(packet.layers(), "ip udp bth deth mad cm_req icrc");
    EXPECT_EQ(packet.found.stop.outcome, Outcome::complete);
    EXPECT_EQ(packet.found.bth.icrc, CrcStatus::good);
    EXPECT_EQ(packet.found.bth.source_qp, 1u);
    EXPECT_EQ(packet.found.bth.payload_length, 256u);
    EXPECT_EQ(packet["infiniband.deth.q_key"], "0x0000000080010000");
    EXPECT_EQ(packet["infiniband.deth.srcqp"], "0x00000001");
    EXPECT_EQ(packet["infiniband.reserved"], "00,00,0000,00000000,00000000");
    EXPECT_EQ(packet["infiniband.mad.transactionid"], "0x00000002f3f945c6");
    EXPECT_EQ(packet["infiniband.mad.attributeid"], "0x0010");
    EXPECT_EQ(packet["rdma.mad.attribute"], "ConnectRequest");
    EXPECT_EQ(packet["infiniband.mad.data"].size(), 464u);
    EXPECT_EQ(packet["infiniband.cm.req"], "0xc645f9f3");
    EXPECT_EQ(packet["infiniband.cm.req.serviceid"], "0x0000000001061c06");
    EXPECT_EQ(packet["infiniband.cm.req.serviceid.prefix"], "0000000001");
    EXPECT_EQ(packet["infiniband.cm.req.serviceid.protocol"], "0x06");
    EXPECT_EQ(packet["infiniband.cm.req.serviceid.dport"], "0x1c06");
    EXPECT_EQ(packet["infiniband.cm.req.localqpn"], "0x000011");
    EXPECT_EQ(packet["infiniband.cm.req.remoteresptout"], "0x14");
    EXPECT_EQ(packet["infiniband.cm.req.transpsvctype"], "0x00");
    EXPECT_EQ(packet["infiniband.cm.req.startpsn"], "0x646750");
    EXPECT_EQ(packet["infiniband.cm.req.retrcount"], "0x07");
    EXPECT_EQ(packet["infiniband.cm.req.pkey"], "0xffff");
    EXPECT_EQ(packet["infiniband.cm.req.pppmtu"], "0x03");
    EXPECT_EQ(packet["infiniband.cm.req.prim_locallid"], "65535");
    EXPECT_EQ(packet["infiniband.cm.req.prim_localgid"], "-");
    EXPECT_EQ(packet["infiniband.cm.req.prim_localgid_ipv4"], "192.0.2.2");
    EXPECT_EQ(packet["infiniband.cm.req.prim_remotegid_ipv4"], "192.0.2.1");
    EXPECT_EQ(packet["infiniband.cm.req.prim_hoplim"], "0x40");
    EXPECT_EQ(packet["infiniband.cm.req.prim_localacktout"], "0x13");
    EXPECT_EQ(packet["infiniband.cm.req.alt_reserved1"], "0x00,0x00");
    EXPECT_EQ(packet["infiniband.cm.req.alt_localgid"], std::string(32, '0'));
    EXPECT_EQ(packet["infiniband.cm.req.private"], "-");
    EXPECT_EQ(packet["infiniband.cm.req.ip_cm.ipv"], "0x04");
    EXPECT_EQ(packet["infiniband.cm.req.ip_cm.sport"], "0xe76e");
    EXPECT_EQ(packet["infiniband.cm.req.ip_cm.sip4"], "192.0.2.2");
    EXPECT_EQ(packet["infiniband.cm.req.ip_cm.dip4"], "192.0.2.1");
    EXPECT_EQ(packet["infiniband.cm.req.ip_cm.sip6"], "-");
    EXPECT_EQ(packet["infiniband.cm.req.ip_cm.private"], std::string(112, '0'));
    // 20 bits from octet 88 on: c2 25 8. tshark shows 0x00000c22, having read three octets of the four.
    EXPECT_EQ(packet["infiniband.cm.req.prim_flowlabel"], "0x000c2258");
    EXPECT_EQ(packet["infiniband.cm.req.prim_pktrate"], "0x00000000");
}

/// The same message for a service that is none of IP's, on an InfiniBand link: nothing is read into it.
TEST(Management, ConnectRequestForAnotherService) {
    auto bytes = octets(packets::ipv4_connect_request);
    bytes.erase(bytes.begin(), bytes.begin() + 28);
    bytes[12 + 8 + 24 + 8] = std::byte{0x10};
    const Described packet{bytes, LayerId::bth};
    EXPECT_EQ(packet["infiniband.cm.req.serviceid"], "0x1000000001061c06");
    EXPECT_EQ(packet["infiniband.cm.req.serviceid.dport"], "-");
    EXPECT_EQ(packet["infiniband.cm.req.ip_cm.ipv"], "-");
    EXPECT_EQ(packet["infiniband.cm.req.private"].size(), 184u);
    EXPECT_EQ(packet["infiniband.cm.req.prim_localgid"], "::ffff:192.0.2.2");
}

/// A snap length of 96 (14 octets of Ethernet below) cuts the message: what is there is shown.
TEST(Management, SnappedConnectRequest) {
    auto bytes = octets(packets::ipv4_connect_request);
    bytes.resize(96 - 14);
    const Described packet{bytes, LayerId::ipv4, 308};
    EXPECT_EQ(packet.layers(), "ip udp bth deth mad cm_req");
    EXPECT_EQ(packet.found.stop.outcome, Outcome::truncated);
    EXPECT_EQ(packet["infiniband.cm.req"], "0xc645f9f3");
    EXPECT_EQ(packet["infiniband.cm.req.serviceid"], "-");
    EXPECT_EQ(packet["infiniband.mad.data"], "c645f9f3000000000000");
}

/// A datagram to QP 1 with the given class, attribute and data.
std::vector<std::byte> management(std::string_view hex, std::string_view data) {
    auto bytes = octets("6400ffff00000001800000008001000000000001");
    const auto append = [&](const std::vector<std::byte>& more) {
        bytes.insert(bytes.end(), more.begin(), more.end());
    };
    append(octets(hex));
    append(octets(data));
    bytes.resize(12 + 8 + 256 + 4);
    return bytes;
}

std::string header(std::string_view attribute) {
    return "0107020300000000000000000000000100" + std::string{attribute} + "000000000000";
}

TEST(Management, Reject) {
    // rxe-cm-reject.pcap, frame 2.
    const Described packet{management(header("12"), "00000000c045f9f3000000080000"), LayerId::bth};
    EXPECT_EQ(packet.layers(), "bth deth mad cm_rej icrc");
    EXPECT_EQ(packet["infiniband.cm.rej.localcommid"], "0x00000000");
    EXPECT_EQ(packet["infiniband.cm.rej.remotecommid"], "0xc045f9f3");
    EXPECT_EQ(packet["infiniband.cm.rej.msgrej"], "0x00");
    EXPECT_EQ(packet["infiniband.cm.rej.reason"], "0x0008");
    for (const auto& field : dissect::row_of(LayerId::cm_rej).fields)
        if (field.name == "infiniband.cm.rej.reason") {
            EXPECT_EQ(wire::name_of(field.values, 8), "Invalid Service ID");
        }
}

/// Messages that tshark does not know: values by the offsets of IBTA vol. 1, chapter 12.
TEST(Management, OtherMessages) {
    const Described mra{management(header("11"), "0000000a0000000b40a8"), LayerId::bth};
    EXPECT_EQ(mra.layers(), "bth deth mad cm_mra icrc");
    EXPECT_EQ(mra["infiniband.cm.mra.localcommid"], "0x0000000a");
    EXPECT_EQ(mra["infiniband.cm.mra.msgmraed"], "0x01");
    EXPECT_EQ(mra["infiniband.cm.mra.servicetimeout"], "0x15");
    const Described sidr{management(header("17"), "00000001ffff0000 0000000001110007"), LayerId::bth};
    EXPECT_EQ(sidr.layers(), "bth deth mad cm_sidr_req icrc");
    EXPECT_EQ(sidr["infiniband.cm.sidr_req.serviceid"], "0x0000000001110007");
    EXPECT_EQ(sidr["infiniband.cm.req.serviceid.protocol"], "0x11");
    const Described answer{management(header("18"), "00000001 00000000 00123400 0000000001110007 01234567"),
                           LayerId::bth};
    EXPECT_EQ(answer["infiniband.cm.sidr_rep.qpn"], "0x001234");
    EXPECT_EQ(answer["infiniband.cm.sidr_rep.qkey"], "0x01234567");
    const Described lap{management(header("19"), "0000000a0000000b00000000 00003498 00000000 0005 0006"), LayerId::bth};
    EXPECT_EQ(lap["infiniband.cm.lap.remoteqpneecn"], "0x000034");
    EXPECT_EQ(lap["infiniband.cm.lap.remoteresptout"], "0x13");
    EXPECT_EQ(lap["infiniband.cm.lap.alt_remotelid"], "6");
    const Described apr{management(header("1a"), "0000000a0000000b0005"), LayerId::bth};
    EXPECT_EQ(apr["infiniband.cm.apr.status"], "0x05");
    EXPECT_EQ(Described(management(header("14"), ""), LayerId::bth).layers(), "bth deth mad cm_rtu icrc");
    EXPECT_EQ(Described(management(header("15"), ""), LayerId::bth).layers(), "bth deth mad cm_dreq icrc");
    EXPECT_EQ(Described(management(header("16"), ""), LayerId::bth).layers(), "bth deth mad cm_drep icrc");
    EXPECT_EQ(Described(management(header("13"), ""), LayerId::bth).layers(), "bth deth mad cm_rep icrc");
}

TEST(Management, OtherClasses) {
    const Described packet{management("010302010000000000000000000000010035000000000000", "01"), LayerId::bth};
    EXPECT_EQ(packet.layers(), "bth deth mad sa icrc");
    EXPECT_EQ(packet["rdma.mad.attribute"], "PathRecord");
    EXPECT_EQ(packet["infiniband.payload"], "-");
    EXPECT_EQ(packet["infiniband.mad.mgmtclass"], "0x03");
}

TEST(Management, ShortDatagramIsMalformed) {
    auto bytes = management(header("10"), "");
    bytes.resize(100);
    const Described packet{bytes, LayerId::bth};
    EXPECT_EQ(packet.found.stop.outcome, Outcome::malformed);
    EXPECT_EQ(packet["infiniband.mad.attributeid"], "0x0010");

    bytes[1] = std::byte{0x30};  // three pad octets, so that the header itself is not whole
    bytes.resize(12 + 8 + 24 + 4);
    const Described padded{bytes, LayerId::bth};
    EXPECT_EQ(padded.found.stop.outcome, Outcome::malformed);
    EXPECT_EQ(padded["infiniband.mad"], "-");
}

}  // namespace
