#pragma once
#include <string>

#include "cli/why/options.h"

namespace cli::why {

/// What contradicts `--diff` among the options; empty where nothing does, or where it is not asked for.
std::string diff_contradiction(const WhyOptions& options);

/// `why --diff BEFORE AFTER`. Returns the exit status.
int compare(const WhyOptions& options);

}  // namespace cli::why
