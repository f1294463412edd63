#include "daemon/recorder/triggers.h"

#include <gmock/gmock.h>

#include "daemon/recorder/figure_events.h"
#include "tests/unit/metrics/answers/support.h"

namespace service::test {
namespace {

using metrics::EventKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using why_test::add_event;
using why_test::healthy;
using why_test::NoNames;
using why_test::snapshot_of;
using why_test::TwoNames;

std::unique_ptr<Triggers> compiled(const std::vector<TriggerConfig>& configs) {
    auto triggers = Triggers::compile(configs);
    if (!triggers) {
        ADD_FAILURE() << triggers.error().front().text();
        return nullptr;
    }
    return std::move(triggers).value();
}
std::vector<Incident> judge(const TriggerConfig& config, const metrics::Snapshot& interval) {
    return compiled({config})->judge(interval, TwoNames{});
}

/// Flow 1, "client -> server QP 0x11", with repairs.
metrics::FlowSnapshot lossy(std::uint64_t id, std::uint64_t again) {
    metrics::FlowSnapshot flow = healthy(id);
    flow.retransmitted_packets = again;
    add_event(flow, EventKind::retransmission, {id * 100 + 7, id * 100 + 9}, again);
    add_event(flow, EventKind::nak, {id * 100 + 5}, 1);
    return flow;
}

TEST(Triggers, a_condition_that_holds_names_hosts_figures_and_frames) {
    const auto incidents =
        judge({"resent", "retransmitted_packets > 100 and timeouts == 0", ""}, snapshot_of({lossy(1, 212)}));
    ASSERT_THAT(incidents, SizeIs(1));
    EXPECT_EQ(incidents[0].trigger, "resent");
    EXPECT_EQ(incidents[0].reason, "client -> server QP 0x11: retransmitted_packets 212 > 100 and timeouts 0 == 0");
    EXPECT_THAT(incidents[0].flows, ElementsAre(1));
    EXPECT_THAT(incidents[0].frames, ElementsAre(107, 109)) << "the NAK stands for neither figure";
}

/// Flow 1 with commands: one read is slow, one failed, one waits since 7 s before the end.
metrics::Snapshot with_commands() {
    metrics::FlowSnapshot flow = healthy();
    metrics::CommandConnectionFigures& commands = flow.commands.emplace();
    commands.protocol = "nvme";
    metrics::CommandKindFigures& reads = commands.kinds.emplace_back();
    reads.kind = "read";
    reads.commands = 2;
    reads.errors = 1;
    reads.latency_ns.record(1'000'000);
    reads.latency_ns.record(80'000'000);
    const auto record = [](std::uint64_t request, std::uint64_t response) {
        metrics::CommandRecord made;
        made.request_last_frame = request;
        made.response_frame = response;
        return made;
    };
    reads.slowest = {record(10, 19)};
    reads.failed = {record(20, 29)};
    reads.waiting = {record(30, 0)};
    metrics::Snapshot interval = snapshot_of({flow});
    interval.flows[0].commands->oldest_open_ns = interval.capture.last_ns - 7'000'000'000;
    return interval;
}

TEST(Triggers, figures_of_commands_name_their_frames) {
    const auto slow = judge({"slow", "io.latency_ns.max > 50ms", ""}, with_commands());
    ASSERT_THAT(slow, SizeIs(1));
    EXPECT_EQ(slow[0].reason, "client -> server QP 0x11: io.latency_ns.max 80.0 ms > 50ms");
    EXPECT_THAT(slow[0].frames, ElementsAre(10, 19));
    const auto failed = judge({"failed", "io.errors > 0 and upper == nvme", ""}, with_commands());
    ASSERT_THAT(failed, SizeIs(1));
    EXPECT_THAT(failed[0].frames, ElementsAre(20, 29));
    const auto hung = judge({"hung", "io.waiting_ns > 5s", ""}, with_commands());
    ASSERT_THAT(hung, SizeIs(1));
    EXPECT_THAT(hung[0].frames, ElementsAre(30));
    EXPECT_THAT(judge({"hung", "io.waiting_ns > 8s", ""}, with_commands()), IsEmpty());
    // A flow without an upper layer has no such figure.
    EXPECT_THAT(judge({"none", "io.errors == 0", ""}, snapshot_of({healthy()})), IsEmpty());
}

TEST(Triggers, figures_are_said_with_their_units) {
    const auto incidents = judge({"slow", "latency_ns.write.max >= 100us", ""}, snapshot_of({healthy()}));
    ASSERT_THAT(incidents, SizeIs(1));
    EXPECT_EQ(incidents[0].reason, "client -> server QP 0x11: latency_ns.write.max 120 us >= 100us");
}

TEST(Triggers, ports_of_iwarp_and_addresses_without_a_name_are_said) {
    metrics::FlowSnapshot flow = healthy();
    flow.transport = wire::Transport::iwarp;
    flow.destination.qpn.reset();
    flow.destination.port = 7174;
    const auto incidents = compiled({{"t", "transport == iwarp", ""}})->judge(snapshot_of({flow}), NoNames{});
    ASSERT_THAT(incidents, SizeIs(1));
    EXPECT_EQ(incidents[0].reason, "192.0.2.2 -> 192.0.2.1 port 7174: transport iwarp == iwarp");
}

TEST(Triggers, the_worst_flow_is_named_first) {
    const auto interval = snapshot_of({lossy(1, 20), lossy(2, 300), healthy(3), lossy(4, 70)});
    const auto many = judge({"resent", "retransmitted_packets > 10", ""}, interval);
    ASSERT_THAT(many, SizeIs(1)) << "each trigger once";
    EXPECT_THAT(many[0].reason, HasSubstr("retransmitted_packets 300 > 10; and so 2 other flows"));
    EXPECT_THAT(many[0].flows, ElementsAre(2, 4, 1));
    EXPECT_THAT(many[0].frames, ElementsAre(107, 109, 207, 209, 407, 409));
    const auto little = judge({"resent", "retransmitted_packets <= 20", ""}, interval);
    EXPECT_THAT(little.at(0).flows, ElementsAre(3, 1));
    EXPECT_THAT(little.at(0).reason, HasSubstr("and so 1 other flow"));
}

TEST(Triggers, what_does_not_hold_sets_nothing_off) {
    EXPECT_THAT(judge({"resent", "retransmitted_packets > 100", ""}, snapshot_of({lossy(1, 100)})), IsEmpty());
    EXPECT_THAT(judge({"resent", "retransmitted_packets > 100", ""}, snapshot_of({})), IsEmpty());
}

TEST(Triggers, flows_and_frames_are_bounded) {
    std::vector<metrics::FlowSnapshot> flows;
    for (std::uint64_t id = 1; id <= 1000; ++id) flows.push_back(lossy(id, id));
    const auto incidents = judge({"resent", "retransmitted_packets > 0", ""}, snapshot_of(std::move(flows)));
    EXPECT_THAT(incidents.at(0).flows, SizeIs(max_incident_flows));
    EXPECT_EQ(incidents.at(0).flows.front(), 1000U);
    EXPECT_LE(incidents.at(0).frames.size(), max_incident_frames);
    EXPECT_THAT(incidents.at(0).frames, testing::Contains(100'007)) << "of the worst flow";
    EXPECT_THAT(incidents.at(0).reason, HasSubstr("and so 999 other flows"));
}

TEST(Triggers, a_figure_without_events_of_its_own_shows_all) {
    const auto incidents = judge({"much", "wire_bytes > 1MiB", ""}, snapshot_of({lossy(1, 3)}));
    EXPECT_THAT(incidents.at(0).frames, ElementsAre(105, 107, 109));
}

TEST(Triggers, a_rate_is_of_the_interval_not_of_the_flow) {
    // 1000 octets within a microsecond are no gigabyte per second, where the interval is a second.
    metrics::FlowSnapshot flow = healthy();
    flow.last_ns = flow.first_ns + 1000;
    auto& write = flow.operations[metrics::index_of(metrics::Operation::write)];
    write.count = 1;
    write.bytes = 1000;
    EXPECT_THAT(judge({"fast", "goodput_bytes_per_sec > 1000", ""}, snapshot_of({flow})), IsEmpty());
    EXPECT_THAT(judge({"fast", "goodput_bytes_per_sec >= 1000", ""}, snapshot_of({flow})), SizeIs(1));
}

/// A flow whose peer refused access once.
metrics::Snapshot refused() {
    metrics::FlowSnapshot flow = healthy();
    flow.naks[static_cast<std::size_t>(metrics::NakCode::remote_access_error)] = 1;
    add_event(flow, EventKind::nak, {41}, 1, static_cast<std::uint64_t>(metrics::NakCode::remote_access_error));
    return snapshot_of({flow});
}

TEST(Triggers, a_verdict_that_alarms_brings_its_sentence_and_evidence) {
    const auto incidents = judge({"refused", "", "remote_access_error"}, refused());
    ASSERT_THAT(incidents, SizeIs(1));
    const std::vector<metrics::Answer> answers = metrics::answer(refused(), TwoNames{});
    ASSERT_EQ(answers.front().verdict, metrics::Verdict::remote_access_error);
    EXPECT_EQ(incidents[0].reason, answers.front().summary);
    EXPECT_THAT(incidents[0].reason, HasSubstr("server"));
    EXPECT_THAT(incidents[0].flows, ElementsAre(1));
    EXPECT_THAT(incidents[0].frames, ElementsAre(41));
    EXPECT_THAT(judge({"refused", "", "rnr"}, refused()), IsEmpty());
    EXPECT_THAT(judge({"refused", "", "remote_access_error"}, snapshot_of({healthy()})), IsEmpty());
}

TEST(Triggers, several_are_judged_in_order) {
    const auto triggers =
        compiled({{"a", "packets > 0", ""}, {"b", "", "remote_access_error"}, {"c", "packets > 1", ""}});
    const auto incidents = triggers->judge(refused(), TwoNames{});
    ASSERT_THAT(incidents, SizeIs(3));
    EXPECT_EQ(incidents[0].trigger + incidents[1].trigger + incidents[2].trigger, "abc");
}

TEST(Triggers, none_is_fine) { EXPECT_THAT(compiled({})->judge(refused(), NoNames{}), IsEmpty()); }

TEST(Triggers, every_mistake_is_told) {
    const auto triggers = Triggers::compile({{"a", "packts > 1", ""},
                                             {"b", "", "remote_acess_error"},
                                             {"c", "", "not_limited"},
                                             {"d", "", ""},
                                             {"e", "packets > 1", "rnr"},
                                             {"", "packets > 1", ""},
                                             {"f", "packets > 1", ""},
                                             {"f", "packets > 2", ""}});
    ASSERT_FALSE(triggers.ok());
    std::vector<std::string> lines;
    for (const base::Error& error : triggers.error()) lines.push_back(error.text());
    ASSERT_THAT(lines, SizeIs(7));
    EXPECT_THAT(lines[0], HasSubstr("trigger 'a': 'packts' is no figure of a flow, did you mean 'packets'?"));
    EXPECT_THAT(lines[1], HasSubstr("'remote_acess_error' is no verdict of why, did you mean 'remote_access_error'?"));
    EXPECT_THAT(lines[2], HasSubstr("verdict 'not_limited' describes and raises no alarm"));
    EXPECT_THAT(lines[3], HasSubstr("either `when` or `verdict` is required"));
    EXPECT_THAT(lines[4], HasSubstr("either `when` or `verdict` is required"));
    EXPECT_THAT(lines[5], HasSubstr("a name is required"));
    EXPECT_THAT(lines[6], HasSubstr("trigger 'f': another trigger has this name"));
}

TEST(Triggers, every_alarm_of_why_can_be_waited_for) {
    for (std::size_t i = 0; i < metrics::question_count; ++i)
        for (const metrics::VerdictMeaning& row : metrics::verdicts(static_cast<metrics::Question>(i)))
            if (row.alarm) {
                EXPECT_TRUE(Triggers::compile({{"t", "", std::string(name_of(row.verdict))}}).ok())
                    << name_of(row.verdict);
            }
}

TEST(Triggers, wait_for_what_the_policy_says) {
    metrics::Answer broken;
    broken.question = metrics::Question::policy;
    broken.verdict = metrics::Verdict::policy_broken;
    broken.alarm = true;
    broken.summary = "Rule \"storage\" expects DSCP AF31 (26).";
    broken.flows = {1};
    broken.evidence = {{"packets", 3, metrics::EvidenceUnit::packets, {7}}};
    const auto triggers = compiled({{"class", "", "policy_broken"}});
    const auto incidents = triggers->judge(snapshot_of({healthy()}), TwoNames{}, {broken});
    ASSERT_THAT(incidents, SizeIs(1));
    EXPECT_EQ(incidents[0].reason, broken.summary);
    EXPECT_THAT(incidents[0].frames, ElementsAre(7));
    EXPECT_THAT(triggers->judge(snapshot_of({healthy()}), TwoNames{}), IsEmpty());
}

TEST(FigureEvents, figures_have_the_events_that_they_count) {
    EXPECT_THAT(find_event_kinds("retransmitted_packets"), ElementsAre(EventKind::retransmission));
    EXPECT_THAT(find_event_kinds("rnr_naks"), ElementsAre(EventKind::rnr_nak));
    EXPECT_THAT(find_event_kinds("naks.psn_sequence_error"), ElementsAre(EventKind::nak));
    EXPECT_THAT(find_event_kinds("exhibits.zero_window.count"), ElementsAre(EventKind::zero_window));
    EXPECT_THAT(find_event_kinds("state_ns.nic_stall"), ElementsAre(EventKind::long_gap));
    EXPECT_THAT(find_event_kinds("tcp.retransmitted_bytes"), ElementsAre(EventKind::retransmission));
    EXPECT_THAT(find_event_kinds("packets"), IsEmpty());
    EXPECT_THAT(find_event_kinds("exhibits.nonsense.count"), IsEmpty());
}

}  // namespace
}  // namespace service::test
