#pragma once
#include <cstdint>
#include <optional>

#include "cli/analysis/options.h"
#include "metrics/answers/answer.h"

namespace cli::why {

struct WhyOptions : analysis::AnalysisOptions {
    std::optional<std::uint64_t> flow = {};      ///< the flow that is asked about, and its reverse
    std::optional<metrics::Grade> fail_on = {};  ///< exit with 3 if a finding of this grade, or a worse one, was made
    bool diff = false;                           ///< compare the second file with the first
    bool json = false;
    bool verbose = false;
    std::string policy_path = {};  ///< rules that the question `policy` is about
    std::string fabric_path = {};  ///< what `rdmascope fabric --json` wrote
    options::Color color = options::Color::automatic;
};

options::OptionTable<WhyOptions> option_table();

}  // namespace cli::why
