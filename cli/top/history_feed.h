#pragma once
#include <deque>

#include "cli/top/feed_thread.h"
#include "history/history.h"

namespace cli::top {

/// A daemon's history, played back interval by interval.
class HistoryFeed final : public FeedThread {
public:
    static std::unique_ptr<HistoryFeed> open(const analysis::AnalysisOptions& options, const Pace& pace,
                                             std::string& error);
    ~HistoryFeed() override { stop(); }

private:
    HistoryFeed(std::unique_ptr<history::HistoryReader> reader, std::string directory, std::int64_t begin_ns,
                std::int64_t end_ns, std::size_t max_flows, const Pace& pace);
    void work();
    void take_steps(int intervals);
    void jump(std::int64_t to_ns);
    void play_on(const Orders& orders, Clock::time_point tick);
    const history::HistoryInterval* next();
    void add(history::HistoryInterval&& interval);
    bool take_one();
    void publish_group();
    void rush(Clock::time_point tick);
    void end(std::string trouble);

    std::unique_ptr<history::HistoryReader> reader_;
    const std::int64_t begin_ns_;
    const std::int64_t end_ns_;
    const std::size_t max_flows_;
    const bool own_speed_;  ///< one interval of the history in each interval of the screen

    std::deque<history::HistoryInterval> ahead_ = {};  ///< intervals that were read and are not shown yet
    std::int64_t read_ns_;                             ///< all intervals that end before this time were read
    std::int64_t now_ns_;                              ///< the time that playing has reached
    tui::ReadingPtr previous_ = {};
    std::shared_ptr<tui::Reading> group_ = {};  ///< the reading that is being made
    std::uint64_t rush_stride_ns_ = 0;          ///< time of the history in one reading at full speed
    bool restarted_ = false;
    bool ended_ = false;
    bool end_reported_ = false;
};

}  // namespace cli::top
