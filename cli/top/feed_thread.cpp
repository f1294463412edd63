#include "cli/top/feed_thread.h"

#include <algorithm>
#include <cerrno>
#include <pthread.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

#include "base/quantities.h"
#include "base/signal_block.h"

namespace cli::top {

namespace {

constexpr std::size_t readings_max = 64;
/// Bound on the flows in all readings that wait. Readings of many flows are large, and a slow screen skips readings.
constexpr std::size_t flows_max = 50'000;
constexpr std::chrono::milliseconds patience{50};

}  // namespace

FeedThread::FeedThread(tui::SourceKind kind, std::string name, const Pace& pace)
    : wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      orders_{.interval_ns = pace.interval_ns, .speed = pace.speed.value_or(1), .playing = pace.playing} {
    if (!wake_) throw std::system_error(errno, std::generic_category(), "eventfd");
    status_.kind = kind;
    status_.name = std::move(name);
    status_.interval_ns = pace.interval_ns;
    status_.speed = pace.speed.value_or(1);
    status_.playing = pace.playing;
}

FeedThread::~FeedThread() { stop(); }

void FeedThread::start(std::function<void()> work) {
    // Only the thread of the terminal handles signals.
    const base::SignalBlock block;
    thread_ = std::thread([this, work = std::move(work)] {
        pthread_setname_np(pthread_self(), "source");
        try {
            work();
        } catch (const std::exception& failure) {
            update([&](tui::FeedStatus& status) {
                status.health = tui::FeedStatus::Health::failed;
                status.trouble = failure.what();
            });
        }
    });
}

void FeedThread::stop() {
    order([this] { stopping_ = true; });
    if (thread_.joinable()) thread_.join();
}

void FeedThread::wake() const {
    const std::uint64_t one = 1;
    // If the pipe is full, it is readable already.
    static_cast<void>(!::write(wake_.number(), &one, sizeof one));
}

void FeedThread::order(const std::function<void()>& change) {
    {
        const std::lock_guard lock(mutex_);
        change();
        ordered_ = true;
    }
    changed_.notify_all();
}

tui::FeedStatus FeedThread::status() {
    std::uint64_t times = 0;
    static_cast<void>(!::read(wake_.number(), &times, sizeof times));
    const std::lock_guard lock(mutex_);
    return status_;
}

tui::ReadingPtr FeedThread::latest() {
    const std::lock_guard lock(mutex_);
    return readings_.empty() ? nullptr : readings_.back();
}

std::vector<tui::ReadingPtr> FeedThread::since(std::uint64_t serial) {
    const std::lock_guard lock(mutex_);
    std::vector<tui::ReadingPtr> newer;
    for (const tui::ReadingPtr& reading : readings_)
        if (reading->serial > serial) newer.push_back(reading);
    if (!newer.empty()) {
        taken_serial_ = newer.back()->serial;
        while (readings_.size() > 1 && readings_.front()->serial <= taken_serial_) readings_.pop_front();
        takes_slowly_ = false;
        taken_.notify_one();
    }
    return newer;
}

void FeedThread::set_interval(std::uint64_t interval_ns) {
    order([&] { orders_.interval_ns = status_.interval_ns = interval_ns; });
}
void FeedThread::play(bool playing) {
    order([&] { orders_.playing = status_.playing = playing; });
}
void FeedThread::set_speed(double speed) {
    order([&] { orders_.speed = status_.speed = speed; });
}
void FeedThread::step(int intervals) {
    order([&] { orders_.steps += intervals; });
}
void FeedThread::seek(std::int64_t time_ns) {
    order([&] {
        orders_.seek_ns = time_ns;
        orders_.steps = 0;
    });
}

FeedThread::Orders FeedThread::take_orders() {
    const std::lock_guard lock(mutex_);
    ordered_ = stopping_.load();
    Orders now = orders_;
    orders_.steps = 0;
    orders_.seek_ns.reset();
    return now;
}

FeedThread::Orders FeedThread::first_orders() {
    const std::lock_guard lock(mutex_);
    return orders_;
}

void FeedThread::wait_until(Clock::time_point when) {
    std::unique_lock lock(mutex_);
    const auto called = [this] { return ordered_ || stopping_; };
    if (when == Clock::time_point::max())
        changed_.wait(lock, called);
    else
        changed_.wait_until(lock, when, called);
}

/// The caller holds the lock.
void FeedThread::note_evicted(std::uint64_t flows) {
    constexpr std::string_view reason = " forgotten to stay within --max-flows";
    std::erase_if(status_.warnings, [reason](const std::string& warning) { return warning.ends_with(reason); });
    if (flows != 0) status_.warnings.push_back(base::format_counted(flows, "flow") + std::string(reason));
}

void FeedThread::publish(std::shared_ptr<tui::Reading> reading, bool is_last) {
    {
        const std::lock_guard lock(mutex_);
        reading->serial = ++serial_;
        status_.now_ns = reading->end_ns();
        note_evicted(reading->total.capture.flows_evicted);
        if (is_last) status_.at_end = true;
        readings_.push_back(std::move(reading));
        std::size_t flows = 0;
        for (const tui::ReadingPtr& held : readings_) flows += held->total.flows.size();
        while (readings_.size() > 1 && (readings_.size() > readings_max || flows > flows_max)) {
            flows -= readings_.front()->total.flows.size();
            readings_.pop_front();
        }
    }
    wake();
}

void FeedThread::let_take() {
    std::unique_lock lock(mutex_);
    const auto few = [this] { return serial_ - taken_serial_ < readings_max / 2 || ordered_; };
    if (!takes_slowly_ && !taken_.wait_for(lock, patience, few)) takes_slowly_ = true;
}

void FeedThread::update(const std::function<void(tui::FeedStatus&)>& change) {
    {
        const std::lock_guard lock(mutex_);
        change(status_);
    }
    wake();
}

std::vector<tui::DeviceCounter> FeedThread::device_counters() {
    std::vector<capture::counters::CounterReading> now = capture::counters::read_counters();
    const auto more = capture::counters::growth(counters_, now);
    std::vector<tui::DeviceCounter> shown;
    shown.reserve(now.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
        const capture::counters::CounterReading& counter = now[i];
        const bool octets = counter.meaning.unit == capture::counters::Unit::words ||
                            counter.meaning.unit == capture::counters::Unit::octets;
        shown.push_back({counter.device, counter.port, counter.name, counter.value,
                         more[i] ? std::optional(counter.value - *more[i]) : std::nullopt,
                         octets ? static_cast<std::uint32_t>(octets_or_times(1, counter.meaning)) : 0U});
    }
    counters_ = std::move(now);
    return shown;
}

}  // namespace cli::top
