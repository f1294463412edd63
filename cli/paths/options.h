#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/analysis/options.h"

namespace cli::paths {

enum class Form : std::uint8_t { table, json, csv };

/// The command line of `paths`.
struct PathsOptions : analysis::AnalysisOptions {
    Form form = Form::table;
    bool two_forms = false;                        ///< a contradiction
    std::optional<std::uint64_t> path_count = {};  ///< of the network between the hosts
    std::optional<std::uint64_t> interval_ns = {};
    std::optional<std::uint64_t> top = {};

    /// The numbers of paths that expectations are printed for.
    std::vector<std::uint64_t> path_counts() const;
};

std::optional<options::UsageError> parse_options(const std::vector<std::string>& arguments, PathsOptions& out);
options::OptionTable<PathsOptions> option_table();
std::string help_text();

}  // namespace cli::paths
