#pragma once
#include <string>

#include "base/error.h"
#include "cli/command.h"
#include "cli/dump/options.h"

namespace cli::dump {

/// What `-D`, `-L`, `-J`, `-d` and `-G fields` print.
base::Result<std::string> listing(const DumpOptions& options, const Environment& environment);

}  // namespace cli::dump
