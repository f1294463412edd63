#pragma once
#include <cstdint>
#include <optional>

#include "cli/analysis/options.h"

namespace cli::why {

struct WhyOptions : analysis::AnalysisOptions {
    std::optional<std::uint64_t> flow = {};  ///< the one that is asked about, and its reverse
    bool json = false;
    bool verbose = false;
    options::Color color = options::Color::automatic;
};

options::OptionTable<WhyOptions> option_table();

}  // namespace cli::why
