#include "cli/command.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "base/similar.h"
#include "cli/console.h"

namespace cli {

namespace {

/// Fits a terminal of 80 columns and 24 lines.
std::string overview(std::span<const Command> commands) {
    std::string out =
        "Usage: rdmascope COMMAND [OPTION]..., or rdmascope help COMMAND\n"
        "Captures RDMA traffic (RoCE, InfiniBand, iWARP) and explains it.\n"
        "First steps: rdmascope demo | rdmascope why -r FILE | rdmascope top -i IFACE\n";
    for (const Command& command : commands) out += fmt::format("  {:<12}{}\n", command.name, command.summary);
    return out + "Options: --help, --version. Manual: rdmascope(1).\n";
}

const Command* find(std::span<const Command> commands, std::string_view name) {
    const auto at = std::find_if(commands.begin(), commands.end(), [name](const Command& c) { return c.name == name; });
    return at == commands.end() ? nullptr : &*at;
}

int unknown(std::string_view name, std::span<const Command> commands) {
    if (name.starts_with('-')) {
        constexpr std::array<std::string_view, 2> options{"--help", "--version"};
        std::string meant = base::did_you_mean(name, options);
        // A user who knows tcpdump begins with an option.
        if (meant.empty())
            meant = fmt::format("; a command comes first, as in `rdmascope {} {}`", commands.front().name, name);
        print_message("rdmascope: there is no option {}{}\nrdmascope: `rdmascope help` lists the commands", name,
                      meant);
        return exit_usage;
    }
    std::vector<std::string_view> known{"help"};
    for (const Command& command : commands) known.push_back(command.name);
    print_message("rdmascope: there is no command '{}'{}\nrdmascope: `rdmascope help` lists the commands", name,
                  base::did_you_mean(name, known));
    return exit_usage;
}

int help(const std::vector<std::string>& topics, std::span<const Command> commands) {
    if (topics.empty() || topics.front() == "help") return print(overview(commands));
    const Command* command = find(commands, topics.front());
    return command == nullptr ? unknown(topics.front(), commands) : print(command->help());
}

}  // namespace

int run_command(const std::vector<std::string>& arguments, const Environment& environment) {
    const std::span<const Command> commands = environment.commands;
    if (arguments.empty()) {
        print_message("{}", overview(commands));
        return exit_usage;
    }
    const std::string& name = arguments.front();
    const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
    if (name == "--version") return print(version_text(environment.version));
    if (name == "help" || name == "--help" || name == "-h") return help(rest, commands);
    const Command* command = find(commands, name);
    return command == nullptr ? unknown(name, commands) : command->run(rest, environment);
}

int usage_error(const Environment& environment, std::string_view command, options::UsageError error) {
    std::vector<options::CommandOptions> all;
    for (const Command& each : environment.commands)
        for (options::CommandOptions& part : each.option_lists()) all.push_back(std::move(part));
    append_other_commands(error, command, all);
    // `rdmascope help` has pages of commands, not of their parts.
    const bool is_part = command.find(' ') != std::string_view::npos;
    const std::string page =
        is_part ? fmt::format("rdmascope {} --help", command) : fmt::format("rdmascope help {}", command);
    print_message("rdmascope {0}: {1}\nrdmascope {0}: `{2}` lists the options", command, error.message, page);
    return exit_usage;
}

std::optional<int> answered(const Environment& environment, std::string_view command,
                            const std::optional<options::UsageError>& error, const options::HelpOptions& given,
                            std::string (*help)()) {
    if (error) return usage_error(environment, command, *error);
    if (given.help) return print(help());
    if (given.version) return print(version_text(environment.version));
    return {};
}

std::string version_text(std::string_view version) { return fmt::format("rdmascope {}\n", version); }

}  // namespace cli
