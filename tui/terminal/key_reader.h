#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "tui/terminal/ncurses.h"
#include "tui/terminal/terminal.h"

namespace tui::inline terminal {

/// Input from the keyboard and the mouse, by ncurses.
class KeyReader {
public:
    /// Construct this after ncurses has started.
    explicit KeyReader(bool mouse);
    ~KeyReader();
    KeyReader(const KeyReader&) = delete;
    KeyReader& operator=(const KeyReader&) = delete;

    /// Reads all input, but no more at once than a screen should handle before it is drawn again.
    void read(std::vector<Input>& inputs);
    /// ncurses may still hold input that the descriptor does not show.
    bool more() const { return more_; }

private:
    struct Code {
        bool function = false;  ///< one of ncurses' KEY_...
        wint_t value = 0;
    };
    std::optional<Code> next();
    void take(const Code& code, std::vector<Input>& inputs);
    void take_escape(std::vector<Input>& inputs);
    void take_mouse(std::vector<Input>& inputs);
    Mouse::Action press(int x, int y);

    WINDOW* window_;  ///< keys are read from a pad, so that reading draws nothing
    bool more_ = false;
    Mouse last_press_ = {};
    std::chrono::steady_clock::time_point last_press_at_ = {};
};

}  // namespace tui::terminal
