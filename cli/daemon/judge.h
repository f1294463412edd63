#pragma once
#include <string>
#include <vector>

#include "cli/daemon/options.h"

namespace cli::daemon {

/// What is wrong with a configuration that could be read, a line a mistake, with the place in the file where it has
/// one: filters and triggers that do not compile, users and groups that there are not.
std::vector<std::string> judge(const DaemonOptions& options, const service::Config& config);

/// What stands in the way of the folders that the daemon will write to, without making them; for --check.
std::vector<std::string> judge_folders(const DaemonOptions& options, const service::Config& config);

}  // namespace cli::daemon
