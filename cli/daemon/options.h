#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/command_options.h"
#include "daemon/config/config_file.h"

namespace cli::daemon {

/// `status`, `trigger` and `reload` are requests to the running daemon.
enum class Action : std::uint8_t { run, check, print_config, status, trigger, reload, help, version };

/// The command line of `daemon`. Its settings override the file, also when the file is read again.
struct DaemonOptions {
    Action action = Action::run;
    std::optional<std::string> config_path = {};
    std::string reason = {};                                         ///< of `trigger`
    bool json = false;                                               ///< of `status`, `trigger` and `reload`
    std::vector<std::string> interfaces = {};                        ///< empty: the file's
    std::vector<std::pair<std::string, std::string>> settings = {};  ///< key ("capture.snaplen") and value, each valid
};

/// Reads the command line.
std::optional<options::UsageError> parse_options(const std::vector<std::string>& arguments, DaemonOptions& out);
options::OptionTable<DaemonOptions> option_table();
std::string help_text();

/// The file's settings, or the defaults without a file, overridden by the command line. Called at the start and at
/// every reload.
base::Result<service::Config, service::ConfigErrors> load_config(const DaemonOptions& options);

}  // namespace cli::daemon
