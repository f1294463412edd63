#include "cli/options/table.h"

#include <fmt/core.h>

namespace cli::options {

std::optional<UsageError> usage_error_if(std::string reason) {
    if (reason.empty()) return {};
    return UsageError{std::move(reason)};
}

std::optional<UsageError> detail::parse(std::span<const ListedOption> options, const std::vector<std::string>& words,
                                        text::ParsingRules rules, std::string_view (*hint)(std::string_view option),
                                        const Apply& apply, std::vector<std::string>& operands) {
    std::vector<text::OptionSyntax> syntax;
    syntax.reserve(options.size());
    for (const ListedOption& option : options)
        syntax.push_back(
            {option.text.letter, option.text.long_name, option.text.argument.kind, option.text.argument.name});
    text::OptionParser parser(syntax, words, rules);
    for (text::OptionParser::Step step = parser.next(); step.found || step.error; step = parser.next()) {
        if (step.error) {
            const std::string_view elsewhere = step.error->unknown && hint != nullptr ? hint(*step.error->unknown) : "";
            if (elsewhere.empty()) return UsageError{std::move(step.error->message), std::move(step.error->unknown)};
            return UsageError{fmt::format("there is no option {}{}", *step.error->unknown, elsewhere)};
        }
        const auto& [index, value] = *step.found;
        if (const std::string expected = apply(index, value); !expected.empty())
            return UsageError{fmt::format("{} {}: {} is wanted", spelling(options[index].text),
                                          value.empty() ? "''" : value, expected)};
    }
    operands = parser.operands();
    return {};
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
