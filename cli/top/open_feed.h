#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/analysis/options.h"
#include "tui/model/feed.h"

namespace cli::top {

/// How a source begins.
struct Pace {
    std::uint64_t interval_ns = 1'000'000'000;  ///< of the user's clock, between two readings
    /// Of files and history: 1 is as it was, 0 as fast as it goes. Absent: 1 for files; for history, one of its
    /// intervals in each of the user's.
    std::optional<double> speed = {};
    bool playing = true;
};

/// The source that the options name, with its thread running. Null where `error` says why there is none and what to do:
/// a file that cannot be read, an interface that may not be listened to, no daemon that answers, no history.
std::unique_ptr<tui::Feed> open_feed(const analysis::AnalysisOptions& options, const Pace& pace, std::string& error);

}  // namespace cli::top
