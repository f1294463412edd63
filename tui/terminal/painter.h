#pragma once
#include <array>
#include <optional>

#include "tui/terminal/ncurses.h"
#include "tui/view/grid.h"
#include "tui/view/theme.h"

namespace tui::inline terminal {

/// How a cell is sent.
struct Look {
    attr_t attributes = 0;
    int pair = 0;
};

/// Styles as this terminal can show them: in 256, 16 or 8 colours, or in none. Pairs of colours are made when a style
/// is first shown.
class Painter {
public:
    /// Construct this after ncurses has started.
    explicit Painter(bool colors);

    bool has_colors() const { return depth_ != 0; }
    void use(const Theme& theme);
    Look look(const Style& style);

private:
    Look made(const Style& style) const;
    Paint paint_of(const Style& style) const;
    Look colored(const Paint& paint) const;

    int depth_ = 0;           ///< colours; 0: none are used
    bool own_ground_ = true;  ///< the terminal's own colours can be asked for
    const Theme* theme_ = nullptr;
    std::array<std::optional<Look>, role_count* 8> looks_ = {};  ///< by role, selected, bold, underlined
};

}  // namespace tui::terminal
