#pragma once
#include <string>

#include "cli/analysis/options.h"

namespace cli::explain {

struct ExplainOptions : analysis::AnalysisOptions {
    std::vector<std::string> words = {};  ///< lines, codes, files of lines, "-"
    bool follow = false;
    bool json = false;

    /// Whether packets are searched for.
    bool has_packets() const { return !read_paths.empty() || connect || recalls(); }
};

options::OptionTable<ExplainOptions> option_table();

/// Contradictions in the command line; empty if absent.
std::string contradiction_of_words(const ExplainOptions& options);

}  // namespace cli::explain
