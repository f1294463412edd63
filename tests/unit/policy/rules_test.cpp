// Rules of traffic, and flows made by hand that keep to them or break them. Code points are those of RFC 2474, 2597 and
// 3246.
#include "policy/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/compliance.h"
#include "policy/dscp.h"

namespace policy {
namespace {

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
    made.wire_bytes = bytes;
    return made;
}

Compliance check_flows(const Rules& rules, const metrics::Snapshot& snapshot) {
    return check(rules, snapshot, exporters::Context{});
}

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
    EXPECT_EQ(rules[0].dscp, 26);
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

TEST(Compliance, remedies_name_the_byte_that_programs_set) {
    const Rules rules = rules_of("[[rule]]\nname = 'a'\ndscp = 26\n");
    metrics::FlowSnapshot made = flow(wire::AddressFamily::ipv4, 0, 1);
    EXPECT_THAT(remedies(rules[0], made), testing::Contains(HasSubstr("cma_roce_tos -d DEVICE -t 104")));
    made.transport = wire::Transport::iwarp;
    made.destination.port = 4420;
    EXPECT_THAT(remedies(rules[0], made), testing::ElementsAre(HasSubstr("nvme connect --tos=104")));
    made.traffic_class = 104;
    EXPECT_TRUE(remedies(rules[0], made).empty());
}

}  // namespace
}  // namespace policy
