// The log of the policy: a line for each change of a rule, and none for each check.
#include "daemon/policy_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "policy/rules.h"

namespace service {
namespace {

using testing::HasSubstr;

constexpr std::int64_t policy_second = 1'000'000'000;

class OneName : public metrics::HostNames {
public:
    std::string name(const metrics::Address& address) const override {
        return address.octets[3] == 1 ? "storage-1" : "";
    }
};

/// Rules, and the log that a series of intervals of one second leads to.
class PolicyIntervals {
public:
    explicit PolicyIntervals(const std::string& toml) : rules_(policy::parse_rules(toml, "rules.toml").value()) {}

    /// One interval with a flow of this DSCP from 192.0.2.1 to 192.0.2.2, or without a flow.
    std::string interval(std::optional<unsigned> dscp, std::int64_t seconds = 1) {
        metrics::Snapshot snapshot;
        if (dscp) {
            metrics::FlowSnapshot& flow = snapshot.flows.emplace_back();
            flow.source.address = address_of(1);
            flow.destination.address = address_of(2);
            flow.traffic_class = static_cast<std::uint8_t>(*dscp << 2);
            flow.packet_class = metrics::PacketClass::of(flow.traffic_class, 0xffff);
            flow.packets = 10;
            flow.wire_bytes = 1000;
        }
        now_ns_ += seconds * policy_second;
        testing::internal::CaptureStderr();
        log_.judge(policy::check(rules_, snapshot, {}), OneName(), now_ns_);
        return testing::internal::GetCapturedStderr();
    }
    /// The rules are read again.
    void reload(const std::string& toml) { rules_ = policy::parse_rules(toml, "rules.toml").value(); }

private:
    static metrics::Address address_of(std::uint8_t last) {
        metrics::Address address;
        address.family = wire::AddressFamily::ipv4;
        address.octets = {192, 0, 2, last};
        return address;
    }

    policy::Rules rules_;
    Log lines_{Level::info, 100};
    PolicyLog log_{lines_};
    std::int64_t now_ns_ = 1'700'000'000 * policy_second;
};

constexpr const char* policy_rules = "[[rule]]\nname = 'marked'\ndscp = 26\n";

TEST(PolicyLog, one_line_for_each_change) {
    PolicyIntervals intervals(policy_rules);
    EXPECT_EQ(intervals.interval(26), "");
    const std::string begins = intervals.interval(0);
    EXPECT_THAT(begins, HasSubstr("Rule \"marked\" expects DSCP AF31 (26): storage-1 (192.0.2.1) to 192.0.2.2 has DSCP "
                                  "CS0 (0)."));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(intervals.interval(0), "");
    for (int i = 0; i < 59; ++i) EXPECT_EQ(intervals.interval(26), "") << i;
    EXPECT_THAT(intervals.interval(26), HasSubstr("Rule \"marked\" is kept again: nothing has broken it for 60"));
    EXPECT_EQ(intervals.interval(26), "");
    EXPECT_THAT(intervals.interval(0), HasSubstr("expects DSCP AF31"));
}

// Two flows in turn, or a flow with pauses, are one change.
TEST(PolicyLog, what_comes_and_goes_is_one_change) {
    PolicyIntervals intervals(policy_rules);
    std::string all;
    for (int i = 0; i < 300; ++i)
        all += intervals.interval(i % 3 == 0 ? std::nullopt : std::optional(i % 3 == 1 ? 0u : 26u));
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 1) << all;
}

TEST(PolicyLog, a_clock_that_is_set_back_and_rules_that_change) {
    PolicyIntervals intervals(policy_rules);
    EXPECT_NE(intervals.interval(0), "");
    EXPECT_EQ(intervals.interval(26, -3600), "");
    EXPECT_EQ(intervals.interval(26, 59), "");
    EXPECT_THAT(intervals.interval(26, 1), HasSubstr("is kept again"));
    EXPECT_NE(intervals.interval(0), "");
    intervals.reload("[[rule]]\nname = 'other'\ndscp = 0\n");
    EXPECT_EQ(intervals.interval(0, 120), "");
    intervals.reload(policy_rules);
    EXPECT_THAT(intervals.interval(0), HasSubstr("Rule \"marked\" expects"));
}

}  // namespace
}  // namespace service
