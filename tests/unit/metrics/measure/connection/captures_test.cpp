/// Set-ups of real captures. Expected values are tshark's fields (infiniband.cm.*, iwarp_mpa.*) and what the
/// applications reported next to the captures.
#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "metrics/measure/packet/packet_addresses.h"
#include "tests/support/pcaps.h"
#include "tests/unit/metrics/measure/connection/set_ups.h"
#include "wire/bth_opcode.h"

namespace metrics_test {
namespace {

using metrics::FlowKey;

std::vector<metrics::ConnectionAttempt> attempts(const SetUps& set_ups) {
    return set_ups.connections.attempts(set_ups.last_ns);
}

TEST(ConnectionCaptures, ThreeConnectionsOfUcmatose) {
    SetUps set_ups;
    set_ups.read("rxe-ucmatose.pcap");
    ASSERT_EQ(set_ups.known.size(), 6u);
    struct Row {
        std::uint32_t client_qpn, server_qpn, req_psn, rep_psn;
        std::uint64_t req, rep, rtu;
    };
    const Row rows[] = {{0x18, 0x17, 0x2fba4b, 0xb3d2e0, 1, 4, 5},
                        {0x19, 0x18, 0xe9fba5, 0xcb3135, 2, 6, 7},
                        {0x1a, 0x19, 0x6a8730, 0x8b79c5, 3, 8, 9}};
    for (unsigned i = 0; i < 3; ++i) {
        const SetUps::Known& known = set_ups.known[i];
        EXPECT_FALSE(known.ended);
        EXPECT_EQ(known.frame, rows[i].rep);
        EXPECT_EQ(metrics::to_text(known.pairs.to_server.source), "192.0.2.2");
        EXPECT_EQ(metrics::to_text(known.pairs.to_server.destination), "192.0.2.1");
        EXPECT_EQ(known.pairs.to_server.selector, rows[i].server_qpn);
        EXPECT_EQ(known.pairs.to_client.selector, rows[i].client_qpn);
        EXPECT_EQ(metrics::to_text(known.pairs.to_client.source), "192.0.2.1");
        // Each side says with which PSN the other is to begin.
        EXPECT_EQ(known.pairs.client_psn, rows[i].rep_psn);
        EXPECT_EQ(known.pairs.server_psn, rows[i].req_psn);
        EXPECT_EQ(known.pairs.client.initiator_depth, 1u);
        EXPECT_EQ(known.pairs.client.responder_resources, 1u);
        EXPECT_EQ(known.pairs.client.path_mtu, 1024u);
        EXPECT_EQ(known.pairs.client.ack_timeout_ns, 4096ull << 19);
        EXPECT_EQ(known.pairs.client.retry_count, 5u);
        EXPECT_EQ(known.pairs.client.rnr_retry_count, 7u);  // the REP's
        EXPECT_EQ(known.pairs.server.rnr_retry_count, 0u);  // the REQ's
        EXPECT_EQ(known.pairs.client.setup_frame, rows[i].req);
        const auto* about = set_ups.connections.about(known.pairs.to_server);
        ASSERT_NE(about, nullptr);
        EXPECT_TRUE(about->setup_ns);
        EXPECT_EQ(about->end, "DREQ");
    }
    for (unsigned i = 3; i < 6; ++i) EXPECT_TRUE(set_ups.known[i].ended);
    EXPECT_EQ(set_ups.known[3].frame, 130u);
    // REQ 01:42:39.436162, RTU .713189 (dump)
    EXPECT_NEAR(static_cast<double>(*set_ups.connections.about(set_ups.known[0].pairs.to_client)->setup_ns), 277.027e6,
                1e4);
    EXPECT_TRUE(attempts(set_ups).empty());
}

TEST(ConnectionCaptures, NvmeTargetMakesTheReads) {
    SetUps set_ups;
    set_ups.read("nvme-rdma-rxe.pcap.gz");
    ASSERT_GE(set_ups.known.size(), 3u);
    const auto& pairs = set_ups.known[0].pairs;
    EXPECT_EQ(pairs.client.initiator_depth, 0u);
    EXPECT_EQ(pairs.client.responder_resources, 0u);
    EXPECT_EQ(pairs.server.initiator_depth, 128u);
    EXPECT_EQ(pairs.server.responder_resources, 128u);
}

TEST(ConnectionCaptures, NobodyServesThePort) {
    SetUps set_ups;
    set_ups.read("rxe-cm-reject.pcap");
    const auto found = attempts(set_ups);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].outcome, metrics::AttemptOutcome::rejected);
    EXPECT_EQ(found[0].reason, "Invalid Service ID");  // 8: the application's report says "error 8"
    EXPECT_EQ(found[0].reject_reason, metrics::RejectReason::invalid_service_id);
    EXPECT_EQ(found[0].transport, wire::Transport::roce2);
    EXPECT_EQ(metrics::to_text(found[0].client.address), "192.0.2.2");
    EXPECT_EQ(found[0].client.qpn, 0x17u);
    EXPECT_EQ(found[0].server.port, 7174);
    EXPECT_EQ(found[0].requests, 1u);
    EXPECT_EQ(found[0].request_frame, 1u);
    EXPECT_EQ(found[0].end_frame, 2u);
}

TEST(ConnectionCaptures, MpaReject) {
    const Analyzed capture("siw-mpa-reject.pcap");
    const auto& found = capture.snapshot.attempts;
    // The second attempt met no listener: nothing says that it was for RDMA.
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].outcome, metrics::AttemptOutcome::rejected);
    EXPECT_EQ(found[0].client.port, 44970);
    EXPECT_EQ(found[0].server.port, 7174);
    EXPECT_EQ(found[0].request_frame, 4u);
    EXPECT_EQ(found[0].end_frame, 6u);
    EXPECT_EQ(found[0].transport, wire::Transport::iwarp);
    // tshark: iwarp_mpa.crc_flag 1 in frame 4 and 0 in frame 6; both of revision 2, without markers.
    EXPECT_EQ(found[0].reason, "the request wants CRC, the reply does not");
}

TEST(ConnectionCaptures, MpaRequestsThatNobodyAnswers) {
    Analyzed capture("iser-siw-refused.pcap");
    const auto& found = capture.snapshot.attempts;
    // tshark: iwarp_mpa.req in five connections, no iwarp_mpa.rep; the fifth is 1.2 ms old when the capture ends.
    ASSERT_EQ(found.size(), 4u);
    for (const auto& attempt : found) {
        EXPECT_EQ(attempt.outcome, metrics::AttemptOutcome::unanswered);
        EXPECT_EQ(attempt.server.port, 3260);
    }
    EXPECT_EQ(found[0].client.port, 45902);
    EXPECT_EQ(found[0].end_frame, 6u);
    capture.wait(3'000'000'000);
    EXPECT_EQ(capture.snapshot.attempts.size(), 5u);
}

TEST(ConnectionCaptures, MpaDepthsOfBothSides) {
    const Analyzed capture("siw-ucmatose.pcap");
    for (const std::uint32_t port : {42482u, 52964u, 45192u}) {
        const auto* flow = capture.flow(port, 7471);
        ASSERT_NE(flow, nullptr);
        const metrics::ConnectionFigures& about = flow->connection;
        EXPECT_EQ(about.initiator_depth, 1u);
        EXPECT_EQ(about.responder_resources, 1u);
        EXPECT_EQ(about.mpa_revision, 2u);
        EXPECT_EQ(about.mpa_crc, true);
        EXPECT_EQ(about.mpa_markers, false);
        EXPECT_EQ(about.end, "TCP FIN");
        EXPECT_FALSE(about.ack_timeout_ns);
    }
    const metrics::ConnectionFigures& about = capture.flow(42482, 7471)->connection;
    EXPECT_EQ(about.end_frame, 145u);
    EXPECT_NEAR(static_cast<double>(*about.setup_ns), 95.632e6, 1e4);  // 02:16:59.761324 to .856956
    EXPECT_TRUE(capture.snapshot.attempts.empty());
}

TEST(ConnectionCaptures, MpaRevisionOneNegotiatesNoDepths) {
    const Analyzed capture("siw-rping-mpa1.pcap");
    for (const std::uint32_t port : {34422u, 51678u, 58713u, 36020u}) {
        const auto* flow = capture.flow(7174, port);
        ASSERT_NE(flow, nullptr);
        EXPECT_FALSE(flow->connection->initiator_depth);
        EXPECT_FALSE(flow->connection->responder_resources);
        EXPECT_EQ(flow->connection->mpa_revision, 1u);
        EXPECT_EQ(flow->connection->mpa_crc, false);
    }
    EXPECT_TRUE(capture.snapshot.attempts.empty());
}

/// Remembers the first request packet of every flow.
class FirstRequests final : public dissect::Sink {
public:
    explicit FirstRequests(SetUps& set_ups) : set_ups_(set_ups) {}
    void on_unit(const dissect::Unit& unit) override {
        set_ups_.on_unit(unit);
        if (!unit.dissection.has(dissect::LayerId::bth)) return;
        const auto& bth = unit.dissection.bth;
        const auto& opcode = wire::bth_opcode(bth.opcode);
        if (opcode.role != wire::BthRole::request || opcode.service != wire::BthService::rc) return;
        const auto source = metrics::source_address(unit.dissection, unit.bytes);
        // By how many set-up messages lie before it.
        first.try_emplace({source, bth.destination_qp, set_ups_.known.size()}, bth.psn);
    }
    std::map<std::tuple<metrics::Address, std::uint32_t, std::size_t>, std::uint32_t> first;

private:
    SetUps& set_ups_;
};

/// The traffic itself is the second source: each side's first request after the REP has the PSN that was agreed on.
TEST(ConnectionCaptures, TrafficBeginsWithTheAgreedPsn) {
    unsigned checked = 0;
    unsigned captures = 0;
    unsigned pairs = 0;
    for (const auto& entry : std::filesystem::directory_iterator{support::pcaps()}) {
        const std::string name = entry.path().filename().string();
        if (name.find(".pcap") == std::string::npos) continue;
        if (name.starts_with("rxe-reorder")) continue;  // the network changed which request comes first
        if (!name.starts_with("rxe-") && !name.starts_with("nvme-rdma-rxe") && !name.starts_with("nfs-rdma-rxe") &&
            !name.starts_with("iser-rxe") && !name.starts_with("rds-rxe"))
            continue;
        SetUps set_ups;
        FirstRequests requests{set_ups};
        const auto file = capture::open_file(entry.path().string());
        ASSERT_TRUE(file.ok());
        dissect::DissectorOptions options;
        options.parse.verify_crc = false;
        dissect::Dissector dissector{options};
        wire::Frame frame;
        constexpr std::uint64_t enough = 20000;
        while ((*file)->next(frame) == capture::ReadStatus::frame && frame.number < enough)
            dissector.dissect(frame, requests);
        for (const auto& known : set_ups.known) pairs += !known.ended;
        unsigned here = 0;
        for (std::size_t i = 0; i < set_ups.known.size(); ++i) {
            const auto& known = set_ups.known[i];
            if (known.ended || known.pairs.to_server.service != metrics::Service::rc) continue;
            const auto check = [&](const FlowKey& key, std::uint32_t psn) {
                // The first request of this connection's life: after its REP, with no other REP of the same number.
                for (std::size_t after = i + 1; after <= set_ups.known.size(); ++after) {
                    const auto found = requests.first.find({key.source, key.selector, after});
                    if (found == requests.first.end()) continue;
                    EXPECT_EQ(found->second, psn) << name << " qp " << key.selector;
                    ++here;
                    return;
                }
            };
            check(known.pairs.to_server, known.pairs.client_psn);
            check(known.pairs.to_client, known.pairs.server_psn);
        }
        checked += here;
        captures += here != 0;
    }
    // tshark counts 84 replies (infiniband.mad.attributeid 0x13) in these captures; rxe-verbs-idle has no traffic.
    EXPECT_GE(pairs, 84u);
    EXPECT_GE(captures, 49u);
    EXPECT_GE(checked, 84u);
}

}  // namespace
}  // namespace metrics_test
