/// A sink without a capture, for tests that kill it: flows that grow by known steps.
///
///   sink_probe URL PASSWORD SPOOL HOST BOOT INTERVALS
///
/// Prints `offered N PACKETS` before the rows of interval N are made, `kept N` once they are in the spool, and `done`
/// when the engine has all rows. PACKETS is the sum over the flows. Without intervals it sends what a former process
/// left.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/clock.h"
#include "fleet/sink/sink.h"
#include "tests/fleet/probe_sink.h"

namespace {

using fleet::sink::Interval;

constexpr std::uint64_t flow_count = 20;
constexpr std::chrono::milliseconds between_intervals{100};

/// The state at the end of interval n. Every flow is silent in some intervals; others begin late.
Interval state_at(std::uint64_t n, std::uint64_t& packets) {
    metrics::Snapshot snapshot;
    packets = 0;
    for (std::uint64_t i = 1; i <= flow_count; ++i) {
        if (n < i) continue;
        metrics::FlowSnapshot& flow = snapshot.flows.emplace_back();
        flow.id = i;
        flow.destination.qpn = static_cast<std::uint32_t>(i);
        flow.first_ns = 1;
        flow.last_ns = static_cast<std::int64_t>(1 + n);
        const std::uint64_t active = (n - i + 1) / (1 + i % 3);
        flow.packets = active * i;
        metrics::OperationFigures& write = flow.operations[metrics::index_of(metrics::Operation::write)];
        for (std::uint64_t message = 0; message < active; ++message) write.latency_ns.record(1000 * (1 + message % 7));
        write.count = active;
        packets += flow.packets;
    }
    Interval interval;
    interval.snapshot = std::make_shared<metrics::Snapshot>(std::move(snapshot));
    interval.end_ns = base::wall_ns();
    return interval;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) return 2;
    fleet::sink::SinkOptions options;
    options.access.password = argv[2];
    options.spool = argv[3];
    options.host = argv[4];
    options.boot = std::strtoull(argv[5], nullptr, 10);
    options.start_ns = base::wall_ns();
    const auto sink = probe::start_sink(argv[1], std::move(options));
    if (!sink) return 1;
    const std::uint64_t intervals = std::strtoull(argv[6], nullptr, 10);
    for (std::uint64_t n = 1; n <= intervals; ++n) {
        std::uint64_t packets = 0;
        Interval interval = state_at(n, packets);
        std::printf("offered %llu %llu\n", static_cast<unsigned long long>(n),
                    static_cast<unsigned long long>(packets));
        std::fflush(stdout);
        probe::keep(*sink, std::move(interval), n);
        std::printf("kept %llu\n", static_cast<unsigned long long>(n));
        std::fflush(stdout);
        std::this_thread::sleep_for(between_intervals);
    }
    probe::empty_spool(*sink);
    std::printf("done\n");
    std::fflush(stdout);
    return 0;
}
