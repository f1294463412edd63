#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/option_scan.h"
#include "iwarp/iwarp.h"

namespace cli::endpoint {

enum class Group : std::uint8_t { work, connection, bounds, printing, other };

/// An option, and what it does to settings. `apply` returns what is wanted in place of the value ("a number from 1 to
/// 9"); empty where the value is understood.
template <class Settings>
struct Row {
    OptionText text;
    Group group;
    std::string (*apply)(Settings& settings, const std::string& value);
};

/// What every part of `endpoint` lets its user say.
struct CommonOptions {
    iwarp::ConnectionOptions connection = {};
    bool json = false;
    bool help = false;
    bool version = false;
};
std::span<const Row<CommonOptions>> common_options();

std::string help_page(std::string_view beginning, std::span<const std::pair<Group, OptionText>> options,
                      std::string_view ending);

template <class Own>
std::vector<std::pair<Group, OptionText>> all_options(std::span<const Row<Own>> own) {
    std::vector<std::pair<Group, OptionText>> all;
    for (const auto& row : own) all.emplace_back(row.group, row.text);
    for (const auto& row : common_options()) all.emplace_back(row.group, row.text);
    return all;
}

/// Reads the command line into `out`, the words that are no options into `words`; returns the reason where it cannot be
/// obeyed, else an empty string.
template <class Own>
std::string parse(const std::vector<std::string>& arguments, std::span<const Row<Own>> own, Own& out,
                  std::string& words) {
    std::vector<OptionText> texts;
    for (const auto& [group, text] : all_options(own)) texts.push_back(text);
    OptionScanner scanner(texts, arguments);
    const auto common = common_options();
    for (;;) {
        const OptionScanner::Found found = scanner.next();
        if (!found.error.empty()) return found.error;
        if (found.index < 0) break;
        const auto index = static_cast<std::size_t>(found.index);
        const std::string wanted = index < own.size() ? own[index].apply(out, found.value)
                                                      : common[index - own.size()].apply(out, found.value);
        if (!wanted.empty())
            return spelling(texts[index]) + " " + (found.value.empty() ? "''" : found.value) + ": " + wanted +
                   " is wanted";
    }
    words = scanner.rest();
    return {};
}

}  // namespace cli::endpoint
