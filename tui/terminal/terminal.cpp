#include "tui/terminal/terminal.h"

#include <algorithm>
#include <array>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <fcntl.h>
#include <langinfo.h>
#include <optional>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tui/terminal/console_letters.h"
#include "tui/terminal/key_reader.h"
#include "tui/terminal/last_resort.h"
#include "tui/terminal/ncurses.h"
#include "tui/terminal/painter.h"
#include "tui/terminal/terminal_signals.h"

namespace tui::inline terminal {

namespace {

bool locale_is_utf8() { return std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0; }

/// Characters go out in the encoding of the process's locale.
bool speaks_utf8(TerminalOptions::Glyphs glyphs) {
    std::setlocale(LC_CTYPE, "");
    if (glyphs == TerminalOptions::Glyphs::ascii) return false;
    if (glyphs == TerminalOptions::Glyphs::utf8 && !locale_is_utf8()) std::setlocale(LC_CTYPE, "C.UTF-8");
    return locale_is_utf8();
}

Letters letters_for(bool utf8, std::string_view terminal) {
    if (!utf8) return ascii_letters;
    return terminal == "linux" || terminal.starts_with("linux-") ? console_letters() : utf8_letters;
}

/// A capability's text without its padding, `$<5>`; empty where the terminal has none.
std::string capability(const char* name) {
    const char* found = ::tigetstr(name);
    if (found == nullptr || found == reinterpret_cast<const char*>(-1)) return {};
    std::string text(found);
    for (std::size_t at = 0; (at = text.find("$<", at)) != std::string::npos;)
        text.erase(at, std::min(text.find('>', at), text.size() - 1) - at + 1);
    return text;
}

std::string leave_sequence(bool mouse) {
    std::string text = mouse ? "\033[?1000l\033[?1006l" : "";
    for (const char* name : {"sgr0", "rmkx", "cnorm", "rmcup"}) text += capability(name);
    return text;
}

struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

/// The keyboard. Where a capture comes in by standard input, it is that of the terminal that the process belongs to.
File open_keyboard() {
    const int descriptor = ::isatty(STDIN_FILENO) == 1 ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                                       : ::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return File(descriptor < 0 ? nullptr : ::fdopen(descriptor, "r"));
}

}  // namespace

struct Terminal::State {
    State(File keys, const termios& before, const TerminalOptions& options, bool unicode, std::string_view name)
        : keyboard(std::move(keys)),
          utf8(unicode),
          letters(letters_for(unicode, name)),
          painter(options.colors),
          reader(std::in_place, options.mouse),
          last_resort(STDOUT_FILENO, before, leave_sequence(options.mouse)) {}

    void take_signals(std::vector<Input>& inputs);
    void take_keys(std::vector<Input>& inputs);
    void take_size();
    void come_back();
    void put(int x, int y, const Cell& cell);
    wchar_t shown(char32_t glyph) const;

    File keyboard;
    bool utf8;
    Letters letters;
    Painter painter;
    std::optional<KeyReader> reader;
    LastResort last_resort;
    TerminalSignals signals = {};
    Grid last = {};  ///< what ncurses shows
    std::string_view theme = {};
    bool gone = false;
};

base::Result<std::unique_ptr<Terminal>> Terminal::open(const TerminalOptions& options) {
    const auto failure = [](std::string message) { return base::Failure{base::Error{std::move(message)}}; };
    if (::isatty(STDOUT_FILENO) != 1) return failure("standard output is not a terminal");
    File keyboard = open_keyboard();
    if (!keyboard || ::isatty(::fileno(keyboard.get())) != 1) return failure("there is no terminal to read keys from");
    const char* name = std::getenv("TERM");
    if (name == nullptr || *name == '\0') return failure("TERM is not set: it names the kind of terminal");
    const bool utf8 = speaks_utf8(options.glyphs);
    termios before{};
    ::tcgetattr(STDOUT_FILENO, &before);
    ::use_env(false);
    ::use_tioctl(true);
    SCREEN* screen = ::newterm(nullptr, stdout, keyboard.get());
    if (screen == nullptr)
        return failure(std::string("TERM=") + name + ": there is no such terminal in this machine's terminfo");
    if (capability("cup").empty()) {
        ::endwin();
        ::delscreen(screen);
        return failure(std::string("TERM=") + name + ": such a terminal cannot place its cursor");
    }
    ::raw();
    ::noecho();
    ::nonl();
    ::curs_set(0);
    ::leaveok(stdscr, true);
    return std::unique_ptr<Terminal>(
        new Terminal(std::make_unique<State>(std::move(keyboard), before, options, utf8, name)));
}

Terminal::Terminal(std::unique_ptr<State> state) : state_(std::move(state)) {}

Terminal::~Terminal() {
    state_->reader.reset();
    termios now{};
    if (!state_->gone && ::tcgetattr(STDOUT_FILENO, &now) == 0) ::endwin();
    ::delscreen(::set_term(nullptr));
}

int Terminal::width() const { return COLS; }
int Terminal::height() const { return LINES; }
const Letters& Terminal::letters() const { return state_->letters; }
bool Terminal::has_colors() const { return state_->painter.has_colors(); }

void Terminal::show(const Grid& grid, const Theme& theme) {
    State& state = *state_;
    if (state.gone) return;
    if (state.theme != theme.name || state.last.width() != grid.width() || state.last.height() != grid.height()) {
        state.theme = theme.name;
        state.painter.use(theme);
        state.last.resize(0, 0);
    }
    const bool anew = state.last.width() == 0;
    if (anew) ::werase(stdscr);
    for (int y = 0; y < std::min(grid.height(), height()); ++y)
        for (int x = 0; x < std::min(grid.width(), width()); ++x)
            if (anew || !(grid.at(x, y) == state.last.at(x, y))) state.put(x, y, grid.at(x, y));
    state.last = grid;
    ::wnoutrefresh(stdscr);
    ::doupdate();
}

void Terminal::redraw() {
    ::clearok(curscr, true);
    state_->last.resize(0, 0);
}

std::vector<Input> Terminal::wait(std::uint64_t timeout_ns, int wake) {
    constexpr std::uint64_t second = 1'000'000'000;
    State& state = *state_;
    std::vector<Input> inputs;
    std::array<pollfd, 3> waited{
        {{::fileno(state.keyboard.get()), POLLIN, 0}, {state.signals.descriptor(), POLLIN, 0}, {wake, POLLIN, 0}}};
    if (state.reader->more()) timeout_ns = 0;
    const timespec timeout{static_cast<time_t>(timeout_ns / second), static_cast<long>(timeout_ns % second)};
    const int ready = ::ppoll(waited.data(), waited.size(), &timeout, nullptr);
    if (ready < 0) return inputs;
    if (waited[1].revents != 0) state.take_signals(inputs);
    if (waited[0].revents != 0 || state.reader->more()) state.take_keys(inputs);
    return inputs;
}

void Terminal::suspend() {
    ::endwin();
    state_->signals.stop();
    static_cast<void>(state_->signals.take());
    ::def_shell_mode();
    state_->come_back();
}

void Terminal::State::take_signals(std::vector<Input>& inputs) {
    const TerminalSignals::Said said = signals.take();
    if (said.stop) inputs.push_back({Input::Kind::key, key(U'\x1a'), {}});
    if (said.continued) come_back();
    if (!said.resized && !said.continued) return;
    take_size();
    inputs.push_back({Input::Kind::resized, {}, {}});
}

void Terminal::State::take_keys(std::vector<Input>& inputs) {
    const std::size_t before = inputs.size();
    reader->read(inputs);
    if (inputs.size() != before) return;
    // Readable again and again without input: the terminal is gone.
    pollfd keys{::fileno(keyboard.get()), POLLIN, 0};
    if (::poll(&keys, 1, 0) <= 0) return;
    int octets = 0;
    const bool silent = ::ioctl(keys.fd, FIONREAD, &octets) != 0 || octets == 0;
    if (!silent && (keys.revents & (POLLHUP | POLLERR | POLLNVAL)) == 0) return;
    gone = true;
    inputs.push_back({Input::Kind::gone, {}, {}});
}

void Terminal::State::take_size() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        ::resize_term(size.ws_row, size.ws_col);
    ::clearok(curscr, true);
    last.resize(0, 0);
}

void Terminal::State::come_back() {
    ::reset_prog_mode();
    take_size();
    ::wrefresh(stdscr);
}

wchar_t Terminal::State::shown(char32_t glyph) const {
    const auto wide = static_cast<wchar_t>(glyph);
    if (glyph < 0x7f) return glyph < 0x20 ? L' ' : wide;
    if (!utf8) return L'?';
    return ::wcwidth(wide) == width_of(glyph) && width_of(glyph) > 0 ? wide : L'?';
}

void Terminal::State::put(int x, int y, const Cell& cell) {
    if (cell.glyph == 0) return;
    const Look look = painter.look(cell.style);
    const std::array<wchar_t, 2> text{shown(cell.glyph), L'\0'};
    cchar_t made{};
    int pair = look.pair;
    // A pair's number that does not fit a short is passed separately (curs_getcchar(3X), extended pairs).
    ::setcchar(&made, text.data(), look.attributes, static_cast<short>(std::min(pair, 255)), &pair);
    ::mvwadd_wch(stdscr, y, x, &made);
}

}  // namespace tui::terminal
