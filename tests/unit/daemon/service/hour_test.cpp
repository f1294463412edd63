/// An hour of the daemon in seconds: flows of every latency and size, whose figures fill slowly. What they hold levels.
#include <fstream>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include "daemon/interval_writer.h"
#include "metrics/measure/engine/analyzer.h"
#include "tests/support/pair_traffic.h"
#include "tests/support/sanitized.h"

namespace {

using namespace service;

constexpr std::int64_t ns_per_second = 1'000'000'000;
constexpr int interval_seconds = 10;
constexpr int hour_seconds = 3600;
constexpr std::uint32_t pairs = 100;

struct Nameless final : metrics::HostNames {
    std::string name(const metrics::Address&) const override { return {}; }
};

std::uint64_t held_bytes() {
    malloc_trim(0);
    std::ifstream file("/proc/self/statm");
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    file >> size >> resident;
    return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(Hour, MemoryOfBusyFlowsLevels) {
    if (support::sanitized) GTEST_SKIP() << "the sanitizer's allocator keeps what is freed";
    Config config;
    config.engine.interval_ns = config.history.interval_ns =
        static_cast<std::uint64_t>(interval_seconds * ns_per_second);
    metrics::AnalyzerOptions options;
    options.engine.max_flows = config.engine.max_flows;
    options.dissector.parse.verify_crc = false;
    metrics::Analyzer analyzer(options);
    Nameless names;
    Log log(Level::error, 10);
    IntervalWriter interval_writer(config, nullptr, nullptr, names, log);
    support::PairTraffic traffic(analyzer,
                                 {.pairs = pairs, .rounds = 20, .interval_ns = interval_seconds * ns_per_second});
    CaptureThreadStatus status;
    std::size_t flows = 0;
    const auto interval = [&](std::int64_t second, std::uint32_t talking) {
        traffic.play(second * ns_per_second, {0, talking});
        Taken taken;
        taken.snapshot = std::make_shared<metrics::Snapshot>(analyzer.snapshot());
        taken.wall_ns = (second + interval_seconds) * ns_per_second;
        taken.length_ns = config.engine.interval_ns;
        flows = taken.snapshot->flows.size();
        interval_writer.interval(taken, status);
        analyzer.begin_interval(taken.wall_ns - static_cast<std::int64_t>(config.engine.idle_ns));
    };
    interval(0, 1);
    const std::uint64_t of_tables = held_bytes();  // whose size does not depend on the traffic
    std::uint64_t after_half = 0;
    for (std::int64_t second = interval_seconds; second < hour_seconds; second += interval_seconds) {
        interval(second, pairs);
        if (second == hour_seconds / 2) after_half = held_bytes();
    }
    const std::uint64_t after_hour = held_bytes();
    const std::uint64_t of_flow = (after_hour - of_tables) / flows;
    RecordProperty("bytes_of_a_flow", std::to_string(of_flow));
    RecordProperty("bytes_of_a_flow_grown", std::to_string((after_hour - after_half) / flows));
    ASSERT_EQ(flows, 2 * pairs);
    // Its histograms, and those of the three snapshots that an interval has at once.
    EXPECT_LE(of_flow, 19u << 10);
    EXPECT_LE(after_hour, after_half + flows * 1024) << "from half an hour on it may hardly grow";
}

}  // namespace
