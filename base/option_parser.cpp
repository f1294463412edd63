#include "base/option_parser.h"

#include <algorithm>
#include <fmt/core.h>

#include "base/similar.h"

namespace base {

std::string spelling(const OptionSyntax& option) {
    return option.letter != 0 ? fmt::format("-{}", option.letter) : fmt::format("--{}", option.long_name);
}

OptionParser::Step OptionParser::next() {
    if (!cluster_.empty()) return next_letter();
    while (next_word_ < words_.size()) {
        const std::string word = words_[next_word_++];
        if (options_ended_ || word == "-" || !word.starts_with('-')) {
            operands_.push_back(word);
            options_ended_ = options_ended_ || rules_.operands_end_options;
        } else if (word == "--") {
            options_ended_ = true;
        } else if (word.starts_with("--")) {
            return long_option(word);
        } else {
            cluster_ = word.substr(1);
            return next_letter();
        }
    }
    return {};
}

OptionParser::Step OptionParser::next_letter() {
    const char letter = cluster_.front();
    cluster_.erase(0, 1);
    const std::string given = fmt::format("-{}", letter);
    const std::optional<std::size_t> index = find_letter(letter);
    if (!index) return {{}, OptionError{fmt::format("there is no option {}", given), given}};
    if (options_[*index].value == OptionValue::none) return {Found{*index}, {}};
    if (cluster_.empty()) return with_value(*index, given);
    Found found{*index, std::move(cluster_)};
    cluster_.clear();
    return {std::move(found), {}};
}

OptionParser::Step OptionParser::long_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string given = word.substr(0, equals);
    const std::vector<std::size_t> candidates = find_long_names(std::string_view(given).substr(2));
    if (candidates.size() != 1) return {{}, unknown(given, candidates)};
    const std::size_t index = candidates.front();
    if (equals == std::string::npos) return with_value(index, given);
    if (options_[index].value == OptionValue::none) return {{}, OptionError{fmt::format("{} takes no value", given)}};
    return {Found{index, word.substr(equals + 1)}, {}};
}

/// The value, if there is one, is the next word.
OptionParser::Step OptionParser::with_value(std::size_t index, const std::string& given) {
    const OptionSyntax& option = options_[index];
    const bool is_last = next_word_ == words_.size();
    if (option.value == OptionValue::required) {
        if (!is_last) return {Found{index, words_[next_word_++]}, {}};
        const std::string_view separator = option.value_name.empty() ? "" : ": ";
        return {{}, OptionError{fmt::format("{} needs a value{}{}", given, separator, option.value_name)}};
    }
    const bool is_path = option.value == OptionValue::optional_path && !is_last &&
                         (words_[next_word_].starts_with('/') || words_[next_word_].starts_with('.'));
    if (is_path) return {Found{index, words_[next_word_++]}, {}};
    return {Found{index}, {}};
}

std::optional<std::size_t> OptionParser::find_letter(char letter) const {
    const auto at = std::ranges::find(options_, letter, &OptionSyntax::letter);
    if (letter == 0 || at == options_.end()) return {};
    return static_cast<std::size_t>(at - options_.begin());
}

/// The option of that name, else all options whose names begin with it.
std::vector<std::size_t> OptionParser::find_long_names(std::string_view name) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < options_.size(); ++i) {
        const std::string_view candidate = options_[i].long_name;
        if (!candidate.empty() && candidate == name) return {i};
        if (!candidate.empty() && rules_.abbreviations && candidate.starts_with(name)) found.push_back(i);
    }
    return found;
}

OptionError OptionParser::unknown(const std::string& given, const std::vector<std::size_t>& candidates) const {
    if (!candidates.empty() && given != "--") {
        std::string names;
        for (const std::size_t index : candidates)
            names += fmt::format("{}--{}",
                                 names.empty()                ? ""
                                 : index == candidates.back() ? " or "
                                                              : ", ",
                                 options_[index].long_name);
        return {fmt::format("{} may be {}", given, names)};
    }
    std::vector<std::string_view> known;
    for (const OptionSyntax& option : options_)
        if (!option.long_name.empty()) known.push_back(option.long_name);
    const std::string_view meant = nearest(std::string_view(given).substr(2), known);
    const std::string hint = meant.empty() ? std::string{} : fmt::format(", did you mean '--{}'?", meant);
    return {fmt::format("there is no option {}{}", given, hint), given};
}

}  // namespace base
