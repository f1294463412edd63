#pragma once
#include "cli/daemon/options.h"

namespace cli::daemon {

/// Sends a request to the running daemon: --status, --trigger or --reload. Returns the exit status.
int ask_daemon(const DaemonOptions& options);

}  // namespace cli::daemon
