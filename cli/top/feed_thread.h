#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/descriptor.h"
#include "capture/counters/counter_reading.h"
#include "cli/top/open_feed.h"
#include "tui/model/feed.h"

namespace cli::top {

/// The common part of all sources: a thread that measures, the orders of the screen for this thread, and the readings
/// that the screen has not taken yet.
class FeedThread : public tui::Feed {
public:
    ~FeedThread() override;

    tui::FeedStatus status() final;
    tui::ReadingPtr latest() final;
    std::vector<tui::ReadingPtr> since(std::uint64_t serial) final;
    int descriptor() const final { return wake_.number(); }
    void set_interval(std::uint64_t interval_ns) final;
    void play(bool playing) final;
    void set_speed(double speed) final;
    void step(int intervals) final;
    void seek(std::int64_t time_ns) final;
    std::size_t packets(std::uint64_t, std::size_t, const std::function<bool(const wire::Frame&)>&) override {
        return 0;
    }

protected:
    using Clock = std::chrono::steady_clock;

    /// What the screen has ordered so far.
    struct Orders {
        std::uint64_t interval_ns = 0;
        double speed = 1;
        bool playing = true;
        int steps = 0;                             ///< reset by the thread that reads them
        std::optional<std::int64_t> seek_ns = {};  ///< reset by the thread that reads it
    };

    FeedThread(tui::SourceKind kind, std::string name, const Pace& pace);
    /// The constructor of the most derived class calls start(), and its destructor calls stop().
    void start(std::function<void()> work);
    void stop();

    // Functions for the thread.
    bool stopping() const { return stopping_.load(std::memory_order_relaxed); }
    /// Whether there are orders since take_orders().
    bool ordered() const { return ordered_.load(std::memory_order_relaxed); }
    Orders take_orders();
    /// The orders for the beginning. Orders that came since stay for take_orders().
    Orders first_orders();
    /// Waits until this time, an order, or the end.
    void wait_until(Clock::time_point when);
    /// `is_last`: the status says that the end is reached.
    void publish(std::shared_ptr<tui::Reading> reading, bool is_last = false);
    /// If readings come faster than the screen takes them, waits a short time for the screen.
    void let_take();
    void update(const std::function<void(tui::FeedStatus&)>& change);
    /// The counters of this machine's devices and of the interfaces under them, with their values at the last call.
    std::vector<tui::DeviceCounter> device_counters();

private:
    void note_evicted(std::uint64_t flows);
    void wake() const;
    void order(const std::function<void()>& change);

    base::Descriptor wake_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::condition_variable taken_;
    Orders orders_;  ///< guarded by mutex_, as all members below
    tui::FeedStatus status_;
    std::deque<tui::ReadingPtr> readings_ = {};  ///< the latest readings; fewer if readings are large
    std::uint64_t serial_ = 0;
    std::uint64_t taken_serial_ = 0;  ///< number of the newest reading that the screen has taken
    bool takes_slowly_ = false;       ///< the screen took no reading during the last wait
    std::atomic<bool> ordered_ = false;
    std::atomic<bool> stopping_ = false;
    std::thread thread_ = {};

    std::vector<capture::counters::CounterReading> counters_ = {};  ///< used by the thread only
};

}  // namespace cli::top
