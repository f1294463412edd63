#pragma once
#include "cli/daemon/options.h"

namespace cli::daemon {

/// Asks the daemon that runs: --status, --trigger or --reload. Returns the exit status.
int ask_daemon(const DaemonOptions& options);

}  // namespace cli::daemon
