#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>

#include "capture/files/file_source.h"
#include "dissect/dissector.h"
#include "metrics/measure/iwarp/stream_tracker.h"
#include "tests/support/pcaps.h"

/// The captures of Linux siw. What the machines' kernels counted is in the JSON next to each: Tcp/RetransSegs without
/// TcpExt/TCPSynRetrans, TcpExt/TCPTimeouts and TCPLossProbes that sent octets again, Tcp/InCsumErrors, IpExt/InCEPkts;
/// the operations are what perftest, rping and the verbs program were asked to do, perftest's and rping's own control
/// messages on top as they follow from their protocols.
namespace {

using namespace metrics;

struct Feed : dissect::Sink {
    explicit Feed(iwarp::StreamTracker& to) : tracker(to) {}
    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override {
        if (dissection.has(dissect::LayerId::tcp)) tracker.on_segment(frame, dissection, {});
    }
    void on_unit(const dissect::Unit& unit) override { tracker.on_unit(unit, {}); }
    void on_notice(const dissect::Notice& notice) override { tracker.on_notice(notice, {}); }
    iwarp::StreamTracker& tracker;
};

std::string path_of(const std::string& name) {
    for (const char* ending : {".pcap", ".pcap.gz"}) {
        const std::string path = support::pcaps() + "/" + name + ending;
        if (std::filesystem::exists(path)) return path;
    }
    return {};
}

struct Machine {
    std::uint64_t repeated = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t damaged = 0;
    std::uint64_t marked = 0;
    std::uint64_t duplicates = 0;
    bool operator==(const Machine&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Machine& machine) {
    return out << machine.repeated << " repeated, " << machine.timeouts << " timeouts, " << machine.damaged
               << " damaged, " << machine.marked << " marked, " << machine.duplicates << " doubled";
}

struct Seen {
    Machine a;  ///< of what 192.0.2.1 sent
    Machine b;
    std::array<std::uint64_t, operation_count> messages{};  ///< of all flows
    std::array<std::uint64_t, operation_count> bytes{};
    std::array<std::uint64_t, operation_count> latencies{};
    std::uint64_t payload = 0;
    std::uint64_t outstanding = 0;
    std::uint64_t unseen = 0;
    std::uint64_t flows = 0;
};

void look(const std::string& name, Seen& seen) {
    const std::string path = path_of(name);
    ASSERT_FALSE(path.empty()) << name;
    auto file = capture::open_file(path);
    ASSERT_TRUE(file.ok()) << path;
    EngineOptions options;
    options.max_flows = 64;
    FlowStore store(options);
    iwarp::StreamTracker tracker(store);
    store.on_leave = [&](FlowIndex index) { tracker.forget(index); };
    dissect::Dissector dissector;
    Feed feed{tracker};
    wire::Frame frame;
    while ((*file)->next(frame) == capture::ReadStatus::frame) dissector.dissect(frame, feed);
    dissector.finish(feed);
    for (FlowIndex index = 0; index < store.table.extent(); ++index) {
        const Flow& flow = store.table[index];
        if (!flow.live) continue;
        Machine& machine = flow.key.source.octets[3] == 1 ? seen.a : seen.b;
        machine.repeated += flow.request.repeated;
        machine.damaged += flow.counts.crc_bad;
        machine.marked += flow.counts.ce;
        machine.duplicates += flow.request.duplicates;
        if (const FlowTrouble* trouble = store.trouble_of(flow)) {
            machine.timeouts += trouble->timeouts;
            seen.unseen += trouble->unseen_acknowledged;
        }
        seen.payload += flow.counts.payload_bytes;
        seen.outstanding += flow.ledger.messages();
        ++seen.flows;
        for (std::size_t i = 0; i < operation_count; ++i) {
            const OperationCounts::Count counted = store.count_of(flow, static_cast<Operation>(i));
            seen.messages[i] += counted.messages;
            seen.bytes[i] += counted.bytes;
            seen.latencies[i] += store.unpack(flow, static_cast<FlowHistogram>(i)).count();
        }
        const StateTimes states = flow.attribution.states(flow.counts.last_ns, flow.ledger.messages());
        std::uint64_t sum = 0;
        for (const std::uint64_t time : states) sum += time;
        if (!flow.attribution.started()) continue;
        EXPECT_EQ(sum, static_cast<std::uint64_t>(flow.counts.last_ns - flow.attribution.first_ns()));
    }
}

struct Trouble {
    const char* name;
    Machine a;
    Machine b;
};

class Kernels : public testing::TestWithParam<Trouble> {};

TEST_P(Kernels, agree_with_what_was_seen) {
    Seen seen;
    look(GetParam().name, seen);
    EXPECT_EQ(seen.a, GetParam().a);
    EXPECT_EQ(seen.b, GetParam().b);
    EXPECT_EQ(seen.unseen, 0u);
}

INSTANTIATE_TEST_SUITE_P(siw, Kernels,
                         testing::Values(Trouble{"siw-write-bw-4k-crc", {}, {}},            // nothing happened
                                         Trouble{"siw-send-bw-64-crc", {}, {}},             //
                                         Trouble{"siw-verbs-mix", {}, {}},                  //
                                         Trouble{"siw-rate10mbit-write-bw", {}, {}},        //
                                         Trouble{"siw-delay20ms-write-lat", {}, {}},        //
                                         Trouble{"siw-loss1pct-send-bw", {}, {3}},          // lost before the tap
                                         Trouble{"siw-rxdrop2pct-read-bw", {9}, {}},        // and after it
                                         Trouble{"siw-reorder-write-bw", {}, {56}},         // all for nothing
                                         Trouble{"siw-corrupt-send-bw", {}, {4, 0, 4}},     //
                                         Trouble{"siw-dup-send-bw", {}, {0, 0, 0, 0, 11}},  // 11 D-SACKs
                                         Trouble{"siw-ecn-ce-write-bw", {}, {0, 0, 0, 27}},
                                         Trouble{"siw-send-lat-64-crc", {1, 1}, {1, 1}},  // loss probes, as below
                                         Trouble{"siw-ucmatose", {}, {1, 1}},             //
                                         Trouble{"siw-rping-nocrc", {1, 1}, {}},          //
                                         Trouble{"nfs-rdma-siw", {}, {1, 1}},             //
                                         Trouble{"siw-gso-tcpdump-A", {}, {2, 2}}),
                         [](const auto& instance) {
                             std::string name = instance.param.name;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

struct Work {
    const char* name;
    Operation operation;
    std::uint64_t messages;
    std::uint64_t bytes;
};

class Reports : public testing::TestWithParam<Work> {};

TEST_P(Reports, are_what_was_counted) {
    const Work& work = GetParam();
    Seen seen;
    look(work.name, seen);
    EXPECT_EQ(seen.messages[index_of(work.operation)], work.messages);
    EXPECT_EQ(seen.bytes[index_of(work.operation)], work.bytes);
}

INSTANTIATE_TEST_SUITE_P(
    siw, Reports,
    testing::Values(Work{"siw-write-bw-4k-crc", Operation::write, 200, 200 * 4096},   // -n 200 -s 4096
                    Work{"siw-write-bw-64-crc", Operation::write, 2000, 2000 * 64},   // -n 2000 -s 64
                    Work{"siw-write-bw-64k-crc", Operation::write, 15, 15 * 65536},   // -n 15 -s 65536
                    Work{"siw-read-bw-4k-crc", Operation::read, 200, 200 * 4096},     // -n 200 -s 4096
                    Work{"siw-read-bw-64k-crc", Operation::read, 15, 15 * 65536},     // -n 15 -s 65536
                    Work{"siw-read-lat-64-crc", Operation::read, 500, 500 * 64},      // -n 500 -s 64
                    Work{"siw-rxdrop2pct-read-bw", Operation::read, 40, 40 * 16384},  // -n 40 -s 16384
                    Work{"siw-reorder-write-bw", Operation::write, 50, 50 * 16384},   // -n 50 -s 16384
                    Work{"siw-verbs-srq", Operation::send, 20, 5120},                 // its log: 20 of 256
                    Work{"siw-verbs-fence", Operation::read, 10, 25000},              // 10 of 2500
                    Work{"siw-verbs-fence", Operation::write, 10, 25000},             //
                    Work{"siw-verbs-send", Operation::send, 20, 60000},               // 20 of 3000
                    Work{"siw-ucmatose", Operation::send, 60, 60000}),  // -c 3, 10 messages of 1000 each way
    [](const auto& instance) {
        std::string name = std::string{instance.param.name} + "_" + std::string{name_of(instance.param.operation)};
        std::replace(name.begin(), name.end(), '-', '_');
        return name;
    });

TEST(Captures, every_message_of_a_clean_connection_is_acknowledged_and_measured) {
    for (const char* name : {"siw-verbs-send", "siw-verbs-fence", "siw-verbs-sizes", "siw-read-lat-64-crc"}) {
        Seen seen;
        look(name, seen);
        EXPECT_EQ(seen.outstanding, 0u) << name;
        EXPECT_EQ(seen.latencies, seen.messages) << name;
    }
}

}  // namespace
