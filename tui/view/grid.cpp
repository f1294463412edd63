#include "tui/view/grid.h"

#include <algorithm>
#include <array>

namespace tui::inline view {

namespace {

struct Span {
    char32_t first;
    char32_t last;
};

template <std::size_t N>
bool within(const std::array<Span, N>& spans, char32_t character) {
    const auto* const at = std::lower_bound(spans.begin(), spans.end(), character,
                                            [](const Span& span, char32_t value) { return span.last < value; });
    return at != spans.end() && at->first <= character;
}

/// Combining marks and what else takes no column, as far as host names and messages have them. Unicode 15, category Mn
/// and Cf. ncurses asks the C library, whose answer depends on the locale; pictures must not.
constexpr std::array narrowless{
    Span{0x300, 0x36F},   Span{0x483, 0x489},   Span{0x591, 0x5BD},   Span{0x610, 0x61A},
    Span{0x64B, 0x65F},   Span{0x200B, 0x200F}, Span{0x202A, 0x202E}, Span{0x2060, 0x2064},
    Span{0x20D0, 0x20F0}, Span{0xFE00, 0xFE0F}, Span{0xFE20, 0xFE2F}, Span{0xFEFF, 0xFEFF},
};

/// East Asian wide and full-width characters, and pictures. Unicode Standard Annex 11, W and F.
constexpr std::array wide{
    Span{0x1100, 0x115F}, Span{0x2E80, 0x303E},   Span{0x3041, 0x33FF},   Span{0x3400, 0x4DBF},   Span{0x4E00, 0x9FFF},
    Span{0xA000, 0xA4CF}, Span{0xAC00, 0xD7A3},   Span{0xF900, 0xFAFF},   Span{0xFE30, 0xFE6F},   Span{0xFF00, 0xFF60},
    Span{0xFFE0, 0xFFE6}, Span{0x1F300, 0x1F64F}, Span{0x1F900, 0x1F9FF}, Span{0x20000, 0x3FFFD},
};

constexpr char32_t replacement = U'\uFFFD';

bool is_control(char32_t character) { return character < 0x20 || (character >= 0x7F && character < 0xA0); }

}  // namespace

int width_of(char32_t character) {
    if (character == 0 || within(narrowless, character)) return 0;
    return within(wide, character) ? 2 : 1;
}

char32_t take_character(std::string_view& text) {
    const auto octet = [&text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const std::size_t length = base::utf8_length(text);
    char32_t character = length <= 1 ? octet(0) : octet(0) & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) character = (character << 6) | (octet(i) & 0x3F);
    text.remove_prefix(length == 0 ? 1 : length);
    return length != 0 && !is_control(character) ? character : replacement;
}

int width_of(std::string_view text) {
    int columns = 0;
    while (!text.empty()) columns += width_of(take_character(text));
    return columns;
}

void Grid::resize(int width, int height) {
    width_ = std::max(width, 0);
    height_ = std::max(height, 0);
    clear();
}

void Grid::clear() { cells_.assign(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_), Cell{}); }

void Grid::put(int x, int y, char32_t glyph, Style style) {
    if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
    const auto cell = [this, y](int column) -> Cell& {
        return cells_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                      static_cast<std::size_t>(column)];
    };
    // A wide glyph cannot be cut in half.
    if (cell(x).glyph == 0 && x > 0) cell(x - 1).glyph = U' ';
    if (x + 1 < width_ && cell(x + 1).glyph == 0) cell(x + 1).glyph = U' ';
    const int columns = width_of(glyph);
    if (columns == 0) return;
    if (columns == 2 && x + 1 >= width_) glyph = U' ';
    cell(x) = {glyph, style};
    if (columns == 2 && x + 1 < width_) {
        if (x + 2 < width_ && cell(x + 2).glyph == 0) cell(x + 2).glyph = U' ';
        cell(x + 1) = {0, style};
    }
}

int Grid::text(int x, int y, std::string_view text, Style style, int room) {
    const int needed = width_of(text);
    const bool cut = needed > room;
    const int last = cut ? room - 1 : room;
    int taken = 0;
    while (!text.empty()) {
        const char32_t character = take_character(text);
        const int columns = width_of(character);
        if (taken + columns > last) break;
        if (columns > 0) put(x + taken, y, character, style);
        taken += columns;
    }
    if (!cut || room <= 0) return taken;
    put(x + taken, y, ellipsis_, style);
    return taken + 1;
}

int Grid::right(int x, int y, std::string_view text, Style style, int room) {
    const int needed = width_of(text);
    return this->text(x + std::max(room - needed, 0), y, text, style, room);
}

void Grid::fill(int x, int y, int width, int height, char32_t glyph, Style style) {
    const int right = std::min(x + width, width_);
    const int bottom = std::min(y + height, height_);
    for (int row = std::max(y, 0); row < bottom; ++row)
        for (int column = std::max(x, 0); column < right; ++column) put(column, row, glyph, style);
}

void Grid::select(int x, int y, int width) {
    if (y < 0 || y >= height_) return;
    const int right = std::min(x + width, width_);
    for (int column = std::max(x, 0); column < right; ++column)
        cells_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(column)]
            .style.selected = true;
}

std::string Grid::plain() const {
    std::string out;
    for (int y = 0; y < height_; ++y) {
        const std::size_t begin = out.size();
        for (int x = 0; x < width_; ++x)
            if (at(x, y).glyph != 0) append_utf8(out, at(x, y).glyph);
        while (out.size() > begin && out.back() == ' ') out.pop_back();
        out += '\n';
    }
    return out;
}

/// A letter a role, in the order of Role; a selected cell has its upper case or, if absent, `#`.
std::string Grid::styles() const {
    constexpr std::string_view letters = " dtagwx!bsce0123456:;<=>?@[]{|}~^_";
    static_assert(letters.size() >= role_count);
    std::string out;
    for (int y = 0; y < height_; ++y) {
        const std::size_t begin = out.size();
        for (int x = 0; x < width_; ++x) {
            const Cell& cell = at(x, y);
            char letter = letters[static_cast<std::size_t>(cell.style.role)];
            if (cell.style.selected)
                letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : '#';
            out += letter;
        }
        while (out.size() > begin && out.back() == ' ') out.pop_back();
        out += '\n';
    }
    return out;
}

}  // namespace tui::view
