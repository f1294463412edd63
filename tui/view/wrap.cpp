#include "tui/view/wrap.h"

#include <algorithm>

#include "tui/view/grid.h"

namespace tui::inline view {

namespace {

constexpr std::size_t longest_unit = 7;  ///< "packets"

/// "0.63 %" and "655 ms" are one word.
std::size_t end_of_word(std::string_view text, std::size_t at) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const char last = end > at ? text[end - 1] : ' ';
    if (last < '0' || last > '9' || end >= text.size()) return end;
    const std::size_t next = std::min(text.find(' ', end + 1), text.size());
    return next - end - 1 <= longest_unit ? next : end;
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, int width) {
    std::vector<std::string> lines;
    int column = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = end_of_word(text, at);
        const std::string_view word = text.substr(at, end - at);
        at = end + 1;
        if (word.empty()) continue;
        const int columns = width_of(word);
        if (lines.empty() || column + 1 + columns > width) {
            lines.emplace_back(word);
            column = columns;
            continue;
        }
        (lines.back() += ' ').append(word);
        column += 1 + columns;
    }
    return lines;
}

}  // namespace tui::view
