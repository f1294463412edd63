#pragma once
#include <string>

#include "capture/error.h"
#include "cli/command.h"
#include "cli/dump/options.h"

namespace cli::dump {

/// What `-D`, `-L`, `-J`, `-d` and `-G fields` print.
capture::Result<std::string> listing(const DumpOptions& options, const Environment& environment);

}  // namespace cli::dump
