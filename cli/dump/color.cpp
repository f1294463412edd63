#include "cli/dump/color.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/ascii.h"

namespace cli::dump {

namespace {

constexpr std::string_view red = "\x1b[31m";
constexpr std::string_view yellow = "\x1b[33m";
constexpr std::string_view dim = "\x1b[2m";
constexpr std::string_view reset = "\x1b[0m";

struct Word {
    std::string_view text;
    std::string_view color;
    bool to_bracket = false;  ///< the word continues to the next `]`
};

/// The first row that matches at a place counts, so longer words stand before words with which they begin.
constexpr std::array color_words{
    Word{"[malformed", red, true},
    Word{"[truncated", dim, true},
    Word{"[unsupported", yellow, true},
    Word{"[odd", yellow, true},
    Word{"RNR NAK", yellow},
    Word{"NAK", red},
    Word{"Terminate", red},
    Word{"Reject", red},
    Word{"ICRC bad", red},
    Word{"VCRC bad", red},
    Word{"CRC bad", red},
    Word{"retransmission of frame", yellow},
    Word{"missing from the capture", yellow},
    Word{"CNP", yellow},
    Word{"FECN", yellow},
    Word{"BECN", yellow},
    Word{"CE", yellow},
};

constexpr bool is_letter(char c) { return base::is_alphanumeric(c) || c == '_'; }

const Word* word_at(std::string_view line, std::size_t at) {
    if (at > 0 && is_letter(line[at - 1])) return nullptr;
    for (const Word& word : color_words) {
        if (!line.substr(at).starts_with(word.text)) continue;
        const std::size_t end = at + word.text.size();
        if (end == line.size() || !is_letter(line[end])) return &word;
    }
    return nullptr;
}

void append_line(std::string& out, std::string_view line) {
    std::size_t plain = 0;
    for (std::size_t at = 0; at < line.size();) {
        const Word* word = word_at(line, at);
        if (word == nullptr) {
            ++at;
            continue;
        }
        const std::size_t bracket = word->to_bracket ? line.find(']', at) : std::string_view::npos;
        const std::size_t end = bracket != std::string_view::npos ? bracket + 1 : at + word->text.size();
        out.append(line, plain, at - plain);
        out.append(word->color).append(line, at, end - at).append(reset);
        plain = at = end;
    }
    out.append(line, plain);
}

}  // namespace

void color_lines(std::string& text, std::size_t begin) {
    const std::string plain = text.substr(begin);
    text.resize(begin);
    for (std::size_t at = 0; at < plain.size();) {
        const std::size_t end = std::min(plain.find('\n', at), plain.size());
        append_line(text, std::string_view(plain).substr(at, end - at));
        if (end < plain.size()) text += '\n';
        at = end + 1;
    }
}

}  // namespace cli::dump
