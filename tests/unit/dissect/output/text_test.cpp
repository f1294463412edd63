// Lines for people, each written by hand from what the frame's octets say.
#include <gtest/gtest.h>

#include "dissect/output/listing.h"
#include "dissect/output/text_line.h"
#include "dissect/output/tree.h"
#include "frames.h"

namespace {

using namespace dissect;
using namespace dissect::output;

TextOptions seconds() {
    TextOptions options;
    options.time_style = base::TimeStyle::seconds;
    return options;
}

std::string both(const TextOptions& options) {
    std::string out;
    TextPrinter printer{out, options};
    frames::show_both(printer);
    return out;
}

std::string one(std::string_view digits, TextOptions options = {}) {
    options.time_style = base::TimeStyle::none;
    const auto octets = frames::from_hex(digits);
    std::string out;
    TextPrinter printer{out, std::move(options)};
    Dissector dissector;
    const wire::Frame frame = frames::frame(octets, 1, 0);
    dissector.dissect(frame, printer);
    printer.end_frame(true);
    return out;
}

TEST(Text, OneLineAUnit) {
    EXPECT_EQ(
        both(seconds()),
        "1795225249.783379 192.0.2.1 > 192.0.2.2 RoCEv2 RC SEND Only                 qp 0x000011 psn 6580053  len 16 "
        "ackreq\n"
        "1795225249.784535 192.0.2.2 > 192.0.2.1 RoCEv2 RC Acknowledge               qp 0x000011 psn 6580053  msn 6\n");
}

TEST(Text, Quieter) {
    TextOptions options = seconds();
    options.quiet = true;
    EXPECT_EQ(
        both(options),
        "1795225249.783379 192.0.2.1 > 192.0.2.2 RoCEv2 RC SEND Only                 qp 0x000011 psn 6580053 len 16\n"
        "1795225249.784535 192.0.2.2 > 192.0.2.1 RoCEv2 RC Acknowledge               qp 0x000011 psn 6580053\n");
}

TEST(Text, NumbersLinkHeadersAndDetails) {
    TextOptions options;
    options.number = options.link_header = true;
    options.verbosity = 1;
    // The link header and the parentheses say what tcpdump -e -v says of the frame.
    EXPECT_EQ(one(frames::send_only, options),
              "    1  52:54:00:00:00:01 > 52:54:00:00:00:02, ethertype IPv4 (0x0800), length 74: 192.0.2.1 > 192.0.2.2 "
              "RoCEv2 "
              "RC SEND Only                 qp 0x000011 psn 6580053  len 16 ackreq pkey 0xffff ICRC good "
              "(tos 0x0, ttl 64, id 3646, flags [DF], udp 57960 > 4791)\n");
}

TEST(Text, HostNamesComeFromTheCaller) {
    TextOptions options;
    options.host_names = [](std::string& out, base::Bytes address) {
        if (address[3] != std::byte{1}) return false;
        out += "alpha";
        return true;
    };
    EXPECT_EQ(one(frames::send_only, options).substr(0, 25), "alpha > 192.0.2.2 RoCEv2 ");
}

TEST(Text, OneBitFlippedIsABadIcrc) {
    std::string flipped{frames::send_only};
    flipped[flipped.size() - 1] = 'e';
    EXPECT_NE(one(flipped).find(" ackreq ICRC bad\n"), std::string::npos) << one(flipped);
}

TEST(Text, NaksCongestionAndTimers) {
    // Frame 21 with other syndromes, its ECN bits set to CE.
    const auto with_syndrome = [](std::string_view syndrome) {
        std::string digits{frames::acknowledge};
        digits.replace(digits.find("4500"), 4, "4503");
        digits.replace(digits.find("1f000006"), 2, syndrome);
        return one(digits);
    };
    EXPECT_NE(with_syndrome("60").find("RC NAK PSN sequence error    qp 0x000011"), std::string::npos);
    EXPECT_NE(with_syndrome("62").find("RC NAK remote access error   qp 0x000011"), std::string::npos);
    EXPECT_NE(with_syndrome("7f").find("RC NAK code 31               qp 0x000011"), std::string::npos);
    EXPECT_NE(with_syndrome("2c").find("RC RNR NAK 0.64 ms           qp 0x000011"), std::string::npos);
    EXPECT_NE(with_syndrome("05").find(" msn 6 credits 6"), std::string::npos);  // code 5 stands for 6 credits
    EXPECT_NE(with_syndrome("00").find(" CE"), std::string::npos);
}

TEST(Text, ARetransmissionNamesItsFrame) {
    const auto octets = frames::from_hex(frames::send_only);
    std::string out;
    TextPrinter printer{out, {}};
    Dissector dissector;
    for (const std::uint64_t number : {17u, 18u}) {
        out.clear();
        const wire::Frame frame = frames::frame(octets, number, 0);
        dissector.dissect(frame, printer);
        printer.end_frame(true);
    }
    EXPECT_NE(out.find(" ackreq retransmission of frame 17\n"), std::string::npos) << out;
}

TEST(Text, CutHeadersAreTold) {
    auto octets = frames::from_hex(frames::acknowledge);
    auto frame = frames::frame(octets, 1, 0);
    frame.bytes = frame.bytes.first(56);  // two octets of AETH
    TextOptions options;
    options.time_style = base::TimeStyle::none;
    std::string out;
    TextPrinter printer{out, options};
    Dissector dissector;
    dissector.dissect(frame, printer);
    printer.end_frame(true);
    EXPECT_NE(out.find("psn 6580053  [truncated: AETH needs 4 bytes at 54, 2 captured]\n"), std::string::npos) << out;
}

TEST(Text, OtherFramesInTcpdumpsWords) {
    constexpr std::string_view arp_request =
        "525400000002525400000001 0806 0001080006040001525400000001c0000201000000000000c0000202";
    EXPECT_EQ(one(arp_request), "");
    TextOptions all;
    all.all = true;
    EXPECT_EQ(one(arp_request, all), "ARP, Request who-has 192.0.2.2 tell 192.0.2.1, length 28\n");
    // A SYN of siw-rping, options left out: tcpdump said "IP 192.0.2.2.34491 > 192.0.2.1.7174: Flags [S], seq
    // 1399067883, win 64240".
    constexpr std::string_view syn =
        "525400000001525400000002 0800 45000028 0e784000 40060000 c0000202 c0000201 86bb1c06 536414eb 00000000 "
        "5002faf0 00000000";
    EXPECT_EQ(one(syn, all), "IP 192.0.2.2.34491 > 192.0.2.1.7174: Flags [S], seq 1399067883, win 64240, length 0\n");
}

/// Made by hand: a RUD_REQ (type 2) with SYN, an ACK (type 7), and a type that is reserved.
TEST(Text, UltraEthernetIsNamed) {
    TextOptions all;
    all.all = true;
    const auto packet = [&](std::string_view payload) {
        return one("525400000001525400000002 0800 45000028 0e780000 40110000 c0000202 c0000201 c00012b900140000" +
                       std::string(payload),
                   all);
    };
    EXPECT_EQ(packet("108400000000000100070008"), "IP 192.0.2.2.49152 > 192.0.2.1.4793: UET RUD_REQ, length 12\n");
    EXPECT_EQ(packet("380000000000000100070008"), "IP 192.0.2.2.49152 > 192.0.2.1.4793: UET ACK, length 12\n");
    EXPECT_EQ(packet("780000000000000100070008"), "IP 192.0.2.2.49152 > 192.0.2.1.4793: UDP, length 12\n");
}

/// Made by hand, without a right ICRC.
TEST(Text, MrcIsNamedAsWhatItMayBe) {
    const auto packet = [](std::string_view opcode) {
        return one("525400000001525400000002 0800 45000030 0e780000 40110000 c0000202 c0000201 c00012b7001c0000" +
                   std::string(opcode) + "00ffff0000001200000001 00010001 00000000");
    };
    EXPECT_NE(packet("ca").find("RoCEv2 manufacturer opcode 0xca (MRC WRITE Only) "), std::string::npos)
        << packet("ca");
    EXPECT_NE(packet("dc").find("opcode 0xdc (MRC SACK) "), std::string::npos);
    EXPECT_EQ(packet("c0").find("MRC"), std::string::npos);
    // Two readings of the specification compute its ICRC differently, and no capture of an adapter decides.
    EXPECT_EQ(packet("ca").find("ICRC"), std::string::npos) << packet("ca");
    EXPECT_NE(packet("c0").find("ICRC"), std::string::npos) << packet("c0");
}

TEST(Text, TcpSequenceNumbersCountFromTheFirstSegment) {
    // The SYN's answer, the client's acknowledgement and the MPA Request's segment of siw-rping-crc. tcpdump -n printed
    // of them "seq 1114701094, ack 1399067884", "ack 1" and "seq 1:25, ack 1".
    const auto segment = [](bool from_client, std::uint32_t sequence, std::uint32_t acknowledgment,
                            std::uint8_t flags) {
        Dissection d;
        d.network.family = Network::Family::ipv4;
        d.network.source_offset = from_client ? 0 : 4;
        d.network.destination_offset = from_client ? 4 : 0;
        d.source_port = from_client ? 34491 : 7174;
        d.destination_port = from_client ? 7174 : 34491;
        d.tcp.sequence = sequence;
        d.tcp.acknowledgment = acknowledgment;
        d.tcp.flags = flags;
        return d;
    };
    const auto addresses = frames::from_hex("c0000202 c0000201");
    TcpSequences sequences;
    EXPECT_EQ(sequences.next(segment(true, 1399067883, 0, 2), addresses).sequence, 1399067883u);
    const auto answer = sequences.next(segment(false, 1114701094, 1399067884, 18), addresses);
    EXPECT_EQ(answer.sequence, 1114701094u);
    EXPECT_EQ(answer.acknowledgment, 1399067884u);
    EXPECT_EQ(sequences.next(segment(true, 1399067884, 1114701095, 16), addresses).acknowledgment, 1u);
    const auto request = sequences.next(segment(true, 1399067884, 1114701095, 24), addresses);
    EXPECT_EQ(request.sequence, 1u);
    EXPECT_EQ(request.acknowledgment, 1u);
}

TEST(Text, PauseFramesAreShown) {
    std::string pfc = "0180c2000001 020000000001 8808 0101 0008 0000 0000 0000 ffff 0000 0000 0000 0000";
    pfc += std::string(52, '0');
    EXPECT_EQ(one(pfc), "02:00:00:00:00:01 > 01:80:c2:00:00:01 PFC class 3 quanta 65535\n");
}

TEST(Tree, HiddenFieldsAreNotInIt) {
    std::string out;
    TreePrinter printer{out, {}};
    frames::show_both(printer);
    EXPECT_NE(out.find("Frame 20: 74 bytes on wire (592 bits), 74 bytes captured (592 bits)\n"
                       "    Encapsulation type: Ethernet (1)\n"),
              std::string::npos)
        << out;
    EXPECT_NE(
        out.find("InfiniBand\n    Base Transport Header\n        Opcode: Reliable Connection (RC) - SEND Only (4)\n"
                 "        0... .... = Solicited Event: False\n        .0.. .... = MigReq: False\n"),
        std::string::npos);
    EXPECT_EQ(out.find("Source or destination"), std::string::npos);
}

// As `tshark -V` has them for these frames.
TEST(Tree, HeadingsRepeatWhatOneLooksForFirst) {
    std::string out;
    TreePrinter printer{out, {}};
    frames::show_both(printer);
    for (const char* heading :
         {"\nEthernet II, Src: 52:54:00:00:00:01, Dst: 52:54:00:00:00:02\n    Destination: 52:54:00:00:00:02\n",
          "\nInternet Protocol Version 4, Src: 192.0.2.1, Dst: 192.0.2.2\n    0100 .... = Version: 4\n",
          "\nUser Datagram Protocol, Src Port: 57960, Dst Port: 4791\n    Source port: 57960\n", "\nData (16 bytes)\n"})
        EXPECT_NE(out.find(heading), std::string::npos) << heading << out;
}

TEST(Listing, LinesAreShapedAsTsharks) {
    const FieldRegistry registry;
    const std::string text = list_fields(registry);
    EXPECT_NE(text.find("P\tInfiniBand\tinfiniband\n"), std::string::npos);
    EXPECT_NE(text.find("F\tPacket Sequence Number\tinfiniband.bth.psn\tFT_UINT24\tinfiniband\tBASE_DEC\t0x0\t\n"),
              std::string::npos);
    EXPECT_NE(text.find("F\tAcknowledge Request\tinfiniband.bth.a\tFT_BOOLEAN\tinfiniband\t8\t0x80\t\n"),
              std::string::npos);
    EXPECT_NE(text.find("F\tMarker flag\tiwarp_mpa.marker_flag\tFT_BOOLEAN\tiwarp_mpa\t8\t0x80\t\n"),
              std::string::npos);
    EXPECT_NE(text.find("F\tFrame Number\tframe.number\tFT_UINT32\tframe\tBASE_DEC\t0x0\t\n"), std::string::npos);
    EXPECT_EQ(text.find("\t\t\tFT_"), std::string::npos);
}

}  // namespace
