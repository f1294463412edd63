#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command_options.h"
#include "cli/options/shared.h"
#include "dissect/registry.h"

namespace cli {

/// Exit statuses; with --fail-on, `exit_found` if what it names was found, and `exit_nothing` if there was nothing to
/// judge.
enum ExitStatus : int { exit_done = 0, exit_failed = 1, exit_usage = 2, exit_found = 3, exit_nothing = 4 };

struct Command;

/// What `main` provides to every command.
struct Environment {
    const dissect::FieldRegistry& (*fields)();  ///< all fields of frames
    std::string_view version;
    std::span<const Command> commands;
};

/// A subcommand of rdmascope.
struct Command {
    std::string_view name;
    std::string_view summary;
    int (*run)(const std::vector<std::string>& arguments, const Environment& environment);
    std::string (*help)();
    /// One table, or one for each part of the command.
    std::vector<options::CommandOptions> (*option_lists)();
};

/// Finds the subcommand, or `help`, `--help`, `--version`, and runs it. `arguments` lacks the program's name.
int run_command(const std::vector<std::string>& arguments, const Environment& environment);

/// Prints the error, and how to list the options; `command` may be a part: "endpoint serve". Returns exit_usage.
int usage_error(const Environment& environment, std::string_view command, options::UsageError error);

/// The exit status of a usage error, of `--help` or of `--version`; no value if there is work to do.
std::optional<int> answered(const Environment& environment, std::string_view command,
                            const std::optional<options::UsageError>& error, const options::HelpOptions& given,
                            std::string (*help)());

/// `rdmascope 0.1.0`, and the capture libraries.
std::string version_text(std::string_view version);

}  // namespace cli
