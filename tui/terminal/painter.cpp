#include "tui/terminal/painter.h"

#include <algorithm>

namespace tui::inline terminal {

namespace {

constexpr int few = 8;
constexpr int many = 256;

std::size_t index_of(const Style& style) {
    return static_cast<std::size_t>(style.role) * 8 + (style.selected ? 4U : 0U) + (style.bold ? 2U : 0U) +
           (style.underlined ? 1U : 0U);
}

}  // namespace

Painter::Painter(bool colors) {
    if (!colors || !::has_colors() || ::start_color() == ERR || COLORS < few) return;
    depth_ = COLORS;
    own_ground_ = ::use_default_colors() == OK;
}

void Painter::use(const Theme& theme) {
    const Theme* chosen = has_colors() ? &theme : find_theme("plain");
    if (chosen == nullptr) chosen = &theme;
    if (chosen == theme_) return;
    theme_ = chosen;
    looks_.fill(std::nullopt);
}

Look Painter::look(const Style& style) {
    std::optional<Look>& look = looks_[index_of(style)];
    if (!look) look = made(style);
    return *look;
}

Look Painter::made(const Style& style) const {
    const Paint paint = paint_of(style);
    Look look = colored(paint);
    if (paint.bold || style.bold) look.attributes |= A_BOLD;
    if (style.underlined) look.attributes |= A_UNDERLINE;
    if (paint.reverse) look.attributes |= A_REVERSE;
    return look;
}

Paint Painter::paint_of(const Style& style) const {
    Paint paint = theme_->paints[static_cast<std::size_t>(style.role)];
    const bool has_ground = (depth_ >= many ? paint.back : paint.back_16) >= 0;
    if (!style.selected || has_ground) return paint;  // bars and badges keep their colours in the row one is on
    const bool reverse = paint.reverse != (theme_->selected.reverse || !has_colors());
    const bool bold = paint.bold || theme_->selected.bold;
    if (has_colors()) paint = theme_->selected;
    paint.bold = bold;
    paint.reverse = reverse;
    return paint;
}

Look Painter::colored(const Paint& paint) const {
    Look look;
    if (!has_colors()) return look;
    int fore = depth_ >= many ? paint.fore : paint.fore_16;
    int back = depth_ >= many ? paint.back : paint.back_16;
    if (depth_ < 16) {
        // The bright half of sixteen colours: bold in front, and at the back the dark half of it. Bright black would be
        // invisible where bold is not bright.
        if (fore == few) look.attributes |= A_DIM;
        if (fore == few) fore = -1;
        if (fore >= few) look.attributes |= A_BOLD;
        if (fore >= few) fore -= few;
        if (back >= few) back -= few;
    }
    if (!own_ground_) {
        if (fore < 0) fore = COLOR_WHITE;
        if (back < 0) back = COLOR_BLACK;
    }
    if (fore < 0 && back < 0) return look;
    look.pair = std::max(0, ::alloc_pair(fore, back));
    return look;
}

}  // namespace tui::terminal
