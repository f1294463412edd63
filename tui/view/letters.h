#pragma once
#include <array>
#include <string>
#include <string_view>

#include "metrics/figures/state.h"

namespace tui::inline view {

/// The glyphs of pictures: those of UTF-8 terminals, or ASCII only.
struct Letters {
    bool utf8 = true;
    std::array<char32_t, 9> levels;  ///< an eighth each, from nothing to full, growing upwards: sparklines
    std::array<char32_t, 5> shades;  ///< from nothing to full: heat maps
    char32_t horizontal;
    char32_t vertical;
    char32_t corner_top_left;
    char32_t corner_top_right;
    char32_t corner_bottom_left;
    char32_t corner_bottom_right;
    char32_t ellipsis;
    char32_t up;  ///< sorted upwards
    char32_t down;
    char32_t pin;
    char32_t folded;
    char32_t unfolded;
    char32_t playing;
    char32_t paused;
    char32_t bullet;
    std::string_view arrow;       ///< "→" or ">"
    std::string_view arrow_back;  ///< "←" or "<"
    bool braille = true;          ///< the font has patterns of 2 by 4 dots, U+2800 and on
};
extern const Letters utf8_letters;
extern const Letters ascii_letters;

/// A letter for each state, so that bars read without colours: T transmit_new, R transmit_again (resent), ... Lower
/// case for states that are no problem (application, idle).
char state_letter(metrics::State state);
/// "read window", "idle": the state's name in words. The case of its letter says whether it is a problem.
std::string state_words(metrics::State state);

}  // namespace tui::view
