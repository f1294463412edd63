#pragma once
#include <string>
#include <vector>

#include "cli/daemon/options.h"

namespace cli::daemon {

/// The mistakes in a configuration that could be read, one line each, with the place in the file if there is one:
/// filters and triggers that do not compile, users and groups that do not exist, more memory than there is.
std::vector<std::string> judge(const DaemonOptions& options, const service::Config& config);

/// Obstacles for the folders that the daemon will write to, without making the folders, and for the files that it will
/// read; for --check.
std::vector<std::string> judge_files(const DaemonOptions& options, const service::Config& config);

}  // namespace cli::daemon
