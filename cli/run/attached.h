#pragma once
#include "cli/run/run_traced.h"

namespace cli::run {

/// Traces a running process, by probes in its code, until it ends or SIGINT, SIGTERM or SIGHUP comes; the process runs
/// on. What cannot be traced is reported first. Returns the exit status: exit_done, or exit_failed after it has
/// reported the reason.
int run_attached(int process, const Tracing& how);

}  // namespace cli::run
