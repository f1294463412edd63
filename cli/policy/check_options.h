#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cli/analysis/options.h"

namespace cli::policy {

/// What `policy check` exits with 3 for.
enum class FailOn : std::uint8_t {
    wrong,    ///< flows with 1 % of the bytes and more break rules
    minor,    ///< any flow breaks a rule
    unruled,  ///< the same, or no rule is about a flow
    never,
};

struct CheckOptions : analysis::AnalysisOptions {
    std::string rules_path = {};
    bool json = false;
    std::optional<FailOn> fail_on = {};  ///< default: minor
};

options::OptionTable<CheckOptions> check_option_table();

}  // namespace cli::policy
