#include "dissect/filter/filter_error.h"

#include <algorithm>

namespace dissect::filter {

namespace {
constexpr std::size_t columns_before = 60;
constexpr std::size_t columns_after = 40;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::string printable(std::string_view part) {
    std::string shown{part};
    for (char& c : shown)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '.';
    return shown;
}

std::size_t width(std::string_view part) {
    return static_cast<std::size_t>(
        std::count_if(part.begin(), part.end(), [](char c) { return !continues_character(c); }));
}
}  // namespace

std::string FilterError::line() const {
    std::string out = "column " + std::to_string(column + 1) + ": " + message;
    for (std::size_t i = 0; i < suggestions.size(); ++i) out += (i == 0 ? "; near it: " : ", ") + suggestions[i];
    return out;
}

std::string FilterError::text() const {
    const std::size_t at = std::min<std::size_t>(column, expression.size());
    const std::size_t marked = std::min<std::size_t>(std::max<std::uint32_t>(length, 1), expression.size() - at);
    std::size_t first = at > columns_before ? at - columns_before : 0;
    std::size_t last = std::min(expression.size(), at + std::min(marked, columns_before) + columns_after);
    while (first > 0 && continues_character(expression[first])) --first;
    while (last < expression.size() && continues_character(expression[last])) ++last;

    const std::string_view all = expression;
    std::string out = message;
    out += "\n    ";
    std::size_t margin = 4;
    if (first > 0) {
        out += "...";
        margin += 3;
    }
    out += printable(all.substr(first, last - first));
    if (last < all.size()) out += "...";
    out += '\n';
    out.append(margin + width(all.substr(first, at - first)), ' ');
    out += '^';
    const std::size_t tildes = width(all.substr(at, std::min(marked, last - std::min(at, last))));
    if (tildes > 1) out.append(tildes - 1, '~');
    if (!suggestions.empty()) {
        out += "\nDid you mean ";
        for (std::size_t i = 0; i < suggestions.size(); ++i) {
            if (i > 0) out += i + 1 == suggestions.size() ? " or " : ", ";
            out += suggestions[i];
        }
        out += '?';
    }
    return out;
}

}  // namespace dissect::filter
