#include <gtest/gtest.h>

#include "fabric/discovery/attributes.h"
#include "fabric/findings/subnet_finding.h"
#include "fabric/node_names.h"
#include "fabric/subnet.h"

namespace {

using fabric::Counter;
using fabric::CounterReading;
using fabric::findings::find_problems;
using fabric::findings::FindingKind;
using fabric::findings::Grade;

constexpr fabric::WidthMask one_x = 1;
constexpr fabric::WidthMask four_x = 2;

fabric::Node node(fabric::Guid guid, fabric::Guid peer) {
    fabric::Node made;
    made.guid = guid;
    made.port_count = 1;
    fabric::Port port;
    port.number = 1;
    port.lid = static_cast<fabric::Lid>(guid);
    port.state = fabric::PortState::active;
    port.physical = fabric::PhysicalState::link_up;
    port.widths_supported = one_x | four_x;
    port.widths_enabled = one_x | four_x;
    port.speeds_supported = fabric::speed_of("SDR") | fabric::speed_of("HDR");
    port.speeds_enabled = port.speeds_supported;
    port.rate = {four_x, fabric::speed_of("HDR")};
    port.peer = fabric::PortId{peer, 1};
    made.ports.push_back(port);
    return made;
}

/// Two adapters, one link between them, and a master.
fabric::Subnet pair() {
    fabric::Subnet subnet;
    subnet.add(node(1, 2));
    subnet.add(node(2, 1));
    fabric::SubnetManager master;
    master.port = fabric::PortId{1, 1};
    master.state = fabric::ManagerState::master;
    subnet.managers.push_back(master);
    return subnet;
}

fabric::Port& first_port(fabric::Subnet& subnet) { return subnet.nodes[0].ports[0]; }

void train(fabric::Subnet& subnet, fabric::LinkRate rate) {
    for (fabric::Node& each : subnet.nodes) each.ports[0].rate = rate;
}

TEST(Findings, AGoodSubnetHasNone) { EXPECT_TRUE(find_problems(pair()).empty()); }

TEST(Findings, ALaneThatFailedIsWrong) {
    fabric::Subnet subnet = pair();
    train(subnet, {one_x, fabric::speed_of("HDR")});
    const auto found = find_problems(subnet);
    ASSERT_EQ(found.size(), 1);
    EXPECT_EQ(found[0].kind, FindingKind::width_degraded);
    EXPECT_EQ(found[0].grade, Grade::wrong);
    EXPECT_EQ(found[0].observed, "the link is 1X wide, and both ends can 4X");
}

TEST(Findings, AWidthThatAnEndIsConfiguredForIsMinor) {
    fabric::Subnet subnet = pair();
    train(subnet, {one_x, fabric::speed_of("HDR")});
    first_port(subnet).widths_enabled = one_x;
    ASSERT_EQ(find_problems(subnet).size(), 1);
    EXPECT_EQ(find_problems(subnet)[0].grade, Grade::minor);
}

TEST(Findings, ASpeedBelowWhatBothEndsCanIsWrong) {
    fabric::Subnet subnet = pair();
    train(subnet, {four_x, fabric::speed_of("SDR")});
    ASSERT_EQ(find_problems(subnet).size(), 1);
    EXPECT_EQ(find_problems(subnet)[0].kind, FindingKind::speed_degraded);
    EXPECT_EQ(find_problems(subnet)[0].grade, Grade::wrong);
    // An old adapter at the other end can no more.
    subnet.nodes[1].ports[0].speeds_supported = fabric::speed_of("SDR");
    EXPECT_TRUE(find_problems(subnet).empty());
}

TEST(Findings, ACounterThatDidNotGrowIsNoNews) {
    fabric::Subnet subnet = pair();
    CounterReading reading;
    reading.time_ns = 1'000'000'000;
    reading.set(Counter::symbol_errors, 12, false);
    first_port(subnet).counters = reading;
    ASSERT_EQ(find_problems(subnet).size(), 1);
    EXPECT_EQ(find_problems(subnet)[0].grade, Grade::suspected);
    reading.time_ns += 500'000'000;
    first_port(subnet).later_counters = reading;
    EXPECT_TRUE(find_problems(subnet).empty());
    reading.set(Counter::symbol_errors, 15, false);
    first_port(subnet).later_counters = reading;
    ASSERT_EQ(find_problems(subnet).size(), 1);
    EXPECT_EQ(find_problems(subnet)[0].grade, Grade::wrong);
    EXPECT_EQ(find_problems(subnet)[0].evidence[0].grown, 3);
    // 3 in half a second.
    EXPECT_EQ(growth_per_sec(*first_port(subnet).counters, reading, Counter::symbol_errors), 6.0);
}

TEST(Findings, ACounterAtItsLimitOrResetHasNoGrowth) {
    CounterReading before;
    CounterReading after;
    before.set(Counter::symbol_errors, 65535, true);
    after.set(Counter::symbol_errors, 65535, true);
    EXPECT_EQ(growth(before, after, Counter::symbol_errors), std::nullopt);
    before.set(Counter::symbol_errors, 100, false);
    after.set(Counter::symbol_errors, 4, false);
    EXPECT_EQ(growth(before, after, Counter::symbol_errors), std::nullopt);
    EXPECT_EQ(growth(before, after, Counter::link_downed), std::nullopt);
}

TEST(Findings, AManagerThatDoesNotAnswerCouldBeTheMaster) {
    fabric::Subnet subnet = pair();
    subnet.managers.clear();
    ASSERT_EQ(find_problems(subnet).size(), 1);
    EXPECT_EQ(find_problems(subnet)[0].kind, FindingKind::no_manager);
    first_port(subnet).has_manager = true;
    subnet.unanswered.push_back({"SMInfo at the route 0", "no answer"});
    ASSERT_EQ(find_problems(subnet).size(), 1);
    EXPECT_EQ(find_problems(subnet)[0].kind, FindingKind::unanswered);
    EXPECT_EQ(find_problems(subnet)[0].observed,
              "1 question got no answer, the first is SMInfo at the route 0: no answer");
}

TEST(Findings, LidsOfAMaskOverlap) {
    fabric::Subnet subnet = pair();
    // 4 to 7, and 6.
    first_port(subnet).lid = 4;
    first_port(subnet).lmc = 2;
    subnet.nodes[1].ports[0].lid = 6;
    ASSERT_EQ(find_problems(subnet).size(), 1);
    EXPECT_EQ(find_problems(subnet)[0].kind, FindingKind::lid_twice);
    subnet.nodes[1].ports[0].lid = 8;
    EXPECT_TRUE(find_problems(subnet).empty());
}

// What the coding leaves of the signalling rate: 8b/10b up to QDR, 64b/66b from FDR on.
TEST(WidthSpeed, DataRates) {
    const auto rate = [](std::string_view width, std::string_view speed) {
        return fabric::LinkRate{fabric::width_of(width), fabric::speed_of(speed)}.bits_per_sec();
    };
    EXPECT_DOUBLE_EQ(rate("4X", "SDR"), 8e9);
    EXPECT_DOUBLE_EQ(rate("4X", "QDR"), 32e9);
    EXPECT_NEAR(rate("4X", "FDR"), 54.545e9, 1e6);
    EXPECT_DOUBLE_EQ(rate("4X", "EDR"), 100e9);
    EXPECT_DOUBLE_EQ(rate("4X", "HDR"), 200e9);
    EXPECT_DOUBLE_EQ(rate("2X", "HDR"), 100e9);
    EXPECT_DOUBLE_EQ(rate("4X", "NDR"), 400e9);
    EXPECT_DOUBLE_EQ(rate("12X", "DDR"), 48e9);
}

TEST(WidthSpeed, TheGreatestOfASetIsByLanesNotByBits) {
    // 2X has the greatest bit.
    EXPECT_EQ(fabric::width_name(fabric::greatest_width(1 | 2 | 16)), "4X");
    EXPECT_EQ(fabric::width_name(fabric::greatest_width(16)), "2X");
    EXPECT_EQ(fabric::greatest_width(0), 0);
    EXPECT_EQ(fabric::speed_name(fabric::greatest_speed(0x17)), "FDR");
}

// IBTA vol. 1, 14.2.5.3: type, number of ports and the port that answers, by hand.
TEST(Attributes, NodeInfoHasAPortThatTheNodeHas) {
    const auto is_valid = [](unsigned type, unsigned ports, unsigned port) {
        std::array<std::byte, 64> bytes{};
        bytes[2] = std::byte(type);
        bytes[3] = std::byte(ports);
        bytes[36] = std::byte(port);
        return fabric::discovery::read_node_info(bytes).has_value();
    };
    EXPECT_TRUE(is_valid(1, 2, 2));
    EXPECT_TRUE(is_valid(2, 254, 254));
    EXPECT_TRUE(is_valid(2, 36, 0));
    EXPECT_FALSE(is_valid(0, 2, 1));
    EXPECT_FALSE(is_valid(4, 2, 1));
    EXPECT_FALSE(is_valid(1, 2, 0));
    EXPECT_FALSE(is_valid(1, 2, 3));
    EXPECT_FALSE(is_valid(2, 36, 99));
    EXPECT_FALSE(is_valid(2, 255, 1));
}

// IBTA vol. 1, 14.2.5.6: bytes by hand.
TEST(Attributes, PortInfoOfAnHdrPort) {
    std::array<std::byte, 64> bytes{};
    bytes[17] = std::byte{42};    // LID
    bytes[23] = std::byte{0x02};  // a subnet manager
    bytes[29] = std::byte{0x03};  // widths enabled: 1X, 4X
    bytes[30] = std::byte{0x13};  // widths supported: 1X, 4X, 2X
    bytes[31] = std::byte{0x02};  // 4X
    bytes[32] = std::byte{0x74};  // SDR to QDR supported; active
    bytes[33] = std::byte{0x52};  // link up
    bytes[34] = std::byte{0x02};  // LMC 2
    bytes[35] = std::byte{0x47};  // the speed without extension: QDR; SDR to QDR enabled
    bytes[47] = std::byte{9};     // P_Key violations
    bytes[62] = std::byte{0x47};  // HDR; FDR, EDR, HDR supported
    bytes[63] = std::byte{0x07};
    const fabric::Port port = fabric::discovery::read_port_info(bytes);
    EXPECT_EQ(port.lid, 42);
    EXPECT_TRUE(port.has_manager);
    EXPECT_EQ(port.lmc, 2);
    EXPECT_EQ(port.state, fabric::PortState::active);
    EXPECT_TRUE(port.is_up());
    EXPECT_EQ(fabric::speed_name(port.rate.speed), "HDR");
    EXPECT_EQ(fabric::speed_name(fabric::greatest_speed(port.speeds_supported)), "HDR");
    EXPECT_EQ(fabric::speed_name(fabric::greatest_speed(port.speeds_enabled)), "HDR");
    EXPECT_EQ(fabric::width_name(fabric::greatest_width(port.widths_supported)), "4X");
    EXPECT_EQ(port.violations.p_key, 9);
}

// IBTA vol. 1, 16.1.3.5 and 16.1.4.11: bytes by hand.
TEST(Attributes, CountersOfErrorsHave64BitsOnlyIfThePortSaysSo) {
    std::array<std::byte, 192> info{};
    info[2] = std::byte{0x12};  // PortXmitWait and PortCountersExtended
    std::array<std::byte, 192> narrow{};
    narrow[4] = std::byte{0xff};
    narrow[5] = std::byte{0xff};  // SymbolErrorCounter at its limit
    narrow[7] = std::byte{2};     // LinkDownedCounter
    narrow[43] = std::byte{5};    // PortXmitWait
    narrow[27] = std::byte{3};    // PortXmitData, in words
    std::array<std::byte, 192> wide{};
    wide[8] = std::byte{1};  // PortXmitData: 2^56 words
    wide[77] = std::byte{1};
    wide[78] = std::byte{1};   // SymbolErrorCounter: 2^16 + 2^8
    wide[95] = std::byte{4};   // LinkDownedCounter
    wide[175] = std::byte{6};  // PortXmitWait
    const auto read = [&] {
        const auto abilities = fabric::discovery::read_abilities(info);
        CounterReading reading;
        fabric::discovery::read_port_counters(narrow, abilities, reading);
        fabric::discovery::read_wide_counters(wide, abilities, reading);
        return reading;
    };
    CounterReading reading = read();
    EXPECT_EQ(reading.value(Counter::transmit_bytes), std::uint64_t{1} << 58);
    EXPECT_EQ(reading.value(Counter::symbol_errors), 65535);
    EXPECT_TRUE(reading.is_at_limit(Counter::symbol_errors));
    EXPECT_EQ(reading.value(Counter::link_downed), 2);
    EXPECT_EQ(reading.value(Counter::transmit_wait), 5);
    info[7] = std::byte{1 << 6};  // the second bit of the second mask, whose low five bits are the time of answers
    reading = read();
    EXPECT_EQ(reading.value(Counter::symbol_errors), 65536 + 256);
    EXPECT_FALSE(reading.is_at_limit(Counter::symbol_errors));
    EXPECT_EQ(reading.value(Counter::link_downed), 4);
    EXPECT_EQ(reading.value(Counter::transmit_wait), 6);
    info[2] = std::byte{0x02};  // no PortXmitWait
    EXPECT_EQ(fabric::discovery::read_abilities(info).wait_counter, false);
}

TEST(NodeNames, LinesOfAFile) {
    const auto names =
        fabric::NodeNames::parse("# rack 4\n0x00000000000000aB \"spine 4\" # left\n\n\t0x2\t\"\"\r\n", "f");
    ASSERT_TRUE(names.ok());
    EXPECT_EQ(names->size(), 2);
    EXPECT_EQ(names->find(0xab), "spine 4");
    const auto bad = fabric::NodeNames::parse("0x1 \"a\"\n0x10000000000000000 \"b\"\n", "f");
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().front().path, "f:2");
}

TEST(NodeNames, ADescriptionCannotMoveTheCursor) {
    fabric::Node named = node(0x12, 2);
    named.description = "a\x1b[2Jb";
    const fabric::NodeLabels labels;
    EXPECT_EQ(labels.of(named), "a\\x1b[2Jb");
    named.description = "";
    EXPECT_EQ(labels.of(named, 3), "0x0000000000000012 port 3");
}

}  // namespace
