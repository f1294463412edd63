#pragma once
#include <cstdint>
#include <string>

#include "cli/analysis/session.h"

namespace cli::analysis {

/// The multiple of `length` at or before `time`.
std::int64_t begin_of(std::int64_t time, std::int64_t length);

/// Figures of a daemon's history for a range of time, in place of figures from frames.
struct Recalled {
    metrics::Snapshot whole;
    std::string error;          ///< what went wrong; empty on success
    bool crc_verified = true;   ///< for all intervals
    bool any = false;           ///< there are figures
    std::uint64_t damaged = 0;  ///< intervals that could not be read
};

/// Reads the history from --from to --to. With an interval, stored intervals are joined to multiples of its length;
/// longer stored intervals are returned as they are. `stop` is called while the history is read; true ends the reading.
Recalled recall(const AnalysisOptions& options, std::uint64_t interval_ns, const Session::IntervalSink& sink,
                bool (*stop)());

}  // namespace cli::analysis
