#pragma once
#include <string>
#include <vector>

#include "cli/analysis/session.h"
#include "cli/flows/options.h"
#include "cli/text_output.h"
#include "exporters/csv.h"
#include "exporters/json.h"
#include "exporters/text_table.h"
#include "metrics/figures/device_figures.h"

namespace cli::flows {

/// Prints flows as the options ask: chosen, sorted, cut to the first ones, in one of three forms.
class Report {
public:
    Report(const FlowsOptions& options, const analysis::Names& names, TextOutput& output);

    /// Whether the source verified CRCs, once it is open.
    void crc_verified(bool known) { context_.crc_verified = known; }
    /// Prints one interval when it has ended; false if printing failed.
    bool interval(const analysis::Session::Interval& interval);
    /// For groups: notes the traffic of an interval. Returns how long the next one is to be; 0: none is needed.
    std::uint64_t over_time(const analysis::Session::Interval& interval);
    /// The end of the whole capture, or of the last interval.
    bool finish(const metrics::Snapshot& snapshot, const metrics::DeviceFigures& devices = {});
    /// Whether the table shows a latency of one operation in the row of a flow that has others as well.
    bool latencies_are_of_one_operation() const { return latencies_of_one_; }
    /// Whether there were flows, but the filter passed none of them.
    bool hides_all() const { return hidden_; }

private:
    bool print(const metrics::Snapshot& snapshot, exporters::Context context);
    std::vector<std::string> cells_of(const metrics::FlowSnapshot& flow, const exporters::Context& context) const;
    bool asks_for_problems() const;
    bool print_groups(const metrics::Snapshot& snapshot);
    bool print_table(const std::vector<const metrics::FlowSnapshot*>& flows, const exporters::Context& context);

    const FlowsOptions& options_;
    TextOutput& output_;
    exporters::Context context_;
    exporters::FlowOrder order_;
    exporters::filter::FlowFilter filter_;
    exporters::FlowColumns columns_;  ///< empty: the table's are chosen when its first rows are known
    exporters::FlowsDocument document_;
    std::optional<exporters::Table> table_ = {};
    exporters::FlowTimeline timeline_ = {};
    bool begun_ = false;
    bool latencies_of_one_ = false;
    bool hidden_ = false;
};

}  // namespace cli::flows
