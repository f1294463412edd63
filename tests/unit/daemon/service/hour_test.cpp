/// An hour of the daemon in seconds: flows of every latency and size, whose figures fill slowly. What they hold levels.
#include <array>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <malloc.h>
#include <random>
#include <unistd.h>

#include "base/bytes.h"
#include "daemon/interval_writer.h"
#include "metrics/measure/engine/analyzer.h"
#include "tests/support/captures.h"
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

/// Pairs of queue pairs, one of which sends and one of which acknowledges, on RoCEv2.
class Talk {
public:
    explicit Talk(metrics::Analyzer& analyzer) : analyzer_(analyzer) {}

    void play(std::int64_t begin_ns, std::uint32_t talking) {
        for (std::int64_t round = 0; round < rounds; ++round)
            for (std::uint32_t pair = 0; pair < talking; ++pair)
                exchange(pair, begin_ns + (round * pairs + pair) * (interval_seconds * ns_per_second / rounds / pairs));
    }

private:
    static constexpr std::int64_t rounds = 20;
    static constexpr std::uint8_t send_only = 0x04;
    static constexpr std::uint8_t acknowledge = 0x11;

    /// Each power of two of sizes and latencies is as likely as any other.
    std::uint64_t spread(double least, double greatest) {
        return static_cast<std::uint64_t>(
            std::exp(std::uniform_real_distribution(std::log(least), std::log(greatest))(random_)));
    }
    void exchange(std::uint32_t pair, std::int64_t now_ns) {
        std::uint32_t& psn = psns_[pair];
        emit(pair, send_only, psn, spread(4, 1024), now_ns);
        emit(pair, acknowledge, psn, 4, now_ns + static_cast<std::int64_t>(spread(2'000, 500'000)));
        psn = (psn + 1) & 0xffffff;
    }
    void emit(std::uint32_t pair, std::uint8_t opcode, std::uint32_t psn, std::uint64_t bytes, std::int64_t now_ns) {
        constexpr std::size_t ip_at = 14;
        constexpr std::size_t udp_at = 34;
        constexpr std::size_t bth_at = 42;
        constexpr std::size_t rest_at = 54;
        constexpr std::size_t icrc_bytes = 4;
        const bool answer = opcode == acknowledge;
        support::KeptFrame kept;
        kept.octets.assign(rest_at + bytes + icrc_bytes, std::byte{0});
        std::byte* const at = kept.octets.data();
        const auto put16 = [&](std::size_t offset, std::size_t value) {
            at[offset] = static_cast<std::byte>(value >> 8);
            at[offset + 1] = static_cast<std::byte>(value);
        };
        const auto put32 = [&](std::size_t offset, std::size_t value) {
            put16(offset, value >> 16);
            put16(offset + 2, value & 0xffff);
        };
        constexpr std::size_t ipv4 = 0x0800;
        constexpr std::size_t udp_protocol = 0x4011;  // TTL 64
        constexpr std::size_t roce_port = 4791;
        constexpr std::size_t network = 0x0a000000;
        put16(12, ipv4);
        put16(ip_at, 0x4500);
        put16(ip_at + 2, kept.octets.size() - ip_at);
        put16(ip_at + 8, udp_protocol);
        put32(ip_at + 12, network + (answer ? 2 : 1));
        put32(ip_at + 16, network + (answer ? 1 : 2));
        put16(udp_at, 49152 + pair);
        put16(udp_at + 2, roce_port);
        put16(udp_at + 4, kept.octets.size() - udp_at);
        at[bth_at] = static_cast<std::byte>(opcode);
        put16(bth_at + 2, 0xffff);
        put32(bth_at + 4, (answer ? 0x1000u : 0x2000u) + pair);
        put32(bth_at + 8, psn);
        kept.wire_length = static_cast<std::uint32_t>(kept.octets.size());
        kept.time_ns = now_ns;
        const wire::Frame frame = kept.frame(++number_);
        analyzer_.feed({&frame, 1});
    }

    metrics::Analyzer& analyzer_;
    std::mt19937_64 random_{1};
    std::array<std::uint32_t, pairs> psns_{};
    std::uint64_t number_ = 0;
};

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
    Talk talk(analyzer);
    CaptureThreadStatus status;
    std::size_t flows = 0;
    const auto interval = [&](std::int64_t second, std::uint32_t talking) {
        talk.play(second * ns_per_second, talking);
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
