#include "tests/script/runner/command_words.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "tests/script/runner/octets.h"

namespace script {

Words::Words(std::string_view line) {
    std::string word;
    bool quoted = false;
    for (const char c : line) {
        if (!quoted && word.empty() && c == '#') break;
        if (c == '\'') quoted = !quoted;
        if (quoted || (c != ' ' && c != '\t')) {
            word += c;
        } else if (!word.empty()) {
            words_.push_back(std::exchange(word, {}));
        }
    }
    if (quoted) throw Failure("a quotation mark is missing");
    if (!word.empty()) words_.push_back(word);
}

std::string Words::next(const std::string& what) {
    const auto plain = [](const std::string& word) { return word[word.find_first_of("'=") % word.size()] != '='; };
    const auto found = std::find_if(words_.begin(), words_.end(), plain);
    if (found == words_.end()) throw Failure("the line wants " + what);
    std::string word = std::move(*found);
    words_.erase(found);
    return word;
}

bool Words::flag(std::string_view word) {
    const auto found = std::find(words_.begin(), words_.end(), word);
    if (found == words_.end()) return false;
    words_.erase(found);
    return true;
}

std::optional<std::string> Words::option(std::string_view key) {
    for (auto word = words_.begin(); word != words_.end(); ++word) {
        if (word->size() <= key.size() || (*word)[key.size()] != '=' || word->compare(0, key.size(), key) != 0)
            continue;
        std::string value = word->substr(key.size() + 1);
        words_.erase(word);
        return value;
    }
    return std::nullopt;
}

std::optional<bool> Words::choice(std::string_view key) {
    if (flag(key)) return true;
    const auto value = option(key);
    if (!value) return std::nullopt;
    if (*value != "on" && *value != "off") throw Failure(std::string(key) + " is on or off, not '" + *value + "'");
    return *value == "on";
}

Words Words::with_prefix(std::string_view prefix) {
    Words found("");
    for (auto word = words_.begin(); word != words_.end();) {
        if (word->compare(0, prefix.size(), prefix) != 0) {
            ++word;
            continue;
        }
        found.words_.push_back(word->substr(prefix.size()));
        word = words_.erase(word);
    }
    return found;
}

void Words::finish() const {
    if (!words_.empty()) throw Failure("nothing is known of '" + words_.front() + "' here");
}

std::string Words::text() const {
    std::string text;
    for (const auto& word : words_) text += (text.empty() ? "" : " ") + word;
    return text;
}

std::uint64_t plain_number(std::string_view text) {
    const bool is_hex = text.starts_with("0x");
    const std::string_view digits = is_hex ? text.substr(2) : text;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hex ? 16 : 10);
    if (error != std::errc() || end != digits.data() + digits.size())
        throw Failure("'" + std::string(text) + "' is not a number");
    return value;
}

std::int64_t duration_ns(std::string_view text) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string_view unit = text.substr(digits);
    const std::int64_t factor = unit == "s"    ? 1'000'000'000
                                : unit == "ms" ? 1'000'000
                                : unit == "us" ? 1'000
                                : unit == "ns" ? 1
                                               : 0;
    if (factor == 0 || digits == 0) throw Failure("'" + std::string(text) + "' is not a time such as 5s or 250ms");
    return static_cast<std::int64_t>(plain_number(text.substr(0, digits))) * factor;
}

}  // namespace script
