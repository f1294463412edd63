#pragma once
#include <string>
#include <vector>

#include "cli/analysis/session.h"
#include "cli/report/options.h"
#include "exporters/report/anonymous.h"
#include "metrics/figures/snapshot.h"

namespace cli::report {

/// A trace in the form of Chrome's trace events, for ui.perfetto.dev: each flow and each connection with commands is a
/// process, messages and commands are slices, repairs and marks are instants. Arrows lead from a packet to its repeat,
/// and from a NAK to the first packet that is sent again.
struct EventTrace {
    std::string text = {};
    std::string left_out = {};  ///< what was left out, in a sentence; may be empty
    bool failed = false;        ///< the reason was printed
};

/// Reads the files again. `snapshot` has the names of the ends, which may be substitutes. With `anonymous`, the names
/// of connections are replaced too.
EventTrace read_trace_events(const ReportOptions& options, const metrics::Snapshot& snapshot,
                             const analysis::Names& names, exporters::report::Anonymous* anonymous);

}  // namespace cli::report
