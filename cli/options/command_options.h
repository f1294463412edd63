#pragma once
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/option.h"

namespace cli::options {

/// An invalid command line.
struct UsageError {
    std::string message;
    /// The option as it was typed, if the command has no such option and does not say itself where to find it.
    std::optional<std::string> unknown = {};
};

/// No error if the reason is empty.
std::optional<UsageError> usage_error_if(std::string reason);

/// An option with its heading: what help and completions need of a row.
struct ListedOption {
    OptionText text;
    Section section;
};

/// What the parser needs of the rows.
std::vector<base::OptionSyntax> syntax_of(std::span<const ListedOption> options);

/// The table of a command, or of a part of one: `endpoint serve`.
struct CommandOptions {
    std::string_view command;
    std::vector<ListedOption> options;
};

/// Appends which other commands have an unknown option: "; flows and why have it". `command` lacks the option.
void append_other_commands(UsageError& error, std::string_view command, std::span<const CommandOptions> all);

namespace detail {

using Apply = std::function<std::string(std::size_t index, const std::string& value)>;
std::optional<UsageError> parse(std::span<const ListedOption> options, const std::vector<std::string>& words,
                                base::ParsingRules rules, std::string_view (*hint)(std::string_view option),
                                const Apply& apply, std::vector<std::string>& operands);

}  // namespace detail

/// The options of one command. Rows of a base class of Settings may be in the table too.
template <class Settings>
class OptionTable {
public:
    explicit OptionTable(base::ParsingRules rules = {}) : rules_(rules) {}

    template <class Base, std::size_t Size>
    OptionTable& add(const std::array<Option<Base>, Size>& rows) {
        return add(std::span<const Option<Base>>(rows));
    }
    template <class Base>
    OptionTable& add(std::span<const Option<Base>> rows) {
        for (const Option<Base>& row : rows) {
            options_.push_back({row.text, row.section});
            setters_.push_back(
                [set = row.set](Settings& settings, const std::string& value) { return set(settings, value); });
        }
        return *this;
    }

    /// Removes one of the options that commands share.
    OptionTable& without(std::string_view long_name) {
        for (std::size_t i = options_.size(); i-- > 0;) {
            if (options_[i].text.long_name != long_name) continue;
            options_.erase(options_.begin() + static_cast<std::ptrdiff_t>(i));
            setters_.erase(setters_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        return *this;
    }

    /// Sets where to find an option that the command does not have: a text that follows the message, or nothing.
    OptionTable& hint(std::string_view (*where)(std::string_view option)) {
        hint_ = where;
        return *this;
    }

    const std::vector<ListedOption>& options() const { return options_; }

    /// Reads the command line into `settings`, and the words that are not options into `operands`.
    std::optional<UsageError> parse(const std::vector<std::string>& words, Settings& settings,
                                    std::vector<std::string>& operands) const {
        const auto apply = [&](std::size_t index, const std::string& value) {
            return setters_[index](settings, value);
        };
        return detail::parse(options_, words, rules_, hint_, apply, operands);
    }

private:
    base::ParsingRules rules_;
    std::string_view (*hint_)(std::string_view option) = nullptr;
    std::vector<ListedOption> options_ = {};
    std::vector<std::function<std::string(Settings&, const std::string&)>> setters_ = {};
};

/// The words with a space between.
std::string joined(const std::vector<std::string>& words);

/// A command's page: `beginning`, the options under their headings, `ending`.
std::string help_page(std::string_view beginning, const std::vector<ListedOption>& options, std::string_view ending);

}  // namespace cli::options
