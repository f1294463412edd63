#pragma once
#include <string>

#include "cli/why/options.h"

namespace cli::why {

/// Options that contradict `--diff`; empty if absent, or without that option.
std::string diff_contradiction(const WhyOptions& options);

/// `why --diff BEFORE AFTER`. Returns the exit status.
int compare(const WhyOptions& options);

}  // namespace cli::why
