#include "cli/completion/print_completion.h"

#include <array>
#include <fmt/core.h>
#include <span>
#include <string_view>

#include "base/similar.h"
#include "cli/console.h"

namespace cli::completion {

// Made of the files next to this one.
extern const std::span<const unsigned char> script_of_bash;
extern const std::span<const unsigned char> script_of_zsh;
extern const std::span<const unsigned char> script_of_fish;

namespace {

struct Shell {
    std::string_view name;
    const std::span<const unsigned char>* script;
};
constexpr std::array shells{Shell{"bash", &script_of_bash}, Shell{"zsh", &script_of_zsh},
                            Shell{"fish", &script_of_fish}};

constexpr std::array rows{options::under(options::Section::options, options::help<options::HelpOptions>),
                          options::under(options::Section::options, options::version<options::HelpOptions>)};

options::OptionTable<options::HelpOptions> option_table() {
    return options::OptionTable<options::HelpOptions>().add(rows);
}

std::string unknown_shell(std::string_view name) {
    std::vector<std::string_view> known;
    for (const Shell& shell : shells) known.push_back(shell.name);
    return fmt::format("'{}' is no shell that is known{}; bash, zsh and fish are", name,
                       base::did_you_mean(name, known));
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    options::HelpOptions given;
    std::vector<std::string> words;
    auto error = option_table().parse(arguments, given, words);
    if (!error && !given.help && !given.version && words.size() != 1)
        error = options::UsageError{"one shell is expected: rdmascope completion bash, zsh or fish"};
    if (const auto status = answered(environment, "completion", error, given, help)) return *status;
    for (const Shell& shell : shells)
        if (shell.name == words.front())
            return print(std::string(reinterpret_cast<const char*>(shell.script->data()), shell.script->size()));
    return usage_error(environment, "completion", {unknown_shell(words.front())});
}

std::string help() {
    return options::help_page(
        "Usage: rdmascope completion bash|zsh|fish\n\n"
        "Prints the script by which the shell completes rdmascope's commands, options, interfaces and fields.\n",
        option_table().options(),
        "\nExamples:\n"
        "  source <(rdmascope completion bash)\n"
        "      for this shell; in ~/.bashrc for all that follow\n"
        "  rdmascope completion zsh > \"${fpath[1]}/_rdmascope\"\n"
        "      for zsh, then begin a new shell\n"
        "  rdmascope completion fish > ~/.config/fish/completions/rdmascope.fish\n"
        "      for fish\n"
        "\nThe packages install all three. Manual: rdmascope-completion(1).\n");
}

std::vector<options::CommandOptions> option_lists() { return {{"completion", option_table().options()}}; }

}  // namespace cli::completion
