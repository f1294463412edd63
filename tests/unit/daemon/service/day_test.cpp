/// A day of the daemon in a minute: what is made of intervals stays right, and holds no more memory in the evening than
/// in the morning.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/interval_writer.h"
#include "metrics/measure/engine/analyzer.h"
#include "tests/support/captures.h"
#include "tests/support/pcaps.h"

#if defined(__SANITIZE_ADDRESS__)
#define RDMASCOPE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RDMASCOPE_SANITIZED 1
#endif
#endif

namespace {

using namespace service;

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr int step_seconds = 10;  // an interval
#ifdef RDMASCOPE_SANITIZED
constexpr int day_seconds = 3600;  // its allocator keeps what is freed: memory shows nothing
#else
constexpr int day_seconds = 86400;
#endif

struct NoNames final : metrics::HostNames {
    std::string name(const metrics::Address&) const override { return {}; }
};

std::uint64_t resident_octets() {
    std::ifstream file("/proc/self/statm");
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    file >> size >> resident;
    return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

double sum_of(const std::vector<::prometheus::MetricFamily>& families, const std::string& name) {
    double sum = 0;
    for (const auto& family : families)
        if (family.name == name)
            for (const auto& metric : family.metric) sum += metric.counter.value;
    return sum;
}

/// The beginning of a capture, every ten seconds again, and every ten minutes between other hosts, who are forgotten
/// and come back.
class Traffic {
public:
    Traffic() { support::load_capture(support::pcaps() + "/rxe-rping.pcap", 30, frames_); }

    std::size_t play(metrics::Analyzer& analyzer, int second) {
        for (support::KeptFrame& kept : frames_) {
            if (kept.octets.size() < 34 || kept.octets[12] != std::byte{8}) continue;
            for (const std::size_t host_number : {28u, 32u})  // the third octet of both addresses
                kept.octets[host_number] = static_cast<std::byte>(second / 600 % 15);
            wire::Frame frame = kept.frame(++number_);
            frame.time_ns += second * second_ns - frames_.front().time_ns;
            analyzer.feed({&frame, 1});
        }
        return number_;
    }

private:
    std::vector<support::KeptFrame> frames_;
    std::uint64_t number_ = 0;
};

TEST(Day, MemoryStaysAndCountersAddUp) {
    std::string folder = (std::filesystem::temp_directory_path() / "rdmascope-day-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    Config config;
    config.engine.max_flows = 2048;
    config.prometheus.max_peers = 40;  // none has to give its place up, and what it counted with it
    config.engine.idle_ns = 600ull * second_ns;
    config.history.directory = folder;
    config.history.max_octets = 4u << 20;
    history::HistoryOptions how;
    how.directory = folder;
    how.max_octets = config.history.max_octets;
    how.segment_octets = 1u << 20;
    how.sync_each = false;
    config.engine.interval_ns = config.history.interval_ns = static_cast<std::uint64_t>(step_seconds * second_ns);
    auto history = history::HistoryWriter::open(how);
    ASSERT_TRUE(history.ok()) << history.error().text();

    metrics::AnalyzerOptions options;
    options.engine.max_flows = config.engine.max_flows;
    options.dissector.parse.verify_crc = false;
    metrics::Analyzer analyzer(options);
    NoNames names;
    Log log(Level::error, 10);
    IntervalWriter interval_writer(config, std::move(history).value(), nullptr, names, log);
    Traffic traffic;
    CaptureThreadStatus status;
    capture::InterfaceInfo interface;
    interface.name = "eth0";
    status.interfaces = {interface};

    [[maybe_unused]] std::uint64_t morning = 0;
    std::uint64_t frames = 0;
    for (int second = 0; second < day_seconds; second += step_seconds) {
        frames = traffic.play(analyzer, second);
        Taken taken;
        taken.snapshot = std::make_shared<metrics::Snapshot>(analyzer.snapshot());
        taken.wall_ns = (second + step_seconds) * second_ns;
        taken.length_ns = static_cast<std::uint64_t>(step_seconds * second_ns);
        taken.frames_end = frames;
        interval_writer.interval(taken, status);
        analyzer.begin_interval(taken.wall_ns - static_cast<std::int64_t>(config.engine.idle_ns));
        if (second == day_seconds / 40 * 10) morning = resident_octets();
    }
    interval_writer.flush();
    const auto families = interval_writer.families();
    std::uint64_t of_flows = 0;
    {
        // What an interval has: the same for each, so that one of them shows it.
        metrics::Analyzer once(options);
        Traffic other;
        other.play(once, 0);
        once.finish();
        for (const metrics::FlowSnapshot& flow : once.snapshot().flows) of_flows += flow.packets;
    }
    EXPECT_GT(of_flows, 0u);
    EXPECT_EQ(sum_of(families, "rdma_packets_total"), static_cast<double>(of_flows) * (day_seconds / step_seconds));
    EXPECT_LE(interval_writer.history().octets, how.max_octets + how.segment_octets);
    EXPECT_EQ(interval_writer.history().lost_intervals, 0u);
#ifndef RDMASCOPE_SANITIZED
    EXPECT_GT(interval_writer.history().segments, 1u);
    EXPECT_LE(resident_octets(), morning + (8u << 20)) << "from a quarter of the day on nothing may grow";
#endif
    std::filesystem::remove_all(folder);
}

}  // namespace
