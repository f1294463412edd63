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

/// What all sources have in common: a thread that measures, what the screen has ordered of it, and the readings that
/// the screen has not taken yet.
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

    /// What the screen wants, as of now.
    struct Orders {
        std::uint64_t interval_ns = 0;
        double speed = 1;
        bool playing = true;
        int steps = 0;                             ///< reset by the thread that reads them
        std::optional<std::int64_t> seek_ns = {};  ///< reset by the thread that reads it
    };

    FeedThread(tui::SourceKind kind, std::string name, const Pace& pace);
    /// By the constructor of the last class; stop() by its destructor.
    void start(std::function<void()> work);
    void stop();

    // For the thread.
    bool stopping() const { return stopping_.load(std::memory_order_relaxed); }
    /// Something was ordered since take_orders().
    bool ordered() const { return ordered_.load(std::memory_order_relaxed); }
    Orders take_orders();
    /// How it is to begin: nothing that was ordered meanwhile is taken.
    Orders first_orders();
    /// Until then, an order, or the end.
    void wait_until(Clock::time_point when);
    /// `is_last`: with it, the status tells that the end is reached.
    void publish(std::shared_ptr<tui::Reading> reading, bool is_last = false);
    /// Where readings come faster than the screen takes them: lets it take some, if it is quick.
    void let_take();
    void update(const std::function<void(tui::FeedStatus&)>& change);
    /// The counters of this machine's devices and of the interfaces under them, with what they were at the last call.
    std::vector<tui::DeviceCounter> device_counters();

private:
    void note_evicted(std::uint64_t flows);
    void wake() const;
    void order(const std::function<void()>& change);

    base::Descriptor wake_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::condition_variable taken_;
    Orders orders_;  ///< under mutex_, as all below
    tui::FeedStatus status_;
    std::deque<tui::ReadingPtr> readings_ = {};  ///< the last ones: fewer where they are large
    std::uint64_t serial_ = 0;
    std::uint64_t taken_serial_ = 0;  ///< of the newest reading that the screen has taken
    bool takes_slowly_ = false;       ///< it did not take any when it was waited for
    std::atomic<bool> ordered_ = false;
    std::atomic<bool> stopping_ = false;
    std::thread thread_ = {};

    std::vector<capture::counters::CounterReading> counters_ = {};  ///< of the thread
};

}  // namespace cli::top
