/// What the daemon's own snap length leaves of connection management: all that the engine asks of it.
#include <gtest/gtest.h>
#include <pcap/pcap.h>
#include <string>

#include "capture/filter/kernel_filter.h"
#include "capture/filter/rdma_filter.h"
#include "daemon/capture_thread.h"
#include "metrics/measure/engine/analyzer.h"
#include "tests/support/captures.h"
#include "tests/support/pcaps.h"

namespace {

using namespace service;

enum class Cut : bool { no, as_the_daemon_does };

metrics::Snapshot analyze(const std::string& name, Cut cut) {
    const capture::TapOptions how = tap_options(Config{}.capture);
    const std::uint32_t snaplen = how.ring.snaplen;
    const capture::BpfProgram program =
        capture::keep_management(capture::compile({.all_tcp = true}, wire::LinkType::ethernet, snaplen),
                                 wire::LinkType::ethernet, snaplen, how.ring.management_octets);
    std::vector<support::KeptFrame> kept;
    support::load_capture(support::pcaps() + "/" + name + ".pcap", 100'000, kept);
    metrics::AnalyzerOptions options;
    options.dissector.parse.verify_crc = false;
    metrics::Analyzer analyzer(options);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        wire::Frame frame = kept[i].frame(i + 1);
        if (cut == Cut::as_the_daemon_does)
            frame.bytes = frame.bytes.first(std::min<std::size_t>(
                frame.bytes.size(),
                capture::run(program, frame.bytes, static_cast<std::uint32_t>(frame.bytes.size()))));
        if (!frame.bytes.empty()) analyzer.feed({&frame, 1});
    }
    analyzer.finish();
    return analyzer.snapshot();
}

class LiveLengths : public testing::TestWithParam<const char*> {};

TEST_P(LiveLengths, ConnectionsAreKnownAsInAWholeCapture) {
    const metrics::Snapshot whole = analyze(GetParam(), Cut::no);
    const metrics::Snapshot cut = analyze(GetParam(), Cut::as_the_daemon_does);
    ASSERT_EQ(cut.flows.size(), whole.flows.size());
    std::size_t set_up = 0;
    for (std::size_t i = 0; i < whole.flows.size(); ++i) {
        const metrics::FlowSnapshot& one = cut.flows[i];
        const metrics::FlowSnapshot& other = whole.flows[i];
        EXPECT_EQ(one.id, other.id);
        EXPECT_EQ(one.reverse, other.reverse);
        EXPECT_EQ(one.pairing.method, other.pairing.method);
        EXPECT_EQ(one.connection->setup_frame, other.connection->setup_frame);
        EXPECT_EQ(one.connection->setup_ns, other.connection->setup_ns);
        EXPECT_EQ(one.connection->ack_timeout_ns, other.connection->ack_timeout_ns);
        EXPECT_EQ(one.connection->path_mtu, other.connection->path_mtu);
        EXPECT_EQ(one.connection->initiator_depth, other.connection->initiator_depth);
        EXPECT_EQ(one.connection->responder_resources, other.connection->responder_resources);
        EXPECT_EQ(one.connection->mpa_revision, other.connection->mpa_revision);
        EXPECT_EQ(one.connection->end, other.connection->end);
        EXPECT_EQ(one.messages_total(), other.messages_total());
        EXPECT_EQ(one.payload_bytes, other.payload_bytes);
        EXPECT_EQ(one.terminates, other.terminates);
        set_up += one.connection->setup_frame != 0 ? 1 : 0;
    }
    ASSERT_EQ(cut.attempts.size(), whole.attempts.size());
    for (std::size_t i = 0; i < whole.attempts.size(); ++i) {
        EXPECT_EQ(cut.attempts[i].request_frame, whole.attempts[i].request_frame);
        EXPECT_EQ(cut.attempts[i].outcome, whole.attempts[i].outcome);
    }
    EXPECT_GT(set_up + cut.attempts.size(), 0U) << "or there was nothing to find";
    EXPECT_EQ(cut.capture.stream_octets_skipped, whole.capture.stream_octets_skipped);
}

INSTANTIATE_TEST_SUITE_P(Captures, LiveLengths,
                         testing::Values("rxe-ucmatose", "rxe-rping", "rxe-cm-reject", "siw-ucmatose", "siw-rping-crc",
                                         "siw-mpa-reject", "siw-verbs-badrkey-w"),
                         [](const auto& named) {
                             std::string name = named.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

/// Written out for one capture, lest both of the others be wrong: ucmatose made three connections.
TEST(LiveLengthsOf, ucmatose) {
    const metrics::Snapshot cut = analyze("rxe-ucmatose", Cut::as_the_daemon_does);
    std::size_t by_cm = 0;
    for (const metrics::FlowSnapshot& flow : cut.flows)
        by_cm += flow.pairing.method == metrics::PairingMethod::cm && flow.connection->ack_timeout_ns ? 1 : 0;
    EXPECT_EQ(by_cm, 6U) << "both directions of each";
}

}  // namespace
