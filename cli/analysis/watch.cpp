#include "cli/analysis/watch.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "exporters/device_json.h"

namespace cli::analysis {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr nanoseconds nap = std::chrono::milliseconds(50);  ///< the longest time until a signal is handled

}  // namespace

std::string Watch::run() {
    auto connected = control::Client::connect(path_);
    if (!connected) return connected.error().text();
    client_ = std::move(connected).value();
    std::string fault = look();
    ask_for_counters();
    if (!fault.empty() || (interval_ns == 0 && !duration_ns)) return fault;
    first_ = latest_;
    previous_ = latest_;
    first_devices_ = devices_;
    fault = follow();
    ask_for_counters();
    return fault;
}

void Watch::ask_for_counters() {
    const auto answer = client_->ask("{\"command\":\"counters\"}");
    if (!answer) return;
    try {
        const auto result = nlohmann::json::parse(*answer);
        if (!result.contains("result")) return;
        if (auto devices = exporters::parse_device_json(result["result"].dump())) devices_ = std::move(devices).value();
    } catch (const nlohmann::json::exception&) {  // a daemon of another version may answer like this
    }
}

std::string Watch::look() {
    // With a short interval, the daemon must not answer with figures that are nearly as old as the interval.
    const std::uint64_t age_ms = interval_ns == 0 ? 100 : std::min<std::uint64_t>(100, interval_ns / 10'000'000);
    auto snapshot = client_->try_snapshot(age_ms);
    if (!snapshot) return snapshot.error().text();
    latest_ = std::move(snapshot).value();
    return {};
}

std::string Watch::follow() {
    const auto end = duration_ns ? Clock::now() + nanoseconds(*duration_ns) : Clock::time_point::max();
    // As in a capture, intervals begin at multiples of their length. The first interval is shorter.
    const auto length = static_cast<std::int64_t>(interval_ns);
    std::int64_t start = base::wall_ns();
    Clock::time_point due = Clock::time_point::max();
    if (length != 0) {
        due = Clock::now() + nanoseconds(length - start % length);
        start -= start % length;
    }
    for (;;) {
        const auto next = std::min(due, end);
        while (!stop() && Clock::now() < next)
            std::this_thread::sleep_for(std::min<nanoseconds>(nap, next - Clock::now()));
        std::string fault = look();
        const bool last = !fault.empty() || stop() || Clock::now() >= end;
        if (length != 0 && fault.empty() && !close_interval(start)) return {};
        if (last) return fault;
        start += length;
        due += nanoseconds(length);
    }
}

bool Watch::close_interval(std::int64_t start_ns) {
    const Session::Interval interval{start_ns, interval_ns, metrics::difference(*previous_, *latest_)};
    previous_ = latest_;
    return sink(interval);
}

metrics::Snapshot Watch::take_result() {
    if (!latest_) return {};
    return first_ ? metrics::difference(*first_, *latest_) : std::move(*latest_);
}

}  // namespace cli::analysis
