#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dissect/registry.h"

namespace cli {

/// What a command ends with.
enum ExitStatus : int { exit_done = 0, exit_failed = 1, exit_usage = 2 };

/// What `main` has assembled and every command may use.
struct Environment {
    const dissect::FieldRegistry& fields;
    std::string_view version;
};

/// A subcommand of rdmascope.
struct Command {
    std::string_view name;
    std::string_view summary;
    int (*run)(const std::vector<std::string>& arguments, const Environment& environment);
    std::string (*help)();
};

/// Finds the subcommand, or `help`, `--help`, `--version`, and runs it. `arguments` lacks the program's name.
int run(const std::vector<std::string>& arguments, std::span<const Command> commands, const Environment& environment);

/// `rdmascope 0.1.0`, and with what it captures.
std::string version_text(std::string_view version);

}  // namespace cli
