#pragma once
#include <span>
#include <string>

#include "cli/why/options.h"
#include "exporters/why_page.h"

namespace cli::why {

using PageStyle = exporters::WhyPageStyle;

/// The style for the options and for standard output.
PageStyle style_for(const WhyOptions& options);
/// As wide as the descriptor's terminal, with its colours and in the letters that the user's locale writes.
PageStyle style_for_terminal(int descriptor);

/// One JSON object, with a newline: `capture` and `answers`.
std::string json(const metrics::Snapshot& snapshot, std::span<const metrics::Answer> answers, bool crc_verified);

}  // namespace cli::why
