/// Generations of flows that come and go, worked off by threads as in the daemon: what the process holds stays within
/// what the manual says, and goes with the flows.
#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <unistd.h>

#include "daemon/heap.h"
#include "daemon/http/live_figures.h"
#include "daemon/interval_writer.h"
#include "exporters/json.h"
#include "fleet/sink/interval_rows.h"
#include "metrics/measure/engine/analyzer.h"
#include "tests/support/pair_traffic.h"
#include "tests/support/sanitized.h"

namespace {

using namespace service;

constexpr std::int64_t between_figures_ns = 10'000'000'000;
constexpr std::uint32_t pairs_of_generation = 2'000;
constexpr std::uint32_t generations = 6;
/// What rdmascope-daemon(1) says of each flow under "Memory".
constexpr std::uint64_t octets_of_flow_and_figures = 24u << 10;
constexpr std::uint64_t octets_of_flow = 4u << 10;

struct WithoutNames final : metrics::HostNames {
    std::string name(const metrics::Address&) const override { return {}; }
};

std::uint64_t anonymous_octets() {
    std::ifstream file("/proc/self/statm");
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    std::uint64_t of_files = 0;
    file >> size >> resident >> of_files;
    return (resident - of_files) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// A thread that lives as long as the daemon's, so that the C library gives it an arena.
class LastingThread {
public:
    LastingThread() : thread_([this] { serve(); }) {}
    ~LastingThread() {
        run({});
        thread_.join();
    }
    LastingThread(const LastingThread&) = delete;
    LastingThread& operator=(const LastingThread&) = delete;

    /// Waits until it is done. Nothing to do: ends the thread.
    void run(std::function<void()> work) {
        std::unique_lock lock(mutex_);
        work_ = std::move(work);
        is_given_ = true;
        changed_.notify_all();
        changed_.wait(lock, [this] { return !is_given_; });
    }

private:
    void serve() {
        for (bool goes_on = true; goes_on;) {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return is_given_; });
            goes_on = work_ != nullptr;
            if (goes_on) work_();
            work_ = {};
            is_given_ = false;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> work_;
    bool is_given_ = false;
    std::thread thread_;
};

/// What the daemon does with each interval, each part in a thread of its own.
class Daemon {
public:
    Daemon() : interval_writer_(config_, nullptr, nullptr, names_, log_) {
        config_.engine.interval_ns = static_cast<std::uint64_t>(between_figures_ns);
    }

    /// Returns the number of flows. Flows without traffic in this interval are forgotten at its end.
    std::size_t interval(support::PairTraffic::Some talking) {
        const std::int64_t begin_ns = now_ns_;
        now_ns_ += between_figures_ns;
        Taken taken;
        capture_.run([&] {
            traffic_.play(begin_ns, talking);
            taken.snapshot = std::make_shared<metrics::Snapshot>(analyzer_.snapshot());
            analyzer_.begin_interval(begin_ns);
        });
        taken.wall_ns = now_ns_;
        taken.length_ns = static_cast<std::uint64_t>(between_figures_ns);
        service_.run([&] { interval_writer_.interval(taken, {}); });
        page_.run([&] { live_.add({taken.snapshot, taken.wall_ns, taken.length_ns}); });
        rows_.run([&] {
            fleet::sink::Interval interval;
            interval.snapshot = taken.snapshot;
            interval.end_ns = taken.wall_ns;
            const fleet::sink::Batch batch = rows_of_intervals_.make(interval, names_);
            rows_of_intervals_.accept();
        });
        control_.run([&] {
            const exporters::Context context{.names = &names_};
            exporters::FlowsDocument document(exporters::all_columns(false));
            std::string text;
            document.begin(text, taken.snapshot->capture, context);
            for (const metrics::FlowSnapshot& flow : taken.snapshot->flows) document.flow(text, {flow, context});
            document.end(text, *taken.snapshot, context);
        });
        return taken.snapshot->flows.size();
    }
    /// Longer than the page remembers.
    void pause() { now_ns_ += 3'600'000'000'000; }
    std::int64_t now_ns() const { return now_ns_; }

private:
    static metrics::AnalyzerOptions options() {
        metrics::AnalyzerOptions options;
        options.dissector.parse.verify_crc = false;
        return options;
    }

    Config config_;
    WithoutNames names_;
    Log log_{Level::error, 10};
    metrics::Analyzer analyzer_{options()};
    support::PairTraffic traffic_{analyzer_,
                                  {.pairs = pairs_of_generation, .rounds = 5, .interval_ns = between_figures_ns}};
    IntervalWriter interval_writer_;
    http::LiveFigures live_{static_cast<std::uint64_t>(between_figures_ns)};
    fleet::sink::IntervalRows rows_of_intervals_{"host", 1, 0};
    std::int64_t now_ns_ = 0;
    LastingThread capture_;
    LastingThread service_;
    LastingThread page_;
    LastingThread rows_;
    LastingThread control_;
};

TEST(Generations, MemoryOfFlowsGoesWithThem) {
    if (support::sanitized) GTEST_SKIP() << "the sanitizer's allocator keeps what is freed";
    bound_free_memory();
    Daemon daemon;
    FreeMemory free_memory(daemon.now_ns());
    daemon.interval({0, 1});
    const std::uint64_t of_tables = anonymous_octets();  // whose size does not depend on the traffic
    std::size_t most_flows = 0;
    std::uint64_t most_octets = 0;
    for (std::uint32_t generation = 0; generation < generations; ++generation)
        for (int i = 0; i < 3; ++i) {
            most_flows = std::max(most_flows, daemon.interval({generation * pairs_of_generation, pairs_of_generation}));
            most_octets = std::max(most_octets, anonymous_octets());
            free_memory.give_back_when_due(daemon.now_ns());
        }
    ASSERT_GE(most_flows, 2 * pairs_of_generation);
    EXPECT_LE(most_octets, of_tables + most_flows * octets_of_flow_and_figures);

    // The figures of an interval go with the second one after it.
    for (int i = 0; i < 3; ++i) {
        daemon.pause();
        ASSERT_LE(daemon.interval({0, 1}), i == 0 ? most_flows : 2);
    }
    free_memory.give_back_when_due(daemon.now_ns());
    const std::uint64_t left = anonymous_octets();
    RecordProperty("bytes_of_a_flow_at_most", std::to_string((most_octets - of_tables) / most_flows));
    RecordProperty("bytes_of_a_flow_that_has_gone",
                   std::to_string((std::max(left, of_tables) - of_tables) / most_flows));
    EXPECT_LE(left, of_tables + most_flows * octets_of_flow) << "places of flows are kept, and nothing else";
}

}  // namespace
