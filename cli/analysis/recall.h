#pragma once
#include <cstdint>
#include <string>

#include "cli/analysis/session.h"

namespace cli::analysis {

/// The multiple of `length` at or before `time`.
std::int64_t begin_of(std::int64_t time, std::int64_t length);

/// What a daemon's history holds of a time, instead of frames.
struct Recalled {
    metrics::Snapshot whole;
    std::string error;          ///< what went wrong; empty if nothing did
    bool crc_verified = true;   ///< of all that there is
    bool any = false;           ///< there are figures
    std::uint64_t damaged = 0;  ///< intervals that could not be read
};

/// All of --from to --to. With an interval, stored intervals are joined to its multiples; longer ones are returned as
/// they are.
Recalled recall(const AnalysisOptions& options, std::uint64_t interval_ns, const Session::IntervalSink& sink,
                bool (*stop)());

}  // namespace cli::analysis
