#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/analysis/session.h"
#include "cli/io/options.h"
#include "cli/report/options.h"
#include "exporters/report/sequence_plot.h"
#include "metrics/figures/command_figures.h"
#include "metrics/figures/snapshot.h"

namespace cli::report {

/// The options for reading the frames again. A copy of a capture holds exactly the frames that were measured.
io::IoOptions reading_options(const ReportOptions& options, const std::vector<std::string>& paths, bool is_copy);

/// What a report takes from the frames after the flows are known.
struct Details {
    std::vector<exporters::report::SequencePlot> plots = {};
    std::vector<metrics::CommandConnectionFigures> connections = {};
    bool failed = false;  ///< the reason was printed
};

/// Reads the files again, for the plots and the commands.
Details read_details(const ReportOptions& options, const std::vector<std::string>& paths, bool is_copy,
                     const metrics::Snapshot& snapshot, std::span<const metrics::FlowSnapshot* const> flows,
                     std::span<const std::uint64_t> frames);

/// The connections as `io --json` prints them. If there are very many, the connections with the most commands.
std::string connections_json(const std::vector<metrics::CommandConnectionFigures>& connections,
                             const analysis::Names& names, std::vector<std::string>& left_out);

}  // namespace cli::report
