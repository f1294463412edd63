#include "cli/top/daemon_feed.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"

namespace cli::top {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::uint64_t answer_ns = 3'000'000'000;  ///< the longest time that the screen waits for an answer
constexpr milliseconds retry{500};
/// Time until the second request, which shows the present rates.
constexpr milliseconds first_interval{500};

/// A warning if the daemon finds iWARP connections late, with the reason.
std::vector<std::string> capture_warnings(control::Client& client) {
    using nlohmann::json;
    const auto answer = client.ask(R"({"command":"status"})");
    if (!answer) return {};
    const json status = json::parse(*answer, nullptr, false);
    if (!status.is_object()) return {};
    const json in_kernel = status.value(json::json_pointer("/result/iwarp_learning/in_kernel"), json());
    const json reason = status.value(json::json_pointer("/result/iwarp_learning/reason"), json());
    if (in_kernel != false || !reason.is_string()) return {};
    return {"the daemon misses the beginning of iWARP connections: " + reason.get<std::string>()};
}

/// Whether the daemon was restarted between `before` and `now`.
bool began_anew(const metrics::CaptureFigures& before, const metrics::CaptureFigures& now) {
    return now.packets < before.packets || (before.packets > 0 && now.first_ns != before.first_ns);
}

}  // namespace

std::unique_ptr<DaemonFeed> DaemonFeed::open(const analysis::AnalysisOptions& options, const Pace& pace,
                                             std::string& error) {
    auto client = control::Client::connect(*options.connect, answer_ns);
    if (!client) {
        error = client.error().text();
        return nullptr;
    }
    return std::unique_ptr<DaemonFeed>(new DaemonFeed(*options.connect, std::move(client).value(), options, pace));
}

DaemonFeed::DaemonFeed(std::string path, std::unique_ptr<control::Client> client,
                       const analysis::AnalysisOptions& options, const Pace& pace)
    : FeedThread(tui::SourceKind::daemon, path, pace),
      path_(std::move(path)),
      deadline_(options.duration_ns ? Clock::now() + nanoseconds(*options.duration_ns) : Clock::time_point::max()),
      client_(std::move(client)) {
    update([](tui::FeedStatus& status) { status.health = tui::FeedStatus::Health::good; });
    start([this] { work(); });
}

void DaemonFeed::lose(const std::string& why) {
    client_.reset();
    warned_ = false;
    update([&](tui::FeedStatus& status) {
        status.health = tui::FeedStatus::Health::lost;
        status.trouble = why;
    });
}

/// False if no daemon answers.
bool DaemonFeed::look(std::uint64_t interval_ns) {
    if (!client_) {
        auto again = control::Client::connect(path_, answer_ns);
        if (!again) {
            lose(again.error().text());
            return false;
        }
        client_ = std::move(again).value();
    }
    // With a short interval, the daemon must not answer with figures that are nearly as old as the interval.
    auto snapshot = client_->try_snapshot(std::min<std::uint64_t>(100, interval_ns / 10'000'000));
    if (!snapshot) {
        lose(snapshot.error().text());
        return false;
    }
    if (!std::exchange(warned_, true)) {
        std::vector<std::string> warnings = capture_warnings(*client_);
        update([&](tui::FeedStatus& status) { status.warnings = std::move(warnings); });
    }
    const Clock::time_point now = Clock::now();
    auto reading = std::make_shared<tui::Reading>();
    reading->total = std::move(snapshot).value();
    reading->crc_verified = client_->crc_verified();
    reading->counters = device_counters();
    if (previous_ && began_anew(previous_->total.capture, reading->total.capture)) {
        previous_.reset();
        restarted_ = true;
    }
    const std::int64_t end_ns = base::wall_ns();
    const bool first = previous_ == nullptr;
    if (!first) {
        reading->length_ns = static_cast<std::uint64_t>(
            std::max<std::int64_t>(std::chrono::duration_cast<nanoseconds>(now - looked_).count(), 1));
        reading->start_ns = end_ns - static_cast<std::int64_t>(reading->length_ns);
        reading->interval = metrics::difference(previous_->total, reading->total);
        reading->restarted = std::exchange(restarted_, false);
    }
    looked_ = now;
    previous_ = reading;
    update([&](tui::FeedStatus& status) {
        status.health = tui::FeedStatus::Health::good;
        status.trouble.clear();
        status.begin_ns = reading->total.capture.first_ns;
    });
    if (!first) publish(std::move(reading));
    return true;
}

void DaemonFeed::work() {
    std::uint64_t interval_ns = take_orders().interval_ns;
    Clock::time_point due = Clock::now();
    while (!stopping() && Clock::now() < deadline_) {
        const bool had_first = previous_ != nullptr;
        const bool there = look(interval_ns);
        const nanoseconds interval(interval_ns);
        if (!there)
            due = Clock::now() + retry;
        else if (!had_first || restarted_)
            due = Clock::now() + std::min<nanoseconds>(interval, first_interval);
        else
            due = std::max(due + interval, Clock::now());
        while (!stopping() && Clock::now() < due) {
            wait_until(std::min(due, deadline_));
            if (Clock::now() >= deadline_) break;
            if (!ordered()) continue;
            interval_ns = take_orders().interval_ns;
            due = std::min(due, Clock::now() + nanoseconds(interval_ns));
        }
    }
    update([](tui::FeedStatus& status) { status.at_end = true; });
}

}  // namespace cli::top
