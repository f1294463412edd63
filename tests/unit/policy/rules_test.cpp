// Rules of traffic, and flows made by hand that keep to them or break them. Code points are those of RFC 2474, 2597 and
// 3246.
#include "policy/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/compliance.h"
#include "policy/dscp.h"
#include "policy/encryption.h"
#include "policy/learn.h"
#include "policy/policy_answers.h"
#include "policy/remedies.h"

namespace policy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Rules rules_of(const std::string& toml) {
    auto rules = parse_rules(toml, "rules.toml");
    EXPECT_TRUE(rules.ok()) << (rules.ok() ? "" : base::text_of(rules.error()));
    return rules.ok() ? *rules : Rules();
}

std::string mistakes_of(const std::string& toml) {
    const auto rules = parse_rules(toml, "rules.toml");
    return rules.ok() ? "" : base::text_of(rules.error());
}

metrics::FlowSnapshot flow(wire::AddressFamily family, unsigned traffic_class, std::uint64_t bytes) {
    metrics::FlowSnapshot made;
    made.id = bytes;
    made.transport = wire::Transport::roce2;
    made.source.address.family = made.destination.address.family = family;
    made.traffic_class = static_cast<std::uint8_t>(traffic_class);
    made.packet_class = metrics::PacketClass::of(made.traffic_class, 0xffff);
    made.wire_bytes = bytes;
    made.packets = 10;
    return made;
}

Compliance check_flows(const Rules& rules, const metrics::Snapshot& snapshot) {
    return check(rules, snapshot, exporters::Context{});
}

class NoNames : public metrics::HostNames {
public:
    std::string name(const metrics::Address& /*address*/) const override { return {}; }
};

TEST(Dscp, names_and_numbers) {
    EXPECT_EQ(dscp_named("EF"), 46);
    EXPECT_EQ(dscp_named("af31"), 26);
    EXPECT_EQ(dscp_named("BE"), 0);
    EXPECT_EQ(dscp_named("AF44"), std::nullopt);
    EXPECT_EQ(dscp_text(0), "CS0 (0)");
    EXPECT_EQ(dscp_text(26), "AF31 (26)");
    EXPECT_EQ(dscp_text(5), "5");
    EXPECT_EQ(traffic_class_of(26), 104);
    EXPECT_EQ(dscp_of(106), 26);  // with ECT(0)
}

TEST(Rules, are_read_in_their_order) {
    const Rules rules = rules_of(
        "[[rule]]\nname = 'a'\nmatch = 'packets > 5'\ndscp = 'AF31'\naddresses = 'ipv6'\n"
        "[[rule]]\nname = 'b'\nforbidden = true\n");
    ASSERT_EQ(rules.size(), 2U);
    EXPECT_EQ(rules[0].name, "a");
    EXPECT_EQ(rules[0].match, "packets > 5");
    EXPECT_THAT(rules[0].dscp, ElementsAre(26));
    EXPECT_EQ(rules[0].addresses, AddressKind::ipv6);
    EXPECT_FALSE(rules[0].forbidden);
    EXPECT_TRUE(rules[1].forbidden);
    EXPECT_EQ(expectation_of(rules[0]), "DSCP AF31 (26), IPv6");
    EXPECT_EQ(expectation_of(rules[1]), "no such flow");
}

TEST(Rules, mistakes_have_their_place) {
    EXPECT_THAT(mistakes_of(""), HasSubstr("rules.toml:1:1: no rule is given"));
    EXPECT_THAT(mistakes_of("rule = 3"), HasSubstr("no rule is given"));
    EXPECT_THAT(mistakes_of("[[rule]"), HasSubstr("invalid TOML"));
    EXPECT_THAT(mistakes_of("[[rule]]\nname = 'a'\ndscp = 64\n"), HasSubstr("rules.toml:3:1: dscp: a number from 0"));
    EXPECT_THAT(mistakes_of("[[rule]]\nname = 'a'\ndscp = 'AF99'\n"), HasSubstr("rules.toml:3:1: dscp: a number"));
    EXPECT_THAT(mistakes_of("[[rule]]\nname = 'a'\nforbidden = false\n"), HasSubstr("the rule expects nothing"));
    EXPECT_THAT(mistakes_of("[[rule]]\nname = 'a'\nforbidden = true\ndscp = 1\n"), HasSubstr("a forbidden rule"));
    EXPECT_THAT(mistakes_of("[[rule]]\nname = 'a'\naddresses = 'ip'\n"), HasSubstr("\"ipv4\" or \"ipv6\" is expected"));
    EXPECT_THAT(mistakes_of("[[rule]]\nname = 'a'\nmatch = 'x y'\ndscp = 1\n"), HasSubstr("rules.toml:3:1: match: "));
}

TEST(Compliance, ecn_bits_do_not_matter) {
    metrics::Snapshot snapshot;
    for (const unsigned traffic_class : {104U, 105U, 106U, 107U})
        snapshot.flows.push_back(flow(wire::AddressFamily::ipv4, traffic_class, traffic_class));
    EXPECT_FALSE(check_flows(rules_of("[[rule]]\nname = 'a'\ndscp = 26\n"), snapshot).broken());
    EXPECT_TRUE(check_flows(rules_of("[[rule]]\nname = 'a'\ndscp = 27\n"), snapshot).broken());
}

TEST(Compliance, the_largest_violation_comes_first) {
    metrics::Snapshot snapshot;
    for (const std::uint64_t bytes : {10U, 30U, 20U})
        snapshot.flows.push_back(flow(wire::AddressFamily::ipv4, 0, bytes));
    const Rules rules = rules_of("[[rule]]\nname = 'a'\ndscp = 'EF'\n");
    const Compliance result = check_flows(rules, snapshot);
    ASSERT_EQ(result.rules.size(), 1U);
    ASSERT_EQ(result.rules[0].violations.size(), 3U);
    EXPECT_EQ(result.rules[0].violations[0].flow->wire_bytes, 30U);
    EXPECT_EQ(result.rules[0].violations[2].flow->wire_bytes, 10U);
    EXPECT_EQ(result.rules[0].violations[0].seen, "DSCP CS0 (0)");
}

TEST(Compliance, infiniband_without_a_grh_is_not_judged) {
    metrics::Snapshot snapshot;
    snapshot.flows.push_back(flow(wire::AddressFamily::lid, 0, 1));
    const Rules rules = rules_of("[[rule]]\nname = 'a'\ndscp = 'EF'\n");
    const Compliance result = check_flows(rules, snapshot);
    EXPECT_FALSE(result.broken());
    EXPECT_EQ(result.rules[0].flows, 1U);
    EXPECT_EQ(result.rules[0].unjudged, 1U);
}

const std::string one_rule = "[[rule]]\nname = 'a'\n";

metrics::Address address(std::initializer_list<std::uint8_t> octets, wire::AddressFamily family) {
    metrics::Address made;
    made.family = family;
    std::copy(octets.begin(), octets.end(), made.octets.begin());
    return made;
}

TEST(Rules, lists_and_every_key) {
    const Rules rules = rules_of(
        "[labels]\nstorage = ['192.0.2.0/28', '2001:db8::1']\n[[rule]]\nname = 'a'\nfrom = 'storage'\n"
        "to = '198.51.100.7'\nhosts = ['0.0.0.0/0', '::/0']\nports = [4420, '20000-20099']\nprotocol = 'NVMe'\n"
        "process = 'fio*'\ncontainer = ['abc', 'def']\ndscp = ['AF31', 0]\nvlan_priority = 3\nservice_level = [0, 15]\n"
        "partition_key = 0x8001\n[[rule]]\nname = 'b'\ntraffic_class = 106\n[[rule]]\nname = 'c'\nencryption = "
        "false\n");
    ASSERT_EQ(rules.size(), 3U);
    const Selection& selection = rules[0].selection;
    EXPECT_TRUE(selection.from.holds(address({192, 0, 2, 15}, wire::AddressFamily::ipv4)));
    EXPECT_FALSE(selection.from.holds(address({192, 0, 2, 16}, wire::AddressFamily::ipv4)));
    EXPECT_TRUE(selection.to.holds(address({198, 51, 100, 7}, wire::AddressFamily::ipv4)));
    EXPECT_TRUE(selection.hosts.holds(address({1, 2, 3, 4}, wire::AddressFamily::ipv4)));
    EXPECT_TRUE(selection.hosts.holds(address({0x20, 1}, wire::AddressFamily::ipv6)));
    EXPECT_THAT(selection.ports, ElementsAre(PortRange{4420, 4420}, PortRange{20000, 20099}));
    EXPECT_THAT(selection.protocols, ElementsAre("nvme"));
    EXPECT_THAT(selection.containers, ElementsAre("abc", "def"));
    EXPECT_EQ(expectation_of(rules[0]), "DSCP AF31 (26) or CS0 (0), VLAN priority 3, SL 0 or 15, P_Key 0x8001");
    EXPECT_THAT(rules[1].dscp, ElementsAre(26));
    EXPECT_EQ(expectation_of(rules[2]), "no encrypted frame");
}

TEST(Rules, mistakes_in_lists) {
    EXPECT_THAT(mistakes_of(one_rule + "dscp = []\n"), HasSubstr("dscp: a number from 0 to 63"));
    EXPECT_THAT(mistakes_of(one_rule + "dscp = [0, 64]\n"), HasSubstr("rules.toml:3:12: dscp: a number"));
    EXPECT_THAT(mistakes_of(one_rule + "vlan_priority = 8\n"), HasSubstr("a number from 0 to 7"));
    EXPECT_THAT(mistakes_of(one_rule + "service_level = 16\n"), HasSubstr("a number from 0 to 15"));
    EXPECT_THAT(mistakes_of(one_rule + "partition_key = 65536\n"), HasSubstr("a P_Key such as 0x8001"));
    EXPECT_THAT(mistakes_of(one_rule + "dscp = 0\nports = '9-5'\n"), HasSubstr("a port such as 4420"));
    EXPECT_THAT(mistakes_of(one_rule + "dscp = 0\nports = 0\n"), HasSubstr("a port such as 4420"));
    EXPECT_THAT(
        mistakes_of(one_rule + "dscp = 0\nhosts = '192.0.2.1/33'\n"),
        HasSubstr("hosts: a number of bits after the /, as in \"192.0.2.0/24\", or a name of [labels], is expected"));
    EXPECT_THAT(mistakes_of(one_rule + "dscp = 0\nfrom = 'storage'\n"), HasSubstr("or a name of [labels]"));
    EXPECT_THAT(mistakes_of(one_rule + "dscp = 0\nprotocol = 'nvm'\n"), HasSubstr("did you mean 'nvme'?"));
    EXPECT_THAT(mistakes_of(one_rule + "dscp = 0\nencryption = false\n"), HasSubstr("write a rule of its own"));
    EXPECT_THAT(mistakes_of(one_rule + "encryption = 'no'\n"), HasSubstr("true or false is expected"));
    EXPECT_THAT(mistakes_of(one_rule + "encryption = true\nport_range = 1\n"), HasSubstr("write a rule of its own"));
    EXPECT_THAT(mistakes_of(one_rule + "dscp = 0\nservice_ids = '0xg'\n"), HasSubstr("a service ID such as"));
    EXPECT_THAT(mistakes_of(one_rule + "dscp = 0\nservice_ids = -1\n"), HasSubstr("a service ID such as"));
    EXPECT_THAT(mistakes_of(one_rule + "dscp = 0\npartitions = 65536\n"), HasSubstr("a P_Key such as 0x8001"));
    EXPECT_THAT(mistakes_of(one_rule + "port_range = '1-65536'\n"), HasSubstr("a port such as 4420"));
    EXPECT_THAT(mistakes_of(one_rule + "udp_source_port = '0-9'\n"), HasSubstr("a port such as 4420"));
    EXPECT_THAT(mistakes_of(one_rule + "dscp = 0\n" + one_rule + "dscp = 1\n"), HasSubstr("another rule has the name"));
    EXPECT_THAT(mistakes_of("[labels]\na = 'x'\n" + one_rule + "dscp = 0\n"),
                HasSubstr("rules.toml:2:1: a: an address"));
}

TEST(Selection, blocks_of_addresses) {
    const AddressBlock block = parse_block("192.0.2.16/28").value();
    EXPECT_TRUE(block.holds(address({192, 0, 2, 31}, wire::AddressFamily::ipv4)));
    EXPECT_FALSE(block.holds(address({192, 0, 2, 32}, wire::AddressFamily::ipv4)));
    EXPECT_TRUE(parse_block("0.0.0.0/0")->holds(address({1, 2, 3, 4}, wire::AddressFamily::ipv4)));
    EXPECT_FALSE(parse_block("::/0")->holds(address({1, 2, 3, 4}, wire::AddressFamily::ipv4)));
    // A GID that stands for 192.0.2.17: RFC 4291, 2.5.5.2.
    const metrics::Address mapped =
        address({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 17}, wire::AddressFamily::gid);
    EXPECT_TRUE(block.holds(mapped));
}

// The same blocks, written as IPv6: bits of such a block count from the beginning of the 128.
TEST(Selection, blocks_of_mapped_addresses) {
    const metrics::Address inside = address({192, 0, 2, 31}, wire::AddressFamily::ipv4);
    const metrics::Address outside = address({192, 0, 2, 32}, wire::AddressFamily::ipv4);
    for (const char* const text : {"::ffff:192.0.2.16/124", "::ffff:c000:210/124", "::ffff:192.0.2.31"}) {
        EXPECT_TRUE(parse_block(text)->holds(inside)) << text;
        EXPECT_FALSE(parse_block(text)->holds(outside)) << text;
    }
    EXPECT_TRUE(parse_block("::ffff:0:0/96")->holds(inside));
    EXPECT_TRUE(parse_block("::ffff:192.0.2.0/120")->holds(outside));
    EXPECT_THAT(parse_block("::ffff:192.0.2.0/95").error().message, HasSubstr("a block of IPv4 addresses"));
    EXPECT_FALSE(parse_block("::ffff:192.0.2.0/129").ok());
}

TEST(Selection, ports_are_tcps_or_those_of_an_ip_service) {
    metrics::FlowSnapshot made = flow(wire::AddressFamily::ipv4, 0, 1);
    const Selection selection{.ports = {{4420, 4429}}};
    EXPECT_FALSE(selection.holds(made));
    made.connection->service_id = 0x0000000001061144;  // annex A11: TCP, port 4420
    EXPECT_TRUE(selection.holds(made));
    made.connection->service_id = 0x1000000001061144;
    EXPECT_FALSE(selection.holds(made));
    made.source.port = 4429;
    EXPECT_TRUE(selection.holds(made));
}

TEST(Selection, service_ids) {
    metrics::FlowSnapshot made = flow(wire::AddressFamily::ipv4, 0, 1);
    const Rules rules =
        rules_of(one_rule + "service_ids = ['0x1060000-0x106ffff', 7, '0xffffffffffffffff']\ndscp = 0\n");
    const Selection& selection = rules[0].selection;
    EXPECT_FALSE(selection.holds(made));
    for (const auto& [service, held] : {std::pair<std::uint64_t, bool>{0x1061144, true},
                                        {0x1070000, false},
                                        {7, true},
                                        {8, false},
                                        {0xffffffffffffffff, true}}) {
        made.connection->service_id = service;
        EXPECT_EQ(selection.holds(made), held) << service;
    }
}

TEST(Selection, partitions) {
    metrics::FlowSnapshot made = flow(wire::AddressFamily::lid, 0, 1);
    const Rules rules = rules_of(one_rule + "partitions = [0x8001, 0x7002]\nservice_level = 0\n");
    const Selection& selection = rules[0].selection;
    made.packet_class = metrics::PacketClass();
    EXPECT_FALSE(selection.holds(made));
    // Full and limited members: IBTA vol. 1, 10.9.3.
    for (const auto& [key, held] : {std::pair<std::uint16_t, bool>{0x8001, true},
                                    {0x0001, true},
                                    {0xf002, true},
                                    {0x8002, false},
                                    {0xffff, false}}) {
        made.packet_class = metrics::PacketClass::of(0, key);
        EXPECT_EQ(selection.holds(made), held) << key;
    }
    made.other_classes = {{metrics::PacketClass::of(0, 1), 3, 300, 40, 4000}};
    EXPECT_TRUE(selection.holds(made));
}

TEST(Selection, processes_and_containers) {
    metrics::FlowSnapshot made = flow(wire::AddressFamily::ipv4, 0, 1);
    const Selection fio{.processes = {"fio*"}};
    EXPECT_FALSE(fio.holds(made));
    made.verbs.emplace().process = {7, "/usr/bin/fio-3 --name=x", "abcdef0123"};
    EXPECT_TRUE(fio.holds(made));
    EXPECT_TRUE((Selection{.containers = {"abc"}}).holds(made));
    EXPECT_FALSE((Selection{.containers = {"bcd"}}).holds(made));
}

/// The commands against what breaks the keys of a rule.
std::vector<std::string> commands(const std::string& keys, const metrics::FlowSnapshot& made) {
    std::vector<std::string> out;
    for (const Remedy& remedy : remedies(rules_of(one_rule + keys + "\n")[0], made)) out.push_back(remedy.command);
    return out;
}

/// 7 packets of the first class, 3 of another one.
metrics::FlowSnapshot changing(metrics::PacketClass first, metrics::PacketClass second) {
    metrics::FlowSnapshot made = flow(wire::AddressFamily::ipv4, 0, 1000);
    made.packet_class = first;
    made.class_changes = 2;
    made.other_classes = {{second, 3, 300, 40, 4000}};
    return made;
}

TEST(Compliance, a_class_that_changes_within_a_flow) {
    metrics::Snapshot snapshot;
    snapshot.flows = {changing(metrics::PacketClass::of(104), metrics::PacketClass::of(0))};
    EXPECT_FALSE(check_flows(rules_of(one_rule + "dscp = [26, 0]\n"), snapshot).broken());
    const Rules rules = rules_of(one_rule + "dscp = 26\n");
    const Compliance result = check_flows(rules, snapshot);
    ASSERT_EQ(result.rules[0].violations.size(), 1U);
    const Violation& violation = result.rules[0].violations[0];
    EXPECT_EQ(violation.seen, "DSCP CS0 (0), which changes 2 times within the flow");
    EXPECT_EQ(violation.packets, 3U);
    EXPECT_EQ(violation.wire_bytes, 300U);
    EXPECT_EQ(violation.first_frame, 40U);
    EXPECT_EQ(violation.first_ns, 4000);
    EXPECT_DOUBLE_EQ(result.broken_share(), 0.3);
    EXPECT_THAT(commands("dscp = 26", snapshot.flows[0]), testing::Contains("cma_roce_tos -d DEVICE -t 104"));
}

TEST(Compliance, priority_level_and_partition) {
    metrics::Snapshot snapshot;
    snapshot.flows.push_back(flow(wire::AddressFamily::ipv4, 0, 1));
    snapshot.flows[0].packet_class = metrics::PacketClass::of(0, 0x8001).with_vlan_priority(3);
    const auto seen = [&](const std::string& key) {
        const Rules rules = rules_of(one_rule + key + "\n");
        const Compliance result = check_flows(rules, snapshot);
        if (result.rules[0].unjudged != 0) return std::string("unjudged");
        return result.broken() ? result.rules[0].violations[0].seen : std::string("kept");
    };
    EXPECT_EQ(seen("vlan_priority = 3"), "kept");
    EXPECT_EQ(seen("vlan_priority = [4, 5]"), "VLAN priority 3");
    EXPECT_EQ(seen("service_level = 0"), "unjudged");
    EXPECT_EQ(seen("partition_key = 0x0001"), "kept");  // a limited member of the same partition: IBTA vol. 1, 10.9.3
    EXPECT_EQ(seen("partition_key = 0xffff"), "P_Key 0x8001");
    EXPECT_EQ(seen("dscp = 1\nvlan_priority = 1"), "DSCP CS0 (0), VLAN priority 3");
    snapshot.flows[0].source.address.family = wire::AddressFamily::lid;
    snapshot.flows[0].packet_class = metrics::PacketClass::of(0, 0xffff).with_service_level(2);
    EXPECT_EQ(seen("service_level = 2"), "kept");
    EXPECT_EQ(seen("service_level = 1"), "SL 2");
    EXPECT_EQ(seen("vlan_priority = 2"), "unjudged");
}

TEST(Compliance, ports) {
    metrics::Snapshot snapshot;
    snapshot.flows.push_back(flow(wire::AddressFamily::ipv4, 0, 1));
    metrics::FlowSnapshot& made = snapshot.flows[0];
    const auto seen = [&](const std::string& key) {
        const Rules rules = rules_of(one_rule + key + "\n");
        const Compliance result = check_flows(rules, snapshot);
        if (result.rules[0].unjudged != 0) return std::string("unjudged");
        return result.broken() ? result.rules[0].violations[0].seen : std::string("kept");
    };
    EXPECT_EQ(seen("port_range = '20000-20099'"), "unjudged");
    EXPECT_EQ(seen("udp_source_port = '49152-65535'"), "unjudged");
    made.connection->service_id = 0x01064e20;  // annex A11: TCP, port 20000
    EXPECT_EQ(seen("port_range = '20000-20099'"), "kept");
    EXPECT_EQ(seen("port_range = [1, '20001-20099']"), "port 20000");
    made.source.port = 50000;
    made.destination.port = 20099;
    EXPECT_EQ(seen("port_range = '20000-20099'"), "kept");
    EXPECT_EQ(seen("port_range = '20000-20098'\naddresses = 'ipv6'"), "IPv4, port 50000 to 20099");
    made.udp_port = 49152;
    EXPECT_EQ(seen("udp_source_port = '49152-65535'"), "kept");
    EXPECT_EQ(seen("udp_source_port = '49153-65535'\ndscp = 1"), "DSCP CS0 (0), UDP source port 49152");
    EXPECT_EQ(expectation_of(rules_of(one_rule + "port_range = ['1-2', 5]\nudp_source_port = 50000\n")[0]),
              "port 1-2 or 5, UDP source port 50000");
}

TEST(Compliance, encrypted_frames) {
    metrics::Snapshot snapshot;
    const Rules rules = rules_of(one_rule + "encryption = false\n" + "[[rule]]\nname = 'b'\ndscp = 0\n");
    snapshot.flows.push_back(flow(wire::AddressFamily::ipv4, 0, 1));
    snapshot.capture.unread.add({wire::CarrierKind::ip_protocol, 47}, 5);
    EXPECT_FALSE(check_flows(rules, snapshot).broken());
    snapshot.capture.unread.add({wire::CarrierKind::ip_protocol, 50}, 12);  // ESP
    const Compliance result = check_flows(rules, snapshot);
    EXPECT_EQ(result.rules[0].encrypted_frames, 12U);
    EXPECT_THAT(result.encrypted, HasSubstr("12 frames of IP protocol 50 (ESP"));
    EXPECT_TRUE(result.encryption_is_broken());
    EXPECT_EQ(result.rules[1].flows, 1U);
    EXPECT_FALSE(check_flows(rules_of(one_rule + "encryption = true\n"), snapshot).broken());
    EXPECT_EQ(check_flows(rules_of(one_rule + "encryption = true\n"), snapshot).unruled, 1U);
    EXPECT_TRUE(is_encrypted({wire::CarrierKind::macsec, 0x88e5}));
    EXPECT_TRUE(is_encrypted({wire::CarrierKind::udp_port, 51820}));
    EXPECT_FALSE(is_encrypted({wire::CarrierKind::udp_port, 1701}));
}

// The first rule about encryption decides; what no rule forbids is no violation, but it is counted.
TEST(Compliance, encryption_that_is_permitted) {
    metrics::Snapshot snapshot;
    snapshot.capture.unread.add({wire::CarrierKind::ip_protocol, 50}, 12);
    const std::string yes = "[[rule]]\nname = 'yes'\nencryption = true\n";
    const std::string no = "[[rule]]\nname = 'no'\nencryption = false\n";
    const std::string rest = "[[rule]]\nname = 'rest'\ndscp = 0\n";
    for (const std::string& text : {yes, yes + no, rest, rest + yes}) {
        const Rules rules = rules_of(text);
        const Compliance result = check_flows(rules, snapshot);
        EXPECT_FALSE(result.broken()) << text;
        EXPECT_EQ(result.encrypted_frames, 12U) << text;
    }
    for (const std::string& text : {no, no + yes, rest + no}) {
        const Rules rules = rules_of(text);
        const Compliance result = check_flows(rules, snapshot);
        EXPECT_TRUE(result.encryption_is_broken()) << text;
        EXPECT_FALSE(result.saw_nothing()) << text;
    }
}

// Of a million bytes, one flow of 1 kB breaks a rule: that alone is a minor matter.
TEST(Compliance, encryption_is_never_a_minor_matter) {
    metrics::Snapshot snapshot;
    snapshot.flows = {flow(wire::AddressFamily::ipv4, 0, 1), flow(wire::AddressFamily::ipv4, 104, 2)};
    snapshot.flows[0].wire_bytes = 999'000;
    snapshot.flows[1].wire_bytes = 1'000;
    const Rules rules = rules_of("[[rule]]\nname = 'a'\nencryption = false\n[[rule]]\nname = 'b'\ndscp = 0\n");
    EXPECT_DOUBLE_EQ(check_flows(rules, snapshot).broken_share(), 0.001);
    snapshot.capture.unread.add({wire::CarrierKind::macsec, 0x88e5}, 1);
    EXPECT_DOUBLE_EQ(check_flows(rules, snapshot).broken_share(), 1);
    snapshot.capture.packets = 1'000'000;
    NoNames names;
    for (const metrics::Answer& answer : answers_of(check_flows(rules, snapshot), snapshot, names))
        EXPECT_TRUE(answer.summary.find("encrypted") == std::string::npos ||
                    metrics::grade_of(answer) == metrics::Grade::wrong);
}

// cma_roce_tos(8), nvme-connect(1), mlnx_qos and the environment variables take the byte, New-NetQosPolicy the code
// point.
TEST(Remedies, of_the_dscp) {
    metrics::FlowSnapshot made = flow(wire::AddressFamily::ipv4, 0, 1);
    const std::string trust = "mlnx_qos -i INTERFACE --trust=dscp";
    EXPECT_THAT(commands("dscp = [26, 46]", made),
                ElementsAre("cma_roce_tos -d DEVICE -t 104", "NCCL_IB_TC=104", "UCX_IB_TRAFFIC_CLASS=104", trust));
    EXPECT_TRUE(commands("dscp = 0", made).empty());
    made.commands.emplace().protocol = "nvme";
    EXPECT_THAT(commands("dscp = 26", made), ElementsAre("nvme connect --tos=104 ...", trust));
    made.commands->protocol = "smb";
    EXPECT_THAT(commands("dscp = 26", made),
                ElementsAre("New-NetQosPolicy SMB -NetDirectPortMatchCondition 445 -DSCPAction 26",
                            "cma_roce_tos -d DEVICE -t 104", trust));
    made.commands->protocol = "rpc";
    EXPECT_THAT(commands("dscp = 26", made), ElementsAre("cma_roce_tos -d DEVICE -t 104", trust));
    made.commands.reset();
    made.transport = wire::Transport::iwarp;
    EXPECT_THAT(commands("dscp = 26", made), ElementsAre(HasSubstr("RDMA_OPTION_ID_TOS, ...) with 104")));
    made.destination.port = 4420;
    EXPECT_THAT(commands("dscp = 26", made), ElementsAre("nvme connect --tos=104 ..."));
    const Remedies all = remedies(rules_of(one_rule + "dscp = 26\n")[0], made);
    EXPECT_EQ(text_of(all[0]), "nvme connect --tos=104 ...   (on the NVMe host)");
}

TEST(Remedies, of_priority_level_and_partition) {
    metrics::FlowSnapshot made = flow(wire::AddressFamily::ipv4, 0, 1);
    made.packet_class = metrics::PacketClass::of(0, 0xffff).with_vlan_priority(1);
    EXPECT_THAT(commands("vlan_priority = 3", made),
                ElementsAre(HasSubstr("ip link set VLAN_INTERFACE type vlan egress-qos-map 0:3 1:3 "),
                            "mlnx_qos -i INTERFACE --trust=pcp"));
    made.destination.port = 445;
    EXPECT_THAT(commands("vlan_priority = 3", made),
                testing::Contains("New-NetQosPolicy SMB -NetDirectPortMatchCondition 445 -PriorityValue8021Action 3"));
    EXPECT_THAT(commands("partition_key = 0x0005", made),
                ElementsAre("NCCL_IB_PKEY=INDEX", "UCX_IB_PKEY=0x0005",
                            "ip link add link ib0 name ib0.8005 type ipoib pkey 0x8005"));
    made = flow(wire::AddressFamily::lid, 0, 1);
    made.packet_class = metrics::PacketClass::of(0, 0xffff).with_service_level(2);
    EXPECT_THAT(commands("service_level = 5\ndscp = 5", made),
                ElementsAre("NCCL_IB_SL=5", "UCX_IB_SL=5", HasSubstr("qos-ulps line with 5")));
}

TEST(Remedies, of_ends) {
    metrics::FlowSnapshot made = flow(wire::AddressFamily::ipv4, 0, 1);
    EXPECT_THAT(commands("addresses = 'ipv6'", made),
                ElementsAre("NCCL_IB_ADDR_FAMILY=AF_INET6", "UCX_IB_GID_INDEX=INDEX", HasSubstr("IPv6 address")));
    // rdma_flow_label_to_udp_sport() of Linux: the port is 0xc000 | the low 14 bits of a label below 2^14.
    made.udp_port = 50000;
    EXPECT_THAT(commands("udp_source_port = '49152-49999'", made),
                ElementsAre(HasSubstr("mlx5dv_modify_qp_udp_sport(qp, 49152)"), HasSubstr("flow_label = 0x1 ")));
    EXPECT_THAT(commands("udp_source_port = 1000", made),
                ElementsAre(HasSubstr("mlx5dv_modify_qp_udp_sport(qp, 1000)")));
    made.connection->service_id = 0x01061144;
    EXPECT_THAT(
        commands("port_range = '4421-4429'", made),
        ElementsAre("echo 4421 > /sys/kernel/config/nvmet/ports/ID/addr_trsvcid", "nvme connect --trsvcid=4421 ..."));
    made.connection->service_id = 0x01064e51;  // port 20049
    EXPECT_THAT(commands("port_range = 2049", made),
                ElementsAre("echo rdma 2049 > /proc/fs/nfsd/portlist", "mount -o proto=rdma,port=2049 ..."));
    made.connection->service_id = 0x01064e20;
    EXPECT_THAT(commands("port_range = 7", made), ElementsAre(HasSubstr("listen on port 7")));
    made.source.qpn = 17;
    EXPECT_THAT(commands("forbidden = true", made), ElementsAre("rdma resource show qp link DEVICE/- lqpn 17"));
    made.transport = wire::Transport::iwarp;
    made.source.port = 5000;
    EXPECT_THAT(commands("forbidden = true", made), ElementsAre("rdma resource show cm_id src-port 5000"));
}

TEST(Learn, rules_are_kept_by_what_they_were_learnt_from) {
    metrics::Snapshot snapshot;
    for (const std::uint16_t port : {std::uint16_t{4420}, std::uint16_t{20049}, std::uint16_t{0}}) {
        snapshot.flows.push_back(flow(wire::AddressFamily::ipv4, port == 4420 ? 104 : 0, port + 1U));
        if (port == 0) continue;
        snapshot.flows.back().transport = wire::Transport::iwarp;
        snapshot.flows.back().source.port = 50000;
        snapshot.flows.back().destination.port = port;
    }
    snapshot.flows.push_back(changing(metrics::PacketClass::of(104), metrics::PacketClass::of(0)));
    const std::string text = rules_text(learn(snapshot, {}), "a capture");
    EXPECT_THAT(text, HasSubstr("name = \"NVMe (port 4420)\"\nports = 4420\ndscp = \"AF31\"\naddresses = \"ipv4\"\n"));
    EXPECT_THAT(text, HasSubstr("name = \"NFS (port 20049)\"\nports = 20049\ndscp = \"CS0\"\n"));
    EXPECT_THAT(text, HasSubstr("name = \"other RoCEv2\"\nmatch = \"transport == \\\"roce2\\\"\"\n"));
    EXPECT_THAT(text, HasSubstr("dscp = [\"AF31\", \"CS0\"]\n"));
    const Rules rules = rules_of(text);
    const Compliance result = check_flows(rules, snapshot);
    EXPECT_FALSE(result.broken());
    EXPECT_EQ(result.unruled, 0U);
    EXPECT_TRUE(learn(metrics::Snapshot{}, {}).empty());
}

TEST(PolicyAnswers, broken_kept_and_nothing_to_judge) {
    metrics::Snapshot snapshot;
    snapshot.flows = {changing(metrics::PacketClass::of(104), metrics::PacketClass::of(0))};
    snapshot.capture.packets = 100;
    const auto ask = [&](const std::string& keys) {
        std::vector<metrics::Answer> answers;
        add_answers(rules_of(one_rule + keys), snapshot, NoNames(), nullptr, answers);
        return answers;
    };
    const auto broken = ask("dscp = 26\n");
    ASSERT_EQ(broken.size(), 1U);
    EXPECT_EQ(broken[0].verdict, metrics::Verdict::policy_broken);
    EXPECT_EQ(grade_of(broken[0]), metrics::Grade::wrong);
    EXPECT_DOUBLE_EQ(broken[0].cost.share, 0.03);
    EXPECT_THAT(broken[0].summary, HasSubstr("Rule \"a\" expects DSCP AF31 (26): "));
    EXPECT_THAT(broken[0].advice, HasSubstr("NCCL_IB_TC=104; or UCX_IB_TRAFFIC_CLASS=104; then mlnx_qos "));
    EXPECT_THAT(broken[0].evidence[0].frames, ElementsAre(40));
    EXPECT_EQ(ask("dscp = [26, 0]\n")[0].verdict, metrics::Verdict::policy_kept);
    EXPECT_EQ(ask("service_level = 1\n")[0].verdict, metrics::Verdict::undecidable);
}

}  // namespace
}  // namespace policy
