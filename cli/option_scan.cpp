#include "cli/option_scan.h"

#include <algorithm>
#include <fmt/core.h>

#include "text/similar.h"

namespace cli {

namespace {

constexpr int first_long = 256;  ///< getopt_long's answer for the first option; letters lie below
constexpr std::size_t help_column = 30;
constexpr std::size_t help_width = 68;  ///< the text beside it, so that a line has at most 98 columns

bool may_lack_value(const OptionText& option) { return option.letter == 0 && option.argument.starts_with('['); }

/// Its value may be a word of its own where that is a path; of the others such a word is a program, or a mistake.
bool may_name_path(const OptionText& option) { return may_lack_value(option) && option.argument == "[SOCKET]"; }

std::string left_side(const OptionText& option) {
    std::string text = option.letter != 0 ? fmt::format("  -{}", option.letter) : "    ";
    if (!option.long_name.empty()) text += fmt::format("{}--{}", option.letter != 0 ? ", " : "  ", option.long_name);
    if (may_lack_value(option))
        text += fmt::format("[={}", option.argument.substr(1));
    else if (!option.argument.empty())
        text += fmt::format(" {}", option.argument);
    return text;
}

void append_wrapped(std::string& out, std::string_view text) {
    while (text.size() > help_width) {
        const std::size_t cut = text.rfind(' ', help_width);
        if (cut == std::string_view::npos || cut == 0) break;
        out += fmt::format("{}\n{:{}}", text.substr(0, cut), "", help_column);
        text.remove_prefix(cut + 1);
    }
    out += fmt::format("{}\n", text);
}

int kind_of(const OptionText& option) {
    if (option.argument.empty()) return no_argument;
    return may_lack_value(option) ? optional_argument : required_argument;
}

}  // namespace

std::string spelling(const OptionText& option) {
    return option.letter != 0 ? fmt::format("-{}", option.letter) : fmt::format("--{}", option.long_name);
}

void append_help(std::string& out, const OptionText& option) {
    const std::string left = left_side(option);
    out += left.size() + 2 > help_column ? fmt::format("{}\n{:{}}", left, "", help_column)
                                         : fmt::format("{:<{}}", left, help_column);
    append_wrapped(out, option.help);
}

OptionScanner::OptionScanner(std::vector<OptionText> options, const std::vector<std::string>& arguments,
                             std::string_view (*elsewhere)(char letter), Order order)
    : options_(std::move(options)),
      words_{"rdmascope"},
      elsewhere_(elsewhere),
      letters_(order == Order::first ? "+:" : ":") {  // ':': a missing value is told from an unknown letter
    words_.insert(words_.end(), arguments.begin(), arguments.end());
    for (std::string& word : words_) argv_.push_back(word.data());
    argv_.push_back(nullptr);
    int index = first_long;
    for (const OptionText& option : options_) {
        const int kind = kind_of(option);
        if (option.letter != 0) letters_ += option.letter;
        if (option.letter != 0 && kind == required_argument) letters_ += ':';
        if (!option.long_name.empty()) longs_.push_back({option.long_name.data(), kind, nullptr, index});
        ++index;
    }
    longs_.push_back({nullptr, 0, nullptr, 0});
    optind = 0;  // glibc: begin anew
    opterr = 0;
}

OptionScanner::Found OptionScanner::next() {
    const int before = std::max(optind, 1);
    const int answer = getopt_long(count(), argv_.data(), letters_.c_str(), longs_.data(), nullptr);
    if (answer == -1) return {};
    if (answer == ':') return {-1, {}, fmt::format("{} needs a value{}", given(before), wanted())};
    if (answer == '?') return {-1, {}, unknown(before)};
    const int index = index_of(answer);
    if (optarg != nullptr) return {index, optarg, {}};
    // getopt takes such a value behind `=` alone; a word that is a path can be nothing else either.
    if (index >= 0 && may_name_path(options_[static_cast<std::size_t>(index)]) && optind < count()) {
        const std::string_view word = argv_[static_cast<std::size_t>(optind)];
        if (word.starts_with('/') || word.starts_with('.'))
            return {index, argv_[static_cast<std::size_t>(optind++)], {}};
    }
    return {index, {}, {}};
}

std::string OptionScanner::rest() const {
    std::string text;
    for (int i = optind; i < count(); ++i) {
        if (!text.empty()) text += ' ';
        text += argv_[static_cast<std::size_t>(i)];
    }
    return text;
}

std::vector<std::string> OptionScanner::words() const {
    return {argv_.begin() + std::min(optind, count()), argv_.begin() + count()};
}

int OptionScanner::index_of(int answer) const {
    if (answer >= first_long) return answer - first_long;
    const auto at = std::find_if(options_.begin(), options_.end(),
                                 [answer](const OptionText& option) { return option.letter == answer; });
    return at == options_.end() ? -1 : static_cast<int>(at - options_.begin());
}

/// The option as it was typed.
std::string OptionScanner::given(int before) const {
    if (optopt != 0 && optopt < first_long) return fmt::format("-{}", static_cast<char>(optopt));
    const int at = std::clamp(optind - 1, before, count() - 1);
    const std::string word = argv_[static_cast<std::size_t>(at)];
    return word.substr(0, word.find('='));
}

std::string OptionScanner::wanted() const {
    const int index = optopt != 0 ? index_of(optopt) : -1;
    return index < 0 ? std::string{} : fmt::format(": {}", options_[static_cast<std::size_t>(index)].argument);
}

std::string OptionScanner::unknown(int before) const {
    if (optopt >= first_long) return fmt::format("{} takes no value", given(before));
    if (optopt != 0)
        return fmt::format("there is no option {}{}", given(before),
                           elsewhere_ != nullptr ? elsewhere_(static_cast<char>(optopt)) : "");
    std::vector<std::string_view> known;
    for (const OptionText& option : options_)
        if (!option.long_name.empty()) known.push_back(option.long_name);
    const std::string word = given(before);
    const std::string_view meant = text::nearest(std::string_view(word).substr(2), known);
    return fmt::format("there is no option {}{}", word,
                       meant.empty() ? "" : fmt::format(", did you mean '--{}'?", meant));
}

}  // namespace cli
