#pragma once
#include "cli/analysis/file_input.h"
#include "cli/selection.h"
#include "cli/top/feed_thread.h"
#include "cli/top/frame_ring.h"
#include "cli/top/measuring.h"

namespace cli::top {

/// Captures that are played back. In each interval of the screen, a fixed part of the capture's time passes.
class FileFeed final : public FeedThread {
public:
    static std::unique_ptr<FileFeed> open(const analysis::AnalysisOptions& options, const Pace& pace,
                                          std::string& error);
    ~FileFeed() override { stop(); }

    std::size_t packets(std::uint64_t from, std::size_t most,
                        const std::function<bool(const wire::Frame&)>& sink) override {
        return ring_.visit(from, most, sink);
    }

private:
    FileFeed(const analysis::AnalysisOptions& options, const Pace& pace, std::string expression);
    std::string open_files();
    void work();
    void handle_orders(Orders& orders);
    void take_steps(int intervals, const Orders& orders);
    void jump(std::int64_t to_ns, std::uint64_t length_ns);
    void play_on(const Orders& orders, Clock::time_point tick);
    void rush(Clock::time_point tick);
    void spend_less(Clock::duration one_reading);
    std::uint64_t estimated_ns();
    /// Measures the frames before `until_ns`. False if it stopped early: at the deadline, or because of an order.
    bool advance(std::int64_t until_ns, Clock::time_point deadline);
    bool refill();
    void end(std::string trouble);
    void report_end();
    void close(std::int64_t start_ns, std::int64_t end_ns);
    bool begin_again();

    const analysis::AnalysisOptions options_;
    const std::string expression_;
    std::unique_ptr<analysis::FileInput> files_ = {};
    Selection selection_;
    Measuring measuring_;
    FrameRing ring_;

    std::vector<wire::Frame> batch_;
    std::span<const wire::Frame> pending_ = {};  ///< frames of the batch that are not measured yet
    bool ended_ = false;
    bool end_reported_ = false;  ///< the reading with the figures of the end was published
    bool restarted_ = false;
    std::uint64_t taken_ = 0;
    std::uint64_t rush_stride_ns_ = 0;           ///< time of a reading at full speed; 0: not known yet
    std::uint64_t rush_whole_ns_ = 0;            ///< estimated length of the captures
    std::uint64_t rushed_ = 0;                   ///< readings at full speed so far
    bool rushes_to_end_ = false;                 ///< very many flows: no further reading before the end
    std::optional<std::int64_t> begin_ns_ = {};  ///< time of the first frame
    std::int64_t now_ns_ = 0;                    ///< all frames before this time are measured
    std::int64_t last_frame_ns_ = 0;
    std::int64_t shown_ns_ = 0;  ///< end of the last reading
};

}  // namespace cli::top
