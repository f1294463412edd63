#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/option_scan.h"
#include "text/quantities.h"

/// Options as tables of rows: what a command has in common with others, and its own. Commands have their own groups of
/// options (`Group`), with headings for `help`.
namespace cli {

/// An option, and what it does to settings. `apply` returns what is wanted in place of the value ("a number from 1 to
/// 9"); empty where the value is understood.
template <class Settings, class Group>
struct OptionRow {
    OptionText text;
    Group group;
    std::string (*apply)(Settings& settings, const std::string& value);
};

template <class Group>
using GroupedOptions = std::vector<std::pair<Group, OptionText>>;
template <class Group>
using Headings = std::span<const std::pair<Group, std::string_view>>;

/// For rows whose value is a number.
template <class Number>
std::string take_number(const std::string& value, std::uint64_t least, std::uint64_t most, Number& into) {
    std::uint64_t number = 0;
    std::string wanted = text::take_number(value, least, most, number);
    if (wanted.empty()) into = static_cast<Number>(number);
    return wanted;
}

/// Both tables, in this order.
template <class One, class Other, class Group>
GroupedOptions<Group> joined(std::span<const OptionRow<One, Group>> rows,
                             std::span<const OptionRow<Other, Group>> more) {
    GroupedOptions<Group> all;
    for (const auto& row : rows) all.emplace_back(row.group, row.text);
    for (const auto& row : more) all.emplace_back(row.group, row.text);
    return all;
}

/// Reads the command line into `out`, which has the settings of both tables, and the words that are no options into
/// `words`. Returns the reason where it cannot be obeyed, else an empty string.
template <class One, class Other, class Group, class Settings>
std::string parse_options(const std::vector<std::string>& arguments, std::span<const OptionRow<One, Group>> rows,
                          std::span<const OptionRow<Other, Group>> more, Settings& out, std::string& words) {
    std::vector<OptionText> texts;
    for (const auto& [group, text] : joined(rows, more)) texts.push_back(text);
    OptionScanner scanner(texts, arguments);
    for (;;) {
        const OptionScanner::Found found = scanner.next();
        if (!found.error.empty()) return found.error;
        if (found.index < 0) break;
        const auto index = static_cast<std::size_t>(found.index);
        const std::string wanted = index < rows.size() ? rows[index].apply(out, found.value)
                                                       : more[index - rows.size()].apply(out, found.value);
        if (!wanted.empty())
            return spelling(texts[index]) + " " + (found.value.empty() ? "''" : found.value) + ": " + wanted +
                   " is wanted";
    }
    words = scanner.rest();
    return {};
}

/// A command's page: usage lines, its options under their headings, `ending`.
template <class Group>
std::string help_page(std::string_view beginning, const GroupedOptions<Group>& options, Headings<Group> headings,
                      std::string_view ending) {
    std::string out(beginning);
    for (const auto& [group, heading] : headings) {
        std::string under;
        for (const auto& [of, text] : options)
            if (of == group) append_help(under, text);
        if (!under.empty()) out.append("\n").append(heading).append(":\n").append(under);
    }
    return out.append(ending);
}

}  // namespace cli
