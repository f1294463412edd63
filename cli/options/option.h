#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/option_parser.h"

/// The options of all commands, as tables of rows. A command has one table: rows that it shares with other commands
/// (shared.h), and its own. Parsing, help, and the tests of manuals and completions read the same table.
namespace cli::options {

/// The value of an option in help texts: `FILE`. Empty for a flag.
struct Argument {
    std::string_view name = {};
    base::OptionValue kind = base::OptionValue::none;

    constexpr Argument() = default;
    constexpr Argument(const char* required) : name(required), kind(base::OptionValue::required) {}
    constexpr Argument(std::string_view name_in, base::OptionValue kind_in) : name(name_in), kind(kind_in) {}
};

/// `--kernel-events[=LIST]`.
constexpr Argument optional(std::string_view name) { return {name, base::OptionValue::optional}; }
/// `--connect[=SOCKET]`, and `--connect /run/socket`.
constexpr Argument optional_path(std::string_view name) { return {name, base::OptionValue::optional_path}; }

/// One option with its spelling and its explanation.
struct OptionText {
    char letter = 0;                  ///< 0: only a long name
    std::string_view long_name = {};  ///< empty: only a letter
    Argument argument = {};
    std::string_view help = {};
};

/// The spelling in messages: `-c`, or `--count` if there is no letter.
std::string spelling(const OptionText& option);

/// Headings of help texts, in the order in which a page has them.
enum class Section : std::uint8_t {
    options,
    configuration,
    capturing,
    publishing,
    keeping,
    subject,
    files,
    source,
    selection,
    measuring,
    place,
    reenactment,
    impairment,
    work,
    connection,
    bounds,
    printing,
    saving,
    other,
};
std::string_view heading(Section section);

/// Sets the option's value. Returns what is expected instead of the value ("a number from 1 to 9"); empty if the value
/// is valid.
template <class Settings>
using Setter = std::string (*)(Settings& settings, const std::string& value);

template <class Settings>
struct Option {
    OptionText text = {};
    Section section = Section::options;
    Setter<Settings> set = nullptr;
};

/// The same row under another heading.
template <class Settings>
constexpr Option<Settings> under(Section section, Option<Settings> option) {
    option.section = section;
    return option;
}

}  // namespace cli::options
