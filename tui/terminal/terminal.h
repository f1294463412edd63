#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "tui/model/keys.h"
#include "tui/view/grid.h"
#include "tui/view/letters.h"
#include "tui/view/theme.h"

namespace tui::inline terminal {

struct TerminalOptions {
    enum class Glyphs : std::uint8_t { automatic, ascii, utf8 } glyphs = Glyphs::automatic;
    bool colors = true;  ///< if the terminal has them; the caller checks NO_COLOR
    bool mouse = true;
};

/// A user's action, or a change of the terminal.
struct Input {
    enum class Kind : std::uint8_t {
        key,
        mouse,
        resized,  ///< width() and height() are new
        gone,     ///< the terminal is gone: leave without writing to it
    } kind = Kind::key;
    Key key = {};
    Mouse mouse = {};
};

/// The screen, by ncurses; no other part uses ncurses. One object at a time; the destructor restores the terminal.
class Terminal {
public:
    /// The error says what is missing: standard input or output is not a terminal, or TERM is unknown here.
    static base::Result<std::unique_ptr<Terminal>> open(const TerminalOptions& options);
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    int width() const;
    int height() const;
    const Letters& letters() const;
    bool has_colors() const;

    /// Only cells that changed since the last picture are sent. Without colours, roles become bold and reverse.
    void show(const Grid& grid, const Theme& theme);
    /// The next picture is sent as a whole, because something else wrote on the screen.
    void redraw();
    /// Waits until there is input, `wake` (a descriptor; -1: none) is readable, or the time has passed. Returns all
    /// input so far, in order; an unknown escape sequence becomes Escape after 25 ms.
    std::vector<Input> wait(std::uint64_t timeout_ns, int wake);
    /// Ctrl-Z: restores the terminal, stops the process, and takes the terminal again when the process continues.
    void suspend();

private:
    struct State;
    explicit Terminal(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace tui::terminal
