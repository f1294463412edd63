#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/analysis/options.h"
#include "tui/model/feed.h"

namespace cli::top {

/// The speed with which a source begins.
struct Pace {
    std::uint64_t interval_ns = 1'000'000'000;  ///< real time between two readings
    /// For files and history: a multiple of the original speed; 0 is full speed. Absent: 1 for files, and for history
    /// one of its intervals in each interval of the screen.
    std::optional<double> speed = {};
    bool playing = true;
};

/// Opens the source that the options name, and starts its thread. Null if that failed; `error` then says why and what
/// to do: a file cannot be read, an interface may not be captured, no daemon answers, there is no history.
std::unique_ptr<tui::Feed> open_feed(const analysis::AnalysisOptions& options, const Pace& pace, std::string& error);

}  // namespace cli::top
