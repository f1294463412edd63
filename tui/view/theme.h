#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "tui/model/settings.h"
#include "tui/view/grid.h"

namespace tui::inline view {

/// A colour: the terminal's own (-1), one of its 16, or one of the 256 of xterm.
struct Paint {
    std::int16_t fore = -1;
    std::int16_t back = -1;
    std::int16_t fore_16 = -1;  ///< if the terminal has only 8 or 16
    std::int16_t back_16 = -1;
    bool bold = false;
    bool reverse = false;
};

/// Colours by role. Every theme must also be readable without colours: important things have letters, brackets or words
/// of their own.
struct Theme {
    std::string_view name;
    std::array<Paint, role_count> paints;
    Paint selected;
};

/// "safe" (the default: no red against green; after Okabe and Ito), "classic", "light" (for light backgrounds),
/// "plain" (bold and reverse alone; what NO_COLOR and terminals without colours get).
std::span<const Theme> themes();
const Theme* find_theme(std::string_view name);

}  // namespace tui::view
