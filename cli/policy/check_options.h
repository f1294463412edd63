#pragma once
#include <string>

#include "cli/analysis/options.h"

namespace cli::policy {

struct CheckOptions : analysis::AnalysisOptions {
    std::string rules_path = {};
    bool json = false;
};

options::OptionTable<CheckOptions> check_option_table();

}  // namespace cli::policy
