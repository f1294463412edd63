#pragma once
#include <string>

#include "tui/view/grid.h"
#include "tui/view/theme.h"

/// Screens of `top` as pictures for the documents.
namespace pictures {

/// What a theme leaves to the terminal.
struct Ground {
    std::string fore;  ///< "#rrggbb"
    std::string back;
};

/// The grid as one SVG document. Blocks, shades, lines and Braille dots are shapes, so that they join in every font.
std::string to_svg(const tui::Grid& grid, const tui::Theme& theme, const Ground& ground, const std::string& title);

}  // namespace pictures
