#include "cli/top/open_feed.h"

#include "cli/live.h"
#include "cli/top/daemon_feed.h"
#include "cli/top/file_feed.h"
#include "cli/top/history_feed.h"
#include "cli/top/live_feed.h"

namespace cli::top {

std::unique_ptr<tui::Feed> open_feed(const analysis::AnalysisOptions& options, const Pace& pace, std::string& error) {
    if (options.recalls()) return HistoryFeed::open(options, pace, error);
    if (options.connect) return DaemonFeed::open(options, pace, error);
    if (!options.read_paths.empty()) return FileFeed::open(options, pace, error);
    if (!options.interfaces.empty()) return LiveFeed::open(options, pace, error);
    error = source_choices();
    return nullptr;
}

}  // namespace cli::top
