#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "cli/analysis/options.h"

namespace cli::why {

enum class Color : std::uint8_t { automatic, never, always };

struct WhyOptions : analysis::AnalysisOptions {
    std::optional<std::uint64_t> flow = {};  ///< the one that is asked about, and its reverse
    bool json = false;
    bool verbose = false;
    Color color = Color::automatic;
};

std::span<const analysis::OptionRow<WhyOptions>> own_options();

}  // namespace cli::why
