#pragma once
#include "cli/top/feed_thread.h"
#include "control/client.h"

namespace cli::top {

/// The figures of a running daemon. If the daemon ends, the feed waits until a daemon runs again.
class DaemonFeed final : public FeedThread {
public:
    static std::unique_ptr<DaemonFeed> open(const analysis::AnalysisOptions& options, const Pace& pace,
                                            std::string& error);
    ~DaemonFeed() override { stop(); }

private:
    DaemonFeed(std::string path, std::unique_ptr<control::Client> client, const analysis::AnalysisOptions& options,
               const Pace& pace);
    void work();
    bool look(std::uint64_t interval_ns);
    void lose(const std::string& why);

    const std::string path_;
    const Clock::time_point deadline_;
    std::unique_ptr<control::Client> client_;  ///< null while there is no connection
    tui::ReadingPtr previous_ = {};
    Clock::time_point looked_ = {};
    bool restarted_ = false;
    bool warned_ = false;  ///< the daemon has reported what its capture may miss
};

}  // namespace cli::top
