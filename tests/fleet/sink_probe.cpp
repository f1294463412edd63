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

namespace {

using fleet::sink::Interval;
using fleet::sink::Sink;

constexpr std::uint64_t flow_count = 20;
constexpr std::chrono::milliseconds between_intervals{100};

class NoNames final : public metrics::HostNames {
public:
    std::string name(const metrics::Address& /*address*/) const override { return {}; }
};

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

template <class Condition>
void wait_until(Condition condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) return 2;
    const NoNames names;
    fleet::sink::SinkOptions options;
    options.access.url = argv[1];
    options.access.user = "default";
    options.access.password = argv[2];
    options.spool = argv[3];
    options.max_spool_octets = std::uint64_t{1} << 30;
    options.host = argv[4];
    options.boot = std::strtoull(argv[5], nullptr, 10);
    options.start_ns = base::wall_ns();
    options.interval_ns = 1;
    auto sink = Sink::open(std::move(options), names,
                           [](bool, const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); });
    if (!sink) {
        std::fprintf(stderr, "%s\n", sink.error().text().c_str());
        return 1;
    }
    (*sink)->start();
    const std::uint64_t intervals = std::strtoull(argv[6], nullptr, 10);
    for (std::uint64_t n = 1; n <= intervals; ++n) {
        std::uint64_t packets = 0;
        Interval interval = state_at(n, packets);
        std::printf("offered %llu %llu\n", static_cast<unsigned long long>(n),
                    static_cast<unsigned long long>(packets));
        std::fflush(stdout);
        (*sink)->offer(std::move(interval), base::steady_ns());
        wait_until([&] { return (*sink)->counters().intervals_spooled >= n; });
        std::printf("kept %llu\n", static_cast<unsigned long long>(n));
        std::fflush(stdout);
        std::this_thread::sleep_for(between_intervals);
    }
    wait_until([&] { return (*sink)->counters().spool.files == 0; });
    std::printf("done\n");
    std::fflush(stdout);
    return 0;
}
