// In the place of the terminal where the program is built without ncurses.
#include "tui/terminal/terminal.h"
#ifndef RDMASCOPE_HAVE_NCURSES

namespace tui::inline terminal {

struct Terminal::State {};

base::Result<std::unique_ptr<Terminal>> Terminal::open(const TerminalOptions&) {
    return base::Failure{base::Error{"this rdmascope was built without ncurses and has no screen"}};
}

// The functions below are never called, because no Terminal can be made.
Terminal::Terminal(std::unique_ptr<State> state) : state_(std::move(state)) {}
Terminal::~Terminal() = default;
int Terminal::width() const { return 0; }
int Terminal::height() const { return 0; }
const Letters& Terminal::letters() const { return ascii_letters; }
bool Terminal::has_colors() const { return false; }
void Terminal::show(const Grid&, const Theme&) {}
void Terminal::redraw() {}
std::vector<Input> Terminal::wait(std::uint64_t, int) { return {Input{Input::Kind::gone, {}, {}}}; }
void Terminal::suspend() {}

}  // namespace tui::terminal

#endif
