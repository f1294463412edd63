#pragma once
#include <map>
#include <string>

#include "capture/live/tap.h"
#include "cli/top/feed_thread.h"
#include "cli/top/frame_ring.h"
#include "cli/top/measuring.h"

namespace cli::top {

/// What passes now on interfaces of this machine.
class LiveFeed final : public FeedThread {
public:
    static std::unique_ptr<LiveFeed> open(const analysis::AnalysisOptions& options, const Pace& pace,
                                          std::string& error);
    ~LiveFeed() override { stop(); }

    std::size_t packets(std::uint64_t from, std::size_t most,
                        const std::function<bool(const wire::Frame&)>& sink) override {
        return ring_.visit(from, most, sink);
    }

private:
    LiveFeed(std::unique_ptr<capture::Tap> tap, std::unique_ptr<observe::TraceInput> trace,
             const analysis::AnalysisOptions& options, const Pace& pace);
    void work();
    /// False when no more frames are needed.
    bool take(std::span<const wire::Frame> frames);
    void count_drops();
    void report_events();
    void close_interval(Clock::time_point now);

    const std::optional<std::uint64_t> max_packets_;
    Clock::time_point begin_ = Clock::now();  ///< of the interval
    const Clock::time_point deadline_;
    std::unique_ptr<capture::Tap> tap_;
    Measuring measuring_;
    /// Of what the kernel has joined, the beginning: at full rate whole segments would last for no time at all.
    FrameRing ring_ = FrameRing(9216, std::size_t{8} << 20);
    std::uint64_t taken_ = 0;
    std::uint64_t dropped_ = 0;
    std::uint64_t kernel_dropped_ = 0;
    std::int64_t last_frame_ns_ = 0;
    std::map<std::string, std::string> troubles_ = {};  ///< by interface
};

}  // namespace cli::top
