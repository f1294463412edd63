#include "cli/options/command_options.h"

#include <algorithm>
#include <fmt/core.h>

#include "cli/options/setters.h"

namespace cli::options {

std::optional<UsageError> usage_error_if(std::string reason) {
    if (reason.empty()) return {};
    return UsageError{std::move(reason)};
}

std::vector<base::OptionSyntax> syntax_of(std::span<const ListedOption> options) {
    std::vector<base::OptionSyntax> syntax;
    syntax.reserve(options.size());
    for (const auto& [text, section] : options)
        syntax.push_back({text.letter, text.long_name, text.argument.kind, text.argument.name});
    return syntax;
}

std::optional<UsageError> detail::parse(std::span<const ListedOption> options, const std::vector<std::string>& words,
                                        base::ParsingRules rules, std::string_view (*hint)(std::string_view option),
                                        const Apply& apply, std::vector<std::string>& operands) {
    base::OptionParser parser(syntax_of(options), words, rules);
    for (base::OptionParser::Step step = parser.next(); step.found || step.error; step = parser.next()) {
        if (step.error) {
            const std::string_view elsewhere = step.error->unknown && hint != nullptr ? hint(*step.error->unknown) : "";
            if (elsewhere.empty()) return UsageError{std::move(step.error->message), std::move(step.error->unknown)};
            return UsageError{fmt::format("there is no option {}{}", *step.error->unknown, elsewhere)};
        }
        const auto& [index, value] = *step.found;
        if (const std::string expected = apply(index, value); !expected.empty())
            return UsageError{fmt::format("{} {}: {} is expected", spelling(options[index].text),
                                          value.empty() ? "''" : value, expected)};
    }
    operands = parser.operands();
    return {};
}

namespace {

bool has_option(const CommandOptions& command, std::string_view typed) {
    return std::ranges::any_of(command.options, [&](const ListedOption& option) {
        const bool is_letter = option.text.letter != 0 && typed == fmt::format("-{}", option.text.letter);
        return is_letter || (!option.text.long_name.empty() && typed == fmt::format("--{}", option.text.long_name));
    });
}

std::string_view first_word(std::string_view name) { return name.substr(0, name.find(' ')); }

}  // namespace

void append_other_commands(UsageError& error, std::string_view command, std::span<const CommandOptions> all) {
    if (!error.unknown) return;
    std::vector<std::string_view> names;
    for (const CommandOptions& other : all) {
        if (!has_option(other, *error.unknown)) continue;
        // Parts of one command are of interest to each other only.
        const bool is_sibling = first_word(other.command) == first_word(command);
        const std::string_view name = is_sibling ? other.command : first_word(other.command);
        if (names.empty() || names.back() != name) names.push_back(name);
    }
    if (names.empty()) return;
    error.message = fmt::format("there is no option {}; {} {} it", *error.unknown, listed(names, " and "),
                                names.size() == 1 ? "has" : "have");
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        if (!text.empty()) text += ' ';
        text += word;
    }
    return text;
}

}  // namespace cli::options
