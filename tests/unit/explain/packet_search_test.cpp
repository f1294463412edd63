// Which flow a line is about: flows made by hand, with the ends that the tests say.
#include "explain/join/packet_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "explain/explainer.h"

namespace explain::join {
namespace {

using metrics::AttemptOutcome;
using metrics::Snapshot;
using metrics::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t begin_ns = 1'795'688'400 * second;  // 2026-11-26 10:20:00 UTC

struct NoNames final : metrics::HostNames {
    std::string name(const metrics::Address& /*address*/) const override { return {}; }
};

/// A capture of 30 s, with connections between hosts 192.0.2.A and 192.0.2.B.
class Capture {
public:
    Capture() {
        snapshot_.capture.packets = 1'000;
        snapshot_.capture.first_ns = begin_ns;
        snapshot_.capture.last_ns = begin_ns + 30 * second;
    }

    /// Both directions, whose ids are `id` and `id + 1`. Returns the first, which has the requests.
    metrics::FlowSnapshot& connect(std::uint64_t id, unsigned from, unsigned to, std::uint32_t qpn) {
        for (const bool forward : {true, false}) {
            metrics::FlowSnapshot flow;
            flow.id = forward ? id : id + 1;
            flow.reverse = forward ? id + 1 : id;
            flow.source = {address(forward ? from : to), forward ? qpn : qpn + 1, {}};
            flow.destination = {address(forward ? to : from), forward ? qpn + 1 : qpn, {}};
            flow.first_ns = begin_ns;
            flow.last_ns = begin_ns + 20 * second;
            flow.packets = 10;
            snapshot_.flows.push_back(flow);
        }
        metrics::FlowSnapshot& first = snapshot_.flows[snapshot_.flows.size() - 2];
        metrics::OperationFigures& sends = first.operations[static_cast<std::size_t>(metrics::Operation::send)];
        sends.count = 5;
        for (int i = 0; i < 5; ++i) sends.latency_ns.record(1'000);
        first.last_answer_frame = 99;
        return first;
    }

    void alarm(Verdict verdict, std::vector<std::uint64_t> flows) {
        metrics::Answer answer;
        answer.question = metrics::Question::bandwidth;
        answer.verdict = verdict;
        answer.alarm = true;
        answer.confidence = 1;
        answer.flows = std::move(flows);
        answer.summary = "what happened";
        answers_.push_back(answer);
    }

    void attempt(unsigned from, unsigned to, AttemptOutcome outcome, std::string reason, std::uint64_t frame) {
        metrics::ConnectionAttempt made;
        made.client.address = address(from);
        made.server.address = address(to);
        made.request_frame = frame;
        made.end_frame = outcome == AttemptOutcome::unanswered ? 0 : frame + 1;
        made.request_ns = begin_ns + second;
        made.outcome = outcome;
        made.reason = std::move(reason);
        snapshot_.attempts.push_back(made);
    }

    SearchResult search(std::string_view line) const {
        static Explainer explainer = std::move(Explainer::make()).value();
        auto explanation = explainer.explain_line(line, begin_ns);
        if (!explanation) explanation = explainer.explain_code(line);
        EXPECT_TRUE(explanation) << line;
        return explanation ? find_packets(*explanation, {snapshot_, answers_, names_}) : SearchResult{};
    }

    Snapshot& snapshot() { return snapshot_; }

private:
    static metrics::Address address(unsigned last) {
        metrics::Address made;
        made.family = wire::AddressFamily::ipv4;
        made.octets = {192, 0, 2, static_cast<std::uint8_t>(last)};
        return made;
    }

    Snapshot snapshot_;
    std::vector<metrics::Answer> answers_;
    NoNames names_;
};

void give_up_on(metrics::FlowSnapshot& flow) {
    metrics::RetryFigures retries;
    retries.repeats = 7;
    retries.request.frame = 7;
    retries.repeat_frame = 8;
    retries.last_frame = 14;
    flow.retries = retries;
}

std::string nccl(std::string_view time, unsigned status, unsigned local, unsigned remote) {
    return std::string(time) +
           " NCCL WARN NET/IB : Got completion from peer 198.51.100.1<5> with status=" + std::to_string(status) +
           " opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:192.0.2." + std::to_string(local) +
           " remoteGids::ffff:192.0.2." + std::to_string(remote);
}

TEST(PacketSearch, finds_the_flow_between_the_addresses_of_the_line) {
    Capture capture;
    give_up_on(capture.connect(1, 1, 2, 0x11));
    give_up_on(capture.connect(3, 1, 3, 0x21));
    give_up_on(capture.connect(5, 3, 2, 0x31));
    capture.alarm(Verdict::never_answered, {1, 3, 5});
    const auto result = capture.search(nccl("2026-11-26T10:20:20Z", 12, 1, 3));
    ASSERT_TRUE(result.found);
    EXPECT_EQ(result.found->flow, 3U);
    EXPECT_EQ(result.found->verdict, "never_answered");
    EXPECT_EQ(result.found->network, std::nullopt);
    EXPECT_THAT(result.found->frames, ElementsAre(7, 8, 14, 99));
}

TEST(PacketSearch, the_requester_is_the_host_of_the_line) {
    Capture capture;
    give_up_on(capture.connect(1, 2, 1, 0x11));  // the other host gave up
    const auto result = capture.search(nccl("2026-11-26T10:20:20Z", 12, 1, 2));
    ASSERT_TRUE(result.found);
    EXPECT_NE(result.found->flow, 1U);
    EXPECT_THAT(result.found->summary, HasSubstr("do not show such an end"));
}

TEST(PacketSearch, names_both_of_two_candidates) {
    Capture capture;
    give_up_on(capture.connect(1, 1, 2, 0x11));
    give_up_on(capture.connect(3, 1, 2, 0x21));
    capture.connect(5, 1, 2, 0x31);  // without a problem
    capture.alarm(Verdict::retries_used_up, {1, 3});
    const auto result = capture.search(nccl("2026-11-26T10:20:20Z", 12, 1, 2));
    ASSERT_TRUE(result.found);
    EXPECT_EQ(result.found->flow, std::nullopt);
    EXPECT_EQ(result.found->verdict, std::nullopt);
    EXPECT_THAT(result.found->candidates, ElementsAre(1, 3));
    EXPECT_THAT(result.found->summary, HasSubstr("flow 1 "));
    EXPECT_THAT(result.found->summary, HasSubstr("flow 3 "));
}

TEST(PacketSearch, decides_by_queue_pairs) {
    Capture capture;
    give_up_on(capture.connect(1, 1, 2, 0x11));
    give_up_on(capture.connect(3, 1, 2, 0x21));
    capture.alarm(Verdict::retries_used_up, {1, 3});
    const auto result = capture.search("00000000 00008115 0a000021 000432d2");
    ASSERT_TRUE(result.found);
    EXPECT_EQ(result.found->flow, 3U);
    EXPECT_FALSE(capture.search("00000000 00008115 0a000099 000432d2").found);
}

TEST(PacketSearch, without_a_peer_only_one_end_decides) {
    Capture capture;
    capture.connect(1, 1, 2, 0x11);
    const std::string line = "Failed status transport retry counter exceeded (12) for wr_id 1";
    EXPECT_THAT(capture.search(line).reason, HasSubstr("no flow of the capture ended in such a way"));
    give_up_on(capture.connect(3, 1, 3, 0x21));
    capture.alarm(Verdict::stopped_answering, {3});
    ASSERT_TRUE(capture.search(line).found);
    EXPECT_EQ(capture.search(line).found->flow, 3U);
    EXPECT_THAT(capture.search(line).found->summary, HasSubstr("only flow"));
    EXPECT_FALSE(capture.search("Failed status remote access error (10) for wr_id 1").found);
    give_up_on(capture.connect(5, 4, 5, 0x31));
    capture.alarm(Verdict::stopped_answering, {5});
    EXPECT_THAT(capture.search(line).found->candidates, ElementsAre(3, 5));
}

TEST(PacketSearch, a_reset_of_tcp_ends_the_requests_of_iwarp) {
    const auto search = [](unsigned status, metrics::EndKind end, wire::Transport transport, bool terminated = false) {
        Capture capture;
        capture.connect(1, 1, 2, 0x11);
        metrics::ConnectionFigures connection;
        connection.end_kind = end;
        connection.end_frame = 77;
        for (metrics::FlowSnapshot& flow : capture.snapshot().flows) {
            flow.transport = transport;
            flow.connection = connection;
        }
        capture.connect(3, 1, 3, 0x21).transport = transport;
        if (terminated) capture.alarm(Verdict::terminate, {1});
        const auto line = "Failed status " + std::to_string(status) + ": wr_id 0 syndrom 0x0";
        return capture.search(line).found;
    };
    using metrics::EndKind;
    for (const unsigned status : {5U, 12U}) {
        const auto found = search(status, EndKind::tcp_reset, wire::Transport::iwarp);
        ASSERT_TRUE(found) << status;
        EXPECT_EQ(found->flow, 1U);
        EXPECT_EQ(found->verdict, "connection_reset");
        EXPECT_EQ(found->network, std::nullopt);
        EXPECT_THAT(found->frames, ElementsAre(77));
        EXPECT_FALSE(search(status, EndKind::tcp_fin, wire::Transport::iwarp)) << status;
        EXPECT_FALSE(search(status, EndKind::tcp_reset, wire::Transport::roce2)) << status;
    }
    EXPECT_FALSE(search(13, EndKind::tcp_reset, wire::Transport::iwarp));
    // A flush comes from what went wrong before.
    EXPECT_EQ(search(5, EndKind::tcp_reset, wire::Transport::iwarp, true)->verdict, "terminate");
}

TEST(PacketSearch, by_time) {
    Capture capture;
    give_up_on(capture.connect(1, 1, 2, 0x11));
    capture.alarm(Verdict::never_answered, {1});
    for (const auto& [time, found] : {std::pair("2026-11-26T10:19:50Z", false),
                                      {"2026-11-26T10:20:20Z", true},
                                      {"2026-11-26T10:22:00Z", true},
                                      {"2026-11-26T10:40:00Z", false},
                                      {"2026-11-27T10:20:20Z", false}})
        EXPECT_EQ(capture.search(nccl(time, 12, 1, 2)).found.has_value(), found) << time;
    EXPECT_THAT(capture.search(nccl("2026-11-27T10:20:20Z", 12, 1, 2)).reason, HasSubstr("time of the line"));
}

TEST(PacketSearch, says_that_it_is_not_the_network) {
    Capture capture;
    capture.connect(1, 1, 2, 0x11);
    const auto result = capture.search(nccl("2026-11-26T10:20:20Z", 5, 1, 2));
    ASSERT_TRUE(result.found);
    EXPECT_EQ(result.found->flow, 1U);
    EXPECT_EQ(result.found->network, false);
    EXPECT_THAT(result.found->summary,
                HasSubstr("Not the network: 192.0.2.2 qp 0x000012 answered everything of flow 1 until"));
    EXPECT_THAT(result.found->summary, HasSubstr("nothing was lost, marked or paused"));
}

TEST(PacketSearch, does_not_clear_the_network_of_what_it_did) {
    const std::string line = nccl("2026-11-26T10:20:20Z", 5, 1, 2);
    const auto network = [&](auto&& disturb) {
        Capture capture;
        disturb(capture, capture.connect(1, 1, 2, 0x11));
        const auto result = capture.search(line);
        return result.found ? result.found->network : std::optional<bool>();
    };
    using Flow = metrics::FlowSnapshot;
    EXPECT_EQ(network([](Capture&, Flow&) {}), false);
    EXPECT_EQ(network([](Capture&, Flow& flow) { flow.retransmitted_packets = 1; }), std::nullopt);
    EXPECT_EQ(network([](Capture&, Flow& flow) { flow.missing_packets = 1; }), std::nullopt);
    EXPECT_EQ(network([](Capture&, Flow& flow) { flow.timeouts = 1; }), std::nullopt);
    EXPECT_EQ(network([](Capture&, Flow& flow) { flow.ecn_ce_packets = 1; }), std::nullopt);
    EXPECT_EQ(network([](Capture&, Flow& flow) { flow.cnp_packets = 1; }), std::nullopt);
    EXPECT_EQ(network([](Capture&, Flow& flow) { flow.unseen_acknowledged_packets = 1; }), std::nullopt);
    EXPECT_EQ(network([](Capture&, Flow& flow) { flow.reverse.reset(); }), std::nullopt);
    EXPECT_EQ(network([](Capture& capture, Flow&) { capture.snapshot().capture.kernel_dropped = 1; }), std::nullopt);
    EXPECT_EQ(network([](Capture& capture, Flow&) { capture.snapshot().pauses.emplace_back().pause_frames = 1; }),
              std::nullopt);
    EXPECT_EQ(network([](Capture&, Flow& flow) {
                  ++flow.operations[static_cast<std::size_t>(metrics::Operation::send)].count;  // one not answered
              }),
              std::nullopt);
    // A line that says that answers were missing is not refuted by a capture that shows none missing.
    Capture capture;
    capture.connect(1, 1, 2, 0x11);
    const auto result = capture.search(nccl("2026-11-26T10:20:20Z", 12, 1, 2));
    ASSERT_TRUE(result.found);
    EXPECT_EQ(result.found->network, std::nullopt);
}

TEST(PacketSearch, takes_the_settings_of_the_set_up) {
    Capture capture;
    metrics::FlowSnapshot& flow = capture.connect(1, 1, 2, 0x11);
    give_up_on(flow);
    metrics::ConnectionFigures setup;
    setup.ack_timeout_ns = 67'108'864;  // 14
    setup.retry_count = 3;
    flow.connection = setup;
    capture.alarm(Verdict::retries_used_up, {1});
    const auto result = capture.search(nccl("2026-11-26T10:20:20Z", 12, 1, 2));
    ASSERT_TRUE(result.found);
    EXPECT_EQ(result.found->settings.timeout, 14U);
    EXPECT_EQ(result.found->settings.retries, 3U);
}

TEST(PacketSearch, finds_attempts_to_connect) {
    Capture capture;
    EXPECT_THAT(capture.search("RDMA_CM_EVENT_REJECTED, error 8").reason, HasSubstr("no attempt to connect"));
    capture.attempt(1, 2, AttemptOutcome::rejected, "invalid service ID", 40);
    capture.attempt(1, 3, AttemptOutcome::unanswered, "", 50);
    const auto rejected = capture.search("RDMA_CM_EVENT_REJECTED, error 8");
    ASSERT_TRUE(rejected.found);
    EXPECT_EQ(rejected.found->verdict, "connection_rejected");
    EXPECT_EQ(rejected.found->network, false);
    EXPECT_THAT(rejected.found->frames, ElementsAre(40, 41));
    EXPECT_FALSE(capture.search("RDMA_CM_EVENT_REJECTED, error 28").found);  // another reason
    const auto unanswered = capture.search("RDMA_CM_EVENT_UNREACHABLE, error -110");
    ASSERT_TRUE(unanswered.found);
    EXPECT_EQ(unanswered.found->verdict, "connection_unanswered");
    EXPECT_EQ(unanswered.found->network, std::nullopt);
    EXPECT_THAT(unanswered.found->frames, ElementsAre(50));
    capture.attempt(4, 3, AttemptOutcome::unanswered, "", 60);
    const auto both = capture.search("RDMA_CM_EVENT_UNREACHABLE, error -110");
    ASSERT_TRUE(both.found);
    EXPECT_EQ(both.found->verdict, std::nullopt);
    EXPECT_THAT(both.found->frames, ElementsAre(50, 60));
}

TEST(Addresses, in_the_forms_of_logs) {
    const auto text = [](std::string_view given) {
        const auto address = address_in(given);
        return address ? metrics::to_text(*address) : "";
    };
    EXPECT_EQ(text("192.0.2.1"), "192.0.2.1");
    EXPECT_EQ(text("192.0.2.1:4420"), "192.0.2.1");
    EXPECT_EQ(text("::ffff:192.0.2.1"), "192.0.2.1");
    EXPECT_EQ(text("[2001:db8::1]:20049"), "2001:db8::1");
    EXPECT_EQ(text("2001:db8::1"), "2001:db8::1");
    EXPECT_EQ(text("node-a"), "");
    EXPECT_EQ(text("["), "");
    EXPECT_EQ(text(":"), "");
    EXPECT_EQ(text(std::string(1'000, '1')), "");
}

}  // namespace
}  // namespace explain::join
