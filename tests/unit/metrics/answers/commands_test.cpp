// The answer about commands: verdicts of connections made by hand.
#include <gmock/gmock.h>

#include "support.h"

namespace {

using namespace why_test;
using metrics::CommandKindFigures;
using metrics::CommandRecord;
using metrics::Question;
using metrics::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t us = 1000;
constexpr std::uint64_t ms = 1000 * us;

/// The parts of one command in ns, the number of open commands, and the bytes of data.
struct Load {
    std::uint64_t request = 0;
    std::uint64_t before = 0;
    std::uint64_t data = 0;
    std::uint64_t after = 0;
    std::uint64_t response = 0;
    std::uint64_t ack = 0;
    std::uint64_t open = 1;
    std::uint64_t bytes = 128 * 1024;
};

void add_commands(CommandKindFigures& kind, const Load& load, std::uint64_t count) {
    const std::array parts{load.request, load.before, load.data, load.after, load.response};
    std::uint64_t latency = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        kind.parts_ns[i].record(parts[i], count);
        latency += parts[i];
    }
    kind.commands += count;
    kind.latency_ns.record(latency, count);
    kind.size_bytes.record(load.bytes, count);
    kind.bytes += count * load.bytes;
    kind.moved_in_bytes += count * load.bytes;
    kind.request_ack_ns += count * load.ack;
    kind.think_ns[metrics::command_depth_of(load.open)].record(load.before - load.ack + load.after, count);
    CommandRecord slowest;
    slowest.latency_ns = latency;
    slowest.request_first_frame = slowest.request_last_frame = 10;
    slowest.data_first_frame = 11;
    slowest.data_last_frame = 20;
    slowest.response_frame = 21;
    kind.slowest = {slowest};
}

/// A second in which half of the time some command was open.
metrics::FlowSnapshot nvme() {
    metrics::FlowSnapshot flow = healthy();
    metrics::CommandConnectionFigures& commands = flow.commands.emplace();
    commands.protocol = "nvme";
    commands.heading = "NVMe";
    commands.confidence = 1;
    commands.target_name = "nqn.test";
    commands.limit = 32;
    commands.open_max = 4;
    commands.states_ns = {500 * ms, 0, 500 * ms, 0, 0, 0};
    commands.first_ns = flow.first_ns;
    commands.last_ns = flow.last_ns;
    commands.kinds.emplace_back().kind = "read";
    return flow;
}

CommandKindFigures& reads(metrics::FlowSnapshot& flow) { return flow.commands->kinds.front(); }

metrics::Answer of_commands(const metrics::FlowSnapshot& flow) {
    return about(ask(snapshot_of({flow})), Question::commands);
}

TEST(AboutCommands, AreAskedOnlyWhereSomeWereSeen) {
    EXPECT_EQ(ask(snapshot_of({healthy()})).size(), metrics::usual_question_count);
    metrics::FlowSnapshot flow = nvme();
    add_commands(reads(flow), {.before = 100 * us, .data = 50 * us}, 100);
    const auto answers = ask(snapshot_of({flow}));
    EXPECT_EQ(answers.size(), metrics::usual_question_count + 1);
    EXPECT_EQ(answers.back().question, Question::commands);
    // The target's flow alone has no commands of its own.
    metrics::FlowSnapshot target = healthy();
    target.commands.emplace().of_target = true;
    EXPECT_EQ(ask(snapshot_of({target})).size(), metrics::usual_question_count);
}

struct LoadCase {
    const char* name;
    Load load;
    Verdict verdict;
};
class DescribingCommands : public testing::TestWithParam<LoadCase> {};

TEST_P(DescribingCommands, NamesWhatTakesMostOfTheTime) {
    metrics::FlowSnapshot flow = nvme();
    add_commands(reads(flow), GetParam().load, 100);
    const metrics::Answer answer = of_commands(flow);
    EXPECT_EQ(answer.verdict, GetParam().verdict);
    EXPECT_FALSE(answer.alarm);
    EXPECT_THAT(answer.flows, ElementsAre(1));
    EXPECT_FALSE(answer.advice.empty());
    const auto* const slowest = evidence(answer, "slowest command");
    ASSERT_NE(slowest, nullptr);
    EXPECT_THAT(slowest->frames, ElementsAre(10, 11, 20, 21));
}
INSTANTIATE_TEST_SUITE_P(
    Loads, DescribingCommands,
    testing::Values(LoadCase{"target", {.before = 900 * us, .data = 100 * us, .ack = 50 * us}, Verdict::target_slow},
                    LoadCase{"after",
                             {.before = 100 * us, .data = 100 * us, .after = 800 * us, .ack = 90 * us},
                             Verdict::target_slow},
                    LoadCase{"network", {.before = 900 * us, .data = 100 * us, .ack = 850 * us}, Verdict::network_slow},
                    LoadCase{"data", {.before = 200 * us, .data = 800 * us, .ack = 100 * us}, Verdict::data_slow},
                    LoadCase{"small",
                             {.request = 400 * us, .before = 400 * us, .data = 200 * us, .bytes = 512},
                             Verdict::small_commands},
                    LoadCase{"large", {.request = 400 * us, .before = 400 * us, .data = 200 * us}, Verdict::normal}));

TEST(AboutCommands, ATargetThatTakesLongerWithMoreOpenIsAtItsLimit) {
    metrics::FlowSnapshot flow = nvme();
    add_commands(reads(flow), {.before = 200 * us, .data = 50 * us, .open = 1}, 50);
    add_commands(reads(flow), {.before = 800 * us, .data = 50 * us, .open = 4}, 50);
    const metrics::Answer answer = of_commands(flow);
    EXPECT_EQ(answer.verdict, Verdict::target_queueing);
    EXPECT_THAT(answer.summary, HasSubstr("Reads of 192.0.2.2 at 192.0.2.1 (NVMe, nqn.test)"));
    EXPECT_THAT(answer.summary, HasSubstr("200 us with 1 open"));
    EXPECT_THAT(answer.summary, HasSubstr("800 us with 2 to 4"));

    metrics::FlowSnapshot steady = nvme();
    add_commands(reads(steady), {.before = 200 * us, .data = 50 * us, .open = 1}, 50);
    add_commands(reads(steady), {.before = 250 * us, .data = 50 * us, .open = 4}, 50);
    EXPECT_EQ(of_commands(steady).verdict, Verdict::target_slow);
}

TEST(AboutCommands, AFullQueueAndAnIdleHost) {
    metrics::FlowSnapshot flow = nvme();
    const Load load{.request = 300 * us, .before = 400 * us, .data = 300 * us};
    add_commands(reads(flow), load, 100);
    EXPECT_EQ(of_commands(flow).verdict, Verdict::normal);
    flow.commands->states_ns = {900 * ms, 0, 100 * ms, 0, 0, 0};
    EXPECT_EQ(of_commands(flow).verdict, Verdict::host_idle);
    flow.commands->at_limit_ns = 600 * ms;
    EXPECT_EQ(of_commands(flow).verdict, Verdict::host_queue);
    EXPECT_THAT(of_commands(flow).summary, HasSubstr("32 are permitted"));
}

TEST(AboutCommands, FewerCreditsThanAskedForAreNamed) {
    metrics::FlowSnapshot flow = nvme();
    flow.commands->protocol = "rpc";
    add_commands(reads(flow), {.request = 300 * us, .before = 400 * us, .data = 300 * us}, 100);
    flow.commands->limit_asked = 128;
    EXPECT_EQ(of_commands(flow).verdict, Verdict::normal) << "they are not used";
    flow.commands->at_limit_ns = 600 * ms;
    const metrics::Answer answer = of_commands(flow);
    EXPECT_EQ(answer.verdict, Verdict::credits_wasted);
    EXPECT_THAT(answer.summary, HasSubstr("asks for 128 and gets 32, and 60 % of the time that number is open"));
    flow.commands->limit_asked = 32;
    EXPECT_EQ(of_commands(flow).verdict, Verdict::host_queue);
}

TEST(AboutCommands, OfRdsOnlyCongestedReceiversAreNamed) {
    metrics::FlowSnapshot flow = nvme();
    flow.commands->protocol = "rds";
    flow.commands->heading = "RDS";
    add_commands(reads(flow), {.before = 900 * us}, 100);
    EXPECT_EQ(ask(snapshot_of({flow})).size(), metrics::usual_question_count);
    flow.commands->congested_ports = 2;
    const metrics::Answer answer = of_commands(flow);
    EXPECT_EQ(answer.verdict, Verdict::receiver_congested);
    EXPECT_FALSE(answer.alarm);
    EXPECT_THAT(answer.summary, HasSubstr("2 ports at most"));

    // Commands of another protocol do not hide the congested receiver.
    metrics::FlowSnapshot other = nvme();
    add_commands(reads(other), {.before = 900 * us}, 100);
    std::vector<Verdict> verdicts;
    for (const metrics::Answer& each : ask(snapshot_of({other, flow})))
        if (each.question == Question::commands) verdicts.push_back(each.verdict);
    EXPECT_THAT(verdicts, testing::ElementsAre(Verdict::target_slow, Verdict::receiver_congested));
}

TEST(AboutCommands, WhatIsNotKnownIsNotJudged) {
    metrics::FlowSnapshot few = nvme();
    add_commands(reads(few), {.before = 900 * us}, 7);
    EXPECT_EQ(of_commands(few).verdict, Verdict::undecidable);
    metrics::FlowSnapshot unbound = nvme();
    add_commands(reads(unbound), {.before = 900 * us}, 100);
    unbound.commands->operations = 100;
    unbound.commands->unbound_operations = 2;
    EXPECT_EQ(of_commands(unbound).verdict, Verdict::undecidable);
    unbound.commands->unbound_operations = 1;
    EXPECT_EQ(of_commands(unbound).verdict, Verdict::target_slow);
    metrics::FlowSnapshot orphans = nvme();
    add_commands(reads(orphans), {.before = 900 * us}, 100);
    orphans.commands->kinds.emplace(orphans.commands->kinds.begin())->orphans = 20;
    EXPECT_EQ(of_commands(orphans).verdict, Verdict::undecidable);
}

/// In the order of metrics::command_error_names.
enum ErrorPlace : std::size_t { device, path, protocol, aborted, busy, denied };

metrics::FlowSnapshot failing(ErrorPlace error, std::uint64_t errors, std::uint64_t commands, const char* name) {
    metrics::FlowSnapshot flow = nvme();
    reads(flow).kind = name;
    add_commands(reads(flow), {.request = 300 * us, .before = 400 * us, .data = 300 * us}, commands);
    reads(flow).errors = errors;
    reads(flow).error_classes[error] = errors;
    reads(flow).statuses["Some Error"] = errors;
    CommandRecord record;
    record.request_last_frame = 30;
    record.response_frame = 31;
    reads(flow).failed = {record};
    return flow;
}

TEST(AboutCommands, ErrorsOfTheDeviceAndThePathAlwaysAlarm) {
    for (const ErrorPlace error : {device, path}) {
        const auto answers = ask(snapshot_of({failing(error, 1, 1'000'000, "read")}));
        EXPECT_THAT(alarms(answers), ElementsAre("commands:command_errors"));
        const metrics::Answer& answer = about(answers, Question::commands);
        EXPECT_EQ(answer.cost.basis, metrics::CostBasis::commands);
        EXPECT_DOUBLE_EQ(answer.cost.share, 1e-6);
        EXPECT_THAT(answer.summary, HasSubstr("1 of 1,000,000 commands"));
        EXPECT_THAT(answer.summary, HasSubstr("1 of read (Some Error)"));
        EXPECT_THAT(evidence(answer, "commands with an error")->frames, ElementsAre(30, 31));
    }
}

TEST(AboutCommands, ErrorsThatHostsCauseAlarmIfTheyAreMany) {
    for (const ErrorPlace error : {aborted, busy, denied}) {
        EXPECT_THAT(alarms(ask(snapshot_of({failing(error, 1, 10'001, "read")}))), IsEmpty());
        EXPECT_THAT(alarms(ask(snapshot_of({failing(error, 1, 10'000, "read")}))),
                    ElementsAre("commands:command_errors"));
    }
    // A host asks for what a target may not have.
    EXPECT_THAT(alarms(ask(snapshot_of({failing(protocol, 5, 100, "maintenance_in")}))), IsEmpty());
    EXPECT_THAT(alarms(ask(snapshot_of({failing(protocol, 5, 100, "read")}))), ElementsAre("commands:command_errors"));
}

metrics::Snapshot hung(std::int64_t asked_before_end_ns, bool acknowledged) {
    metrics::FlowSnapshot flow = nvme();
    flow.reverse = 2;
    metrics::FlowSnapshot target = healthy(2, 1, 2);
    target.reverse = 1;
    add_commands(reads(flow), {.request = 300 * us, .before = 400 * us, .data = 300 * us}, 99);
    reads(flow).unanswered = 1;
    reads(flow).unanswered_long = asked_before_end_ns > 5'000'000'000 ? 1 : 0;
    CommandRecord record;
    record.request_last_frame = 40;
    record.begin_ns = 20'000'000'000 - asked_before_end_ns;
    if (acknowledged) record.request_ack_ns = 5 * us;
    reads(flow).waiting = {record};
    metrics::Snapshot snapshot = snapshot_of({flow, target});
    snapshot.capture.last_ns = 20'000'000'000;
    return snapshot;
}

TEST(AboutCommands, NoAnswerForFiveSecondsAlarms) {
    EXPECT_THAT(alarms(ask(hung(5'000'000'000, true))), IsEmpty()) << "the capture may have ended before";
    const auto answers = ask(hung(5'000'000'001, true));
    EXPECT_THAT(alarms(answers), ElementsAre("commands:unanswered"));
    const metrics::Answer& answer = about(answers, Question::commands);
    EXPECT_DOUBLE_EQ(answer.cost.share, 0.01);
    EXPECT_THAT(answer.summary, HasSubstr("though requests were acknowledged"));
    EXPECT_THAT(evidence(answer, "commands without an answer")->frames, ElementsAre(40));
    EXPECT_EQ(grade_of(answer), metrics::Grade::wrong);
    EXPECT_THAT(about(ask(hung(6'000'000'000, false)), Question::commands).summary,
                testing::Not(HasSubstr("acknowledged")));
}

TEST(AboutCommands, OnlyThoseThatWaitedLongCount) {
    metrics::Snapshot snapshot = hung(6'000'000'000, true);
    metrics::CommandConnectionFigures& commands = *snapshot.flows[0].commands;
    commands.kinds[0].unanswered = 7;
    commands.kinds[0].unanswered_long = 2;
    commands.open_now = 9;
    commands.open_long = 3;
    const metrics::Answer answer = about(ask(snapshot), Question::commands);
    EXPECT_EQ(evidence(answer, "commands without an answer")->value, 5);
    EXPECT_THAT(answer.summary, testing::StartsWith("5 commands of "));
}

TEST(AboutCommands, NoAnswerIsSuspectedWhereTheCaptureLacksPackets) {
    metrics::Snapshot snapshot = hung(10'000'000'000, true);
    snapshot.flows[1].unseen_acknowledged_packets = 1;
    EXPECT_EQ(grade_of(about(ask(snapshot), Question::commands)), metrics::Grade::suspected);
}

TEST(AboutCommands, ACommandThatIsStillOpenCounts) {
    metrics::Snapshot snapshot = hung(0, false);
    CommandKindFigures& kind = snapshot.flows[0].commands->kinds[0];
    kind.unanswered = 0;
    kind.waiting.clear();
    snapshot.flows[0].commands->oldest_open_ns = 14'000'000'000;
    EXPECT_THAT(alarms(ask(snapshot)), ElementsAre("commands:unanswered"));
    snapshot.flows[0].commands->oldest_open_ns = 15'000'000'000;
    EXPECT_THAT(alarms(ask(snapshot)), IsEmpty());
}

/// Asked at 14 s, in a capture that ends at 20 s.
TEST(AboutCommands, NoWaitGoesOnAfterTheConnection) {
    metrics::Snapshot snapshot = hung(6'000'000'000, false);
    snapshot.flows[0].connection->end_ns = 19'500'000'000;
    const metrics::Answer answer = about(ask(snapshot), Question::commands);
    EXPECT_THAT(answer.summary, HasSubstr("got no answer for up to 5.50 s."));
    EXPECT_EQ(evidence(answer, "longest wait")->value, 5'500'000'000);
    // The host may have given up earlier than that. No answer came all the same.
    snapshot.flows[0].connection->end_ns = 17'000'000'000;
    EXPECT_THAT(alarms(ask(snapshot)), ElementsAre("commands:unanswered"));
    EXPECT_THAT(about(ask(snapshot), Question::commands).summary, HasSubstr("got no answer for up to 3.00 s."));
}

TEST(AboutCommands, RepairsAlarmFromOnePercentOfTheLatencyOn) {
    metrics::FlowSnapshot flow = nvme();
    add_commands(reads(flow), {.request = 300 * us, .before = 400 * us, .data = 300 * us}, 100);
    reads(flow).repair_own_ns = 500 * us;
    reads(flow).repair_behind_ns = 499 * us;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), IsEmpty());
    reads(flow).repair_behind_ns = 500 * us;
    const auto answers = ask(snapshot_of({flow}));
    EXPECT_THAT(alarms(answers), ElementsAre("commands:repairs_hurt_commands"));
    EXPECT_EQ(about(answers, Question::commands).cost.basis, metrics::CostBasis::command_time);
}

/// The target's Write of frame 33 is refused; the Read that asked for it was asked in frame 30, an older one in
/// frame 20.
metrics::Snapshot with_refused_data(metrics::NakCode code, metrics::Operation operation) {
    metrics::FlowSnapshot flow = nvme();
    flow.reverse = 2;
    add_commands(reads(flow), {.request = 300 * us, .before = 400 * us, .data = 300 * us}, 99);
    CommandRecord older;
    older.kind = "read";
    older.id = "0x0007";
    older.request_last_frame = 20;
    CommandRecord asking = older;
    asking.id = "0x0008";
    asking.request_last_frame = 30;
    CommandRecord later = older;
    later.id = "0x0009";
    later.request_last_frame = 40;
    reads(flow).waiting = {older, asking, later};
    metrics::FlowSnapshot target = healthy(2, 1, 2);
    target.reverse = 1;
    target.naks[static_cast<std::size_t>(code)] = 1;
    target.refused = metrics::RequestFigures{operation, 4096, 1024, 33};
    add_event(target, metrics::EventKind::nak, {35});
    return snapshot_of({flow, target});
}

TEST(AboutCommands, DataThatTheInitiatorRefusesNameTheirCommand) {
    const auto answers = ask(with_refused_data(metrics::NakCode::remote_access_error, metrics::Operation::write));
    EXPECT_THAT(alarms(answers), testing::Contains("commands:remote_access"));
    const metrics::Answer& answer = about(answers, Question::commands);
    EXPECT_THAT(answer.summary, HasSubstr("refused access to its memory 1 time"));
    EXPECT_THAT(answer.summary, HasSubstr("for the read 0x0008 of frame 30."));
    EXPECT_THAT(evidence(answer, "refusals")->frames, ElementsAre(35));
    EXPECT_THAT(evidence(answer, "the request that was refused")->frames, ElementsAre(33));
    // A SEND needs no access, and another code is no refusal of access.
    for (const metrics::Snapshot& other :
         {with_refused_data(metrics::NakCode::remote_access_error, metrics::Operation::send),
          with_refused_data(metrics::NakCode::remote_operational_error, metrics::Operation::write)})
        EXPECT_THAT(alarms(ask(other)), testing::Not(testing::Contains("commands:remote_access")));
}

/// RFC 5040, 4.8: layer 0 (RDMAP), type 1 (remote protection error), code 1 (base or bounds).
TEST(AboutCommands, ATerminateOfTheInitiatorAboutItsMemoryIsARefusal) {
    metrics::FlowSnapshot flow = nvme();
    flow.transport = wire::Transport::iwarp;
    add_commands(reads(flow), {.request = 300 * us, .before = 400 * us, .data = 300 * us}, 99);
    flow.terminates = 1;
    add_event(flow, metrics::EventKind::terminate, {50}, 1, 0x0101);
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), testing::Contains("commands:remote_access"));
    flow.event_summaries.front().value_max = 0x1202;  // DDP, no buffer
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), testing::Not(testing::Contains("commands:remote_access")));
}

/// [MS-SMBD] 2.1 names port 5445 for iWARP; clients that are refused there ask at 445.
TEST(AboutCommands, SmbThatWasRefusedAtItsPortFallsBack) {
    metrics::FlowSnapshot flow = nvme();
    flow.commands->protocol = "smb";
    add_commands(reads(flow), {.request = 300 * us, .before = 400 * us, .data = 300 * us}, 99);
    flow.connection->service_id = 0x10601bd;  // RDMA CM's TCP port space, port 445
    metrics::Snapshot snapshot = snapshot_of({flow});
    EXPECT_THAT(alarms(ask(snapshot)), IsEmpty());
    metrics::ConnectionAttempt attempt;
    attempt.transport = wire::Transport::roce2;
    attempt.client = {flow.source.address, {}, {}};
    attempt.server = {flow.destination.address, {}, std::uint16_t{5445}};
    attempt.request_frame = 3;
    attempt.end_frame = 4;
    attempt.outcome = metrics::AttemptOutcome::rejected;
    attempt.reason = "invalid service ID";
    snapshot.attempts = {attempt};
    const auto answers = ask(snapshot);
    EXPECT_THAT(alarms(answers), testing::Contains("commands:fallback"));
    EXPECT_THAT(about(answers, Question::commands).summary,
                HasSubstr("was refused at port 5445 of 192.0.2.1: invalid service ID, and uses port 445 instead."));
    EXPECT_THAT(evidence(about(answers, Question::commands), "requests that were refused")->frames, ElementsAre(3, 4));
    snapshot.attempts.front().server.port = 4420;
    EXPECT_THAT(alarms(ask(snapshot)), testing::Not(testing::Contains("commands:fallback")));
}

TEST(AboutCommands, ConnectionsOfTheSameHostsAreOne) {
    metrics::FlowSnapshot one = nvme();
    add_commands(reads(one), {.before = 900 * us, .data = 100 * us}, 60);
    metrics::FlowSnapshot two = nvme();
    two.id = 3;
    two.destination.qpn = 0x13;
    add_commands(reads(two), {.before = 900 * us, .data = 100 * us}, 40);
    const metrics::Answer answer = about(ask(snapshot_of({one, two})), Question::commands);
    EXPECT_THAT(answer.flows, ElementsAre(1, 3));
    EXPECT_EQ(evidence(answer, "commands")->value, 100);
}

}  // namespace
