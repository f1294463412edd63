#pragma once
#include <string>

#include "cli/command.h"
#include "cli/replay/options.h"

namespace cli::replay {

/// The kinds of re-enactment; each returns the exit status.
int workload(const ReplayOptions& options, const Environment& environment);
int inject(const ReplayOptions& options, const Environment& environment);
int peer(const ReplayOptions& options, const Environment& environment);

/// Reports the error; returns exit_failed.
int failed(const std::string& what);

/// The same if nothing has been printed yet: with --json also as an object with `error`, as other commands have it.
int failed(const ReplayOptions& options, const std::string& what);

}  // namespace cli::replay
