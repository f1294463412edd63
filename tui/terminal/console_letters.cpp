#include "tui/terminal/console_letters.h"

namespace tui::inline terminal {

Letters console_letters() {
    Letters letters = utf8_letters;
    letters.levels = {U' ', U'_', U'_', U'▄', U'▄', U'▄', U'▄', U'█', U'█'};
    letters.shades = {U' ', U'░', U'▒', U'▓', U'█'};
    letters.horizontal = U'─';
    letters.vertical = U'│';
    letters.corner_top_left = U'┌';
    letters.corner_top_right = U'┐';
    letters.corner_bottom_left = U'└';
    letters.corner_bottom_right = U'┘';
    letters.ellipsis = U'~';
    letters.up = U'↑';
    letters.down = U'↓';
    letters.pin = U'*';
    letters.folded = U'+';
    letters.unfolded = U'-';
    letters.playing = U'>';
    letters.paused = U'=';
    letters.bullet = U'·';
    letters.arrow = "→";
    letters.braille = false;
    return letters;
}

}  // namespace tui::terminal
