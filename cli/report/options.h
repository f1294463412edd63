#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cli/analysis/options.h"

namespace cli::report {

struct ReportOptions : analysis::AnalysisOptions {
    std::optional<std::string> output_path = {};    ///< the page; `-` is standard output
    std::optional<std::string> perfetto_path = {};  ///< a trace in addition to the page
    std::optional<std::uint64_t> flow = {};         ///< the flow that the report is about, and its reverse
    std::string title = {};
    bool anonymous = false;
};

options::OptionTable<ReportOptions> option_table();
/// The mistake of --perfetto with a source that cannot be read twice; empty if the options fit each other.
std::string contradiction_of_trace(const ReportOptions& options);
std::string help_text();

/// The path of the page if none is given: the first file's name without its ending, in the present folder.
std::string default_output_path(const ReportOptions& options);

}  // namespace cli::report
