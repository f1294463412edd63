#include "cli/dump/color.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cli::dump {

namespace {

constexpr std::string_view RED = "\x1b[31m";
constexpr std::string_view YELLOW = "\x1b[33m";
constexpr std::string_view DIM = "\x1b[2m";
constexpr std::string_view RESET = "\x1b[0m";

struct Word {
    std::string_view text;
    std::string_view color;
    bool to_bracket = false;  ///< all up to the next `]` belongs to it
};

/// The first that fits at a place counts: longer ones stand before those they begin with.
constexpr std::array WORDS{
    Word{"[malformed", RED, true},
    Word{"[truncated", DIM, true},
    Word{"[unsupported", YELLOW, true},
    Word{"[odd", YELLOW, true},
    Word{"RNR NAK", YELLOW},
    Word{"NAK", RED},
    Word{"Terminate", RED},
    Word{"Reject", RED},
    Word{"ICRC bad", RED},
    Word{"VCRC bad", RED},
    Word{"CRC bad", RED},
    Word{"retransmission of frame", YELLOW},
    Word{"missing from the capture", YELLOW},
    Word{"CNP", YELLOW},
    Word{"FECN", YELLOW},
    Word{"BECN", YELLOW},
    Word{"CE", YELLOW},
};

constexpr bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

const Word* word_at(std::string_view line, std::size_t at) {
    if (at > 0 && is_letter(line[at - 1])) return nullptr;
    for (const Word& word : WORDS) {
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
        out.append(word->color).append(line, at, end - at).append(RESET);
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
