#include <gtest/gtest.h>

#include "field_feed.h"

/// What an expression answers about values made up here. The answers are Wireshark 4.0's: wireshark-filter(4), and
/// tshark 4.0.17 tried on frames of such values.
namespace {

using filter_test::answer;
using filter_test::Feed;

Feed frame() {
    Feed feed;
    feed.octets("eth.dst", {0x52, 0x54, 0, 0, 0, 2})
        .octets("eth.src", {0x52, 0x54, 0, 0, 0, 1})
        .number("eth.type", 0x0800);
    feed.octets("eth.addr", {0x52, 0x54, 0, 0, 0, 2}).octets("eth.addr", {0x52, 0x54, 0, 0, 0, 1});
    feed.octets("ip.src", {192, 0, 2, 1}).octets("ip.dst", {192, 0, 2, 2});
    feed.octets("ip.addr", {192, 0, 2, 1}).octets("ip.addr", {192, 0, 2, 2});
    feed.number("udp.srcport", 61035).number("udp.dstport", 4791).number("udp.port", 61035).number("udp.port", 4791);
    feed.number("infiniband.bth.opcode", 17).number("infiniband.bth.se", 0).number("infiniband.bth.a", 1);
    feed.number("infiniband.bth.psn", 0xabcdef).number("infiniband.reth.va", 0xffffffffffffff00);
    feed.octets("infiniband.payload", {1, 2, 3, 4, 0x41, 0x42, 0x43, 0xff});
    feed.text("frame.protocols", "eth:ethertype:ip:udp:infiniband").number("frame.number", 7).number("frame.len", 90);
    feed.number("frame.time_relative", 1'500'000'000)
        .number("frame.time_delta", static_cast<std::uint64_t>(-250'000'000));
    feed.number("frame.time_epoch", 1'732'104'000'000'000'000);
    return feed;
}

struct Case {
    const char* expression;
    bool passes;
};

class Semantics : public testing::TestWithParam<Case> {};

TEST_P(Semantics, AnswersAsWireshark) {
    const Feed feed = frame();
    ASSERT_TRUE(feed.unknown().empty()) << feed.unknown().front();
    EXPECT_EQ(answer(GetParam().expression, feed), GetParam().passes ? "yes" : "no") << GetParam().expression;
}

INSTANTIATE_TEST_SUITE_P(Presence, Semantics,
                         testing::Values(Case{"udp.port", true}, Case{"tcp.port", false}, Case{"!tcp.port", true},
                                         Case{"not udp.port", false}, Case{"!!udp.port", true},
                                         Case{"not not not udp.port", false}, Case{".udp.port", true}, Case{"", true},
                                         Case{"  ", true}, Case{"infiniband.bth.se", true}, Case{"eth.src[0:3]", true},
                                         Case{"eth.src[5:2]", false}));

INSTANTIATE_TEST_SUITE_P(
    Logic, Semantics,
    testing::Values(Case{"udp.port and tcp.port", false}, Case{"udp.port && eth.src", true},
                    Case{"udp.port or tcp.port", true}, Case{"tcp.port || udp.port", true},
                    Case{"udp.port xor tcp.port", true}, Case{"udp.port ^^ eth.src", false},
                    Case{"udp.port ^^ eth.src ^^ ip.src", true}, Case{"tcp.port and tcp.port or udp.port", true},
                    Case{"udp.port or tcp.port and tcp.port", true}, Case{"(udp.port or tcp.port) and tcp.port", false},
                    Case{"not tcp.port and udp.port", true}, Case{"not (tcp.port or udp.port)", false},
                    Case{"!udp.dstport==4791", false}, Case{"udp.dstport>4790&&udp.dstport<5000", true},
                    Case{"tcp.port or tcp.port or tcp.port or udp.port", true},
                    Case{"udp.port and ip.src and eth.src and tcp.port", false}));

INSTANTIATE_TEST_SUITE_P(Numbers, Semantics,
                         testing::Values(Case{"udp.dstport == 4791", true}, Case{"udp.dstport eq 4791", true},
                                         Case{"udp.dstport == 0x12b7", true}, Case{"udp.dstport == 011267", true},
                                         Case{"udp.dstport == 0b1001010110111", true}, Case{"udp.dstport==4791", true},
                                         Case{"udp.dstport < 4791", false}, Case{"udp.dstport <= 4791", true},
                                         Case{"udp.dstport gt 4790", true}, Case{"udp.dstport ge 4792", false},
                                         Case{"udp.dstport ne 4791", false}, Case{"udp.dstport lt 4792", true},
                                         Case{"udp.dstport == -1", false}, Case{"udp.dstport > -1", true},
                                         Case{"frame.number == '\\a'", true}, Case{"frame.number == '\\007'", true},
                                         Case{"frame.number == '\\x07'", true}, Case{"frame.len == 'Z'", true},
                                         Case{"infiniband.reth.va == 0xffffffffffffff00", true},
                                         Case{"infiniband.reth.va > 0xffffffffffffff01", false},
                                         Case{"udp.srcport > udp.dstport", true}, Case{"udp.port == udp.dstport", true},
                                         Case{"4790 < udp.dstport", true},
                                         Case{"udp.dstport < udp.srcport < 65000", true},
                                         Case{"udp.dstport < udp.srcport < 61000", false}));

INSTANTIATE_TEST_SUITE_P(Occurrences, Semantics,
                         testing::Values(Case{"udp.port == 4791", true}, Case{"udp.port any_eq 4791", true},
                                         Case{"udp.port != 4791", false}, Case{"udp.port all_ne 4791", false},
                                         Case{"udp.port != 1", true}, Case{"udp.port === 4791", false},
                                         Case{"udp.port all_eq 4791", false}, Case{"udp.port !== 4791", true},
                                         Case{"udp.port any_ne 4791", true}, Case{"udp.port ~= 4791", true},
                                         Case{"all udp.port > 4000", true}, Case{"all udp.port > 5000", false},
                                         Case{"any udp.port > 61000", true}, Case{"any udp.port != 4791", true},
                                         Case{"all udp.port == 4791", false}, Case{"not all udp.port == 4791", true},
                                         Case{"ip.addr != 192.0.2.1", false}, Case{"!(ip.addr == 192.0.2.1)", false},
                                         Case{"tcp.port != 4791", false}, Case{"!(tcp.port == 4791)", true},
                                         Case{"all tcp.port == 1", false}));

INSTANTIATE_TEST_SUITE_P(
    Sets, Semantics,
    testing::Values(Case{"udp.port in {1, 4791}", true}, Case{"udp.dstport in {4790..4792}", true},
                    Case{"udp.dstport in {1 .. 5, 9}", false}, Case{"udp.dstport in {0x1000 .. 0x2000}", true},
                    Case{"udp.port not in {4791}", false}, Case{"tcp.port not in {1}", true},
                    Case{"not tcp.port in {1}", true}, Case{"all udp.port in {4791, 60000 .. 65535}", true},
                    Case{"all udp.port in {4791}", false}, Case{"any udp.port not in {4791}", false},
                    Case{"udp.port in {udp.srcport}", true}, Case{"udp.dstport in {1 .. udp.srcport}", true},
                    Case{"frame.number in {9..1}", false}, Case{"ip.addr in {192.0.2.1 .. 192.0.2.2}", true},
                    Case{"ip.src in {10.0.0.1..10.0.0.9, 192.0.2.0/24}", true},
                    Case{"eth.src in {52:54:00:00:00:00 .. 52:54:00:00:00:01}", true},
                    Case{"frame.protocols in {\"abc\", \"eth:ethertype:ip:udp:infiniband\"}", true},
                    Case{"eth.type in {\"IPv4\", \"IPv6\"}", true}, Case{"frame.time_relative in {1 .. 1.5}", true},
                    Case{"frame.time_relative in {0 .. 1}", false}));

INSTANTIATE_TEST_SUITE_P(
    Addresses, Semantics,
    testing::Values(Case{"ip.src == 192.0.2.1", true}, Case{"ip.src == 192.0.2.0/24", true},
                    Case{"ip.src == 192.0.2.255/24", true}, Case{"ip.src == 192.0.2.2/31", false},
                    Case{"ip.src == 192.0.2.0/31", true}, Case{"ip.src == 0.0.0.0/0", true},
                    Case{"ip.src != 192.0.2.0/24", false}, Case{"ip.src > 192.0.2.0/24", false},
                    Case{"ip.src > 192.0.2.0", true}, Case{"ip.src == ip.dst", false}, Case{"ip.src < ip.dst", true},
                    Case{"ip.src[0] == c0", true}, Case{"ip.src & 255.255.255.0 == 192.0.2.0", true},
                    Case{"ipv6.src == 2001:db8::/32", false}, Case{"eth.src == 52:54:00:00:00:01", true},
                    Case{"eth.src == 52-54-00-00-00-01", true}, Case{"eth.src == 5254.0000.0001", true},
                    Case{"eth.src == 525400000001", true}, Case{"eth.src > 52:54:00:00:00:00", true},
                    Case{"eth.src == \"52:54:00:00:00:01\"", true}, Case{"ip.src == \"192.0.2.1\"", true}));

INSTANTIATE_TEST_SUITE_P(
    Slices, Semantics,
    testing::Values(Case{"eth.src[0:3] == 52:54:00", true}, Case{"eth.src[1-2] == 54:00", true},
                    Case{"eth.src[:4] == 52:54:00:00", true}, Case{"eth.src[4:] == 00:01", true},
                    Case{"eth.src[0] == 52", true}, Case{"eth.src[0] == 0x52", true}, Case{"eth.src[0] == \"R\"", true},
                    Case{"eth.src[0] == 'R'", true}, Case{"eth.src[-1] == 01", true},
                    Case{"eth.src[-3:2] == 00:00", true}, Case{"eth.src[-3:] == 00:00:01", true},
                    Case{"eth.src[0,1-2,5] == 52:54:00:01", true}, Case{"eth.src[0:3][0] == 52", true},
                    Case{"eth.src[7] == 1", false}, Case{"eth.src[5:9]", false}, Case{"eth.src[0:2] == ip.src", false},
                    Case{"frame.protocols[0:3] == \"eth\"", true}, Case{"eth.src[-6--5] == 52:54", true},
                    Case{"frame.protocols[0:3] == 65:74:68", true}, Case{"infiniband.payload[4:3] == \"ABC\"", true},
                    Case{"infiniband.payload[100-199] contains \"x\"", false},
                    Case{"eth.src[ 0 : 3 ] == 52:54:00", true}));

INSTANTIATE_TEST_SUITE_P(
    Searches, Semantics,
    testing::Values(Case{"frame.protocols contains \"udp\"", true}, Case{"frame.protocols contains \"UDP\"", false},
                    Case{"frame.protocols contains 75:64:70", false}, Case{"frame.protocols matches \"^ETH\"", true},
                    Case{"frame.protocols matches \"(?-i)^ETH\"", false}, Case{"frame.protocols ~ r\"eth:\\w+\"", true},
                    Case{"frame.protocols matches \"udp$\"", false}, Case{"eth.src contains 54:00", true},
                    Case{"infiniband.payload contains \"ABC\"", true}, Case{"infiniband.payload contains 41:42", true},
                    Case{"infiniband.payload contains 0x43", true}, Case{"infiniband.payload contains 5", false},
                    Case{"infiniband.payload matches \"abc.$\"", true}, Case{"eth.src matches \"T\"", true},
                    Case{"infiniband.payload contains \"\\x41B\"", true},
                    Case{"infiniband.payload contains \"\\101B\"", true},
                    Case{"frame.protocols contains r\"\\x\"", false}, Case{"infiniband.payload[4:] contains 42", true},
                    Case{"frame.protocols matches \"(e+)+$\"", false}, Case{"tcp.payload matches \"a\"", false}));

INSTANTIATE_TEST_SUITE_P(
    Arithmetic, Semantics,
    testing::Values(Case{"udp.dstport + 1 == 4792", true}, Case{"udp.dstport - 5000 < 0", true},
                    Case{"udp.dstport - 5000 == -209", true}, Case{"udp.dstport -1 == 4790", true},
                    Case{"udp.dstport == 4790 + 1", true}, Case{"udp.dstport == 4790 +1", true},
                    Case{"udp.dstport == 2 * 3 + 4785", true}, Case{"udp.dstport + 2 * 3 == 4797", true},
                    Case{"{udp.dstport + 2} * 3 == 14379", true}, Case{"(udp.dstport + 2) * 3 == 14379", true},
                    Case{"udp.dstport % 2 == 1", true}, Case{"udp.dstport / 2 == 2395", true},
                    Case{"udp.dstport / 0 == 0", false}, Case{"udp.dstport % 0 == 1", false},
                    Case{"-udp.dstport == -4791", true}, Case{"- -udp.dstport == 4791", true},
                    Case{"udp.dstport - 4791", false}, Case{"udp.dstport - 4790", true}, Case{"udp.dstport & 1", true},
                    Case{"udp.dstport & 8", false}, Case{"udp.dstport & 0xff == 0xb7", true},
                    Case{"udp.dstport & 0xffff & 0xf == 7", true}, Case{"udp.dstport bitwise_and 7 == 7", true},
                    Case{"eth.src[0] & 0x02 == 2", true}, Case{"eth.src[0] & 1", false},
                    Case{"eth.src & ff:00:00:00:00:00", true}, Case{"eth.src & 00:00:00:00:00:fe", false},
                    Case{"ip.src[0:2] & ff:00 == c0:00", true}, Case{"ip.src[0:2] & ff:00:00 == c0:00", true},
                    Case{"frame.len == frame.number + 83", true}, Case{"udp.port + 1 == 4792", true},
                    Case{"infiniband.reth.va + 256 > 0xffffffffffffffff", true},
                    Case{"infiniband.reth.va * infiniband.reth.va * infiniband.reth.va > 0", false}));

INSTANTIATE_TEST_SUITE_P(
    Functions, Semantics,
    testing::Values(
        Case{"len(eth.src) == 6", true}, Case{"len(udp.port) == 2", true}, Case{"len(frame.protocols) > 30", true},
        Case{"len({udp.port}) == 2", true}, Case{"len(infiniband.payload) == 8", true},
        Case{"len(tcp.options) == 0", false}, Case{"len(infiniband.bth.psn) == 3", true},
        Case{"count(udp.port) == 2", true}, Case{"count(udp.port) + 1 == 3", true}, Case{"count(tcp.port) == 0", false},
        Case{"upper(frame.protocols) contains \"UDP\"", true}, Case{"upper(frame.protocols)[0:3] == \"ETH\"", true},
        Case{"lower(frame.protocols) == \"eth:ethertype:ip:udp:infiniband\"", true},
        Case{"string(udp.port) matches \"4791\"", true}, Case{"string(udp.port) == 4791", true},
        Case{"string(ip.src) == \"192.0.2.1\"", true}, Case{"string(eth.src) contains \"52:54\"", true},
        Case{"string(infiniband.bth.psn) matches \"^0x\"", false},
        Case{"string(frame.time_relative) == \"1.500000000\"", true},
        Case{"string(frame.time_delta) == \"-0.250000000\"", true}, Case{"string(eth.src[0:2]) == \"5254\"", true},
        Case{"max(udp.srcport, udp.dstport) == 61035", true}, Case{"min(udp.srcport, udp.dstport) == 4791", true},
        Case{"max(udp.port) == 61035", true}, Case{"max(udp.dstport, 5000) == 5000", true},
        Case{"max(tcp.srcport, udp.dstport) == 4791", true}, Case{"max(len(eth.src), 3) == 6", true},
        Case{"max(ip.src, ip.dst) == 192.0.2.2", true}, Case{"abs(udp.dstport - 5000) == 209", true},
        Case{"abs(frame.time_delta) == 0.25", true}));

INSTANTIATE_TEST_SUITE_P(NamesAndBooleans, Semantics,
                         testing::Values(Case{"eth.type == \"IPv4\"", true}, Case{"eth.type == IPv4", true},
                                         Case{"eth.type == \"ipv4\"", true}, Case{"infiniband.bth.a == True", true},
                                         Case{"infiniband.bth.a == true", true},
                                         Case{"infiniband.bth.a == \"True\"", true},
                                         Case{"infiniband.bth.a == 1", true}, Case{"infiniband.bth.a == 5", true},
                                         Case{"infiniband.bth.a != FALSE", true}, Case{"infiniband.bth.se == 0", true},
                                         Case{"infiniband.bth.se == True", false},
                                         Case{"infiniband.bth.a in {True}", true}));

INSTANTIATE_TEST_SUITE_P(
    Times, Semantics,
    testing::Values(Case{"frame.time_relative == 1.5", true}, Case{"frame.time_relative > 1", true},
                    Case{"frame.time_relative > 1.500000000", false}, Case{"frame.time_relative < 1.500000001", true},
                    Case{"frame.time_delta < 0", true}, Case{"frame.time_delta == -0.25", true},
                    Case{"frame.time_relative - 0.5 == 1", true}, Case{"frame.time_relative > frame.time_delta", true},
                    Case{"frame.time_epoch == \"2024-11-20 12:00:00Z\"", true},
                    Case{"frame.time_epoch == \"2024-11-20T14:00:00+02:00\"", true},
                    Case{"frame.time_epoch == \"Nov 20, 2024 12:00:00 UTC\"", true},
                    Case{"frame.time_epoch < \"2024-11-20 12:00:00.000000001Z\"", true},
                    Case{"frame.time_epoch > 2020-01-01", true}, Case{"frame.time_epoch == 1732104000", true}));

/// As `tshark -G values` names them; our own names, those of the RFCs, go on being accepted.
TEST(Semantics, ValuesHaveWiresharksNamesToo) {
    const auto feed = filter_test::Feed{}
                          .number("ip.dsfield.ecn", 3)
                          .number("ip.dsfield.dscp", 46)
                          .number("ip.proto", 4)
                          .number("ipv6.nxt", 44);
    for (const char* expression :
         {R"(ip.dsfield.ecn == "Congestion Experienced")", R"(ip.dsfield.ecn == "CE")",
          R"(ip.dsfield.dscp == "Expedited Forwarding")", R"(ip.dsfield.dscp != "Default")", R"(ip.proto == "IPIP")",
          R"(ip.proto in {"IPv6", "ipip"})", R"(ipv6.nxt == "Fragment Header for IPv6")"})
        EXPECT_EQ(filter_test::answer(expression, feed), "yes") << expression;
    EXPECT_EQ(filter_test::answer(R"(ip.proto == "Nonsense")", feed),
              "\"Nonsense\" is not among the values of ip.proto");
}

/// Occurrences of more than one layer of a protocol, and values that outlive the call that brought them.
TEST(Collector, KeepsValuesWhoseOctetsDie) {
    dissect::FieldCollector collector{filter_test::registry()};
    auto filter = dissect::filter::Filter::compile("frame.protocols == \"abc\"", filter_test::registry(), collector);
    ASSERT_TRUE(filter.ok());
    collector.begin_frame({});
    {
        std::string dying = "abc";
        collector.field(*filter_test::registry().find("frame.protocols")->info, {0, {}, dying}, {});
        dying = "xyz";
    }
    EXPECT_TRUE(filter->matches(collector));
    collector.begin_frame({});
    EXPECT_FALSE(filter->matches(collector));
}

TEST(Collector, LeavesOutWhatGoesBeyondItsBounds) {
    dissect::FieldCollector collector{filter_test::registry()};
    const auto& field = *filter_test::registry().find("frame.len");
    const std::uint32_t slot = collector.want(field);
    EXPECT_EQ(collector.want(field), slot);
    collector.begin_frame({});
    for (std::size_t i = 0; i < dissect::FieldCollector::max_values + 5; ++i)
        collector.field(*field.info, {i, {}, {}}, {});
    EXPECT_EQ(collector.values(slot).size(), dissect::FieldCollector::max_values);
    EXPECT_EQ(collector.omitted(), 5u);
}

}  // namespace
