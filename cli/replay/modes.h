#pragma once
#include <string>

#include "cli/command.h"
#include "cli/replay/options.h"

namespace cli::replay {

/// The kinds of re-enactment; each returns the exit status.
int workload(const ReplayOptions& options, const Environment& environment);
int inject(const ReplayOptions& options, const Environment& environment);
int peer(const ReplayOptions& options, const Environment& environment);

/// Tells what went wrong; returns exit_failed.
int failed(const std::string& what);

/// The same where nothing has been printed: with --json as an object with `error`, too, as others have it.
int failed(const ReplayOptions& options, const std::string& what);

}  // namespace cli::replay
