#include "cli/top/screen_loop.h"

#include <chrono>
#include <ctime>
#include <string_view>
#include <unistd.h>

#include "base/clock.h"
#include "cli/console.h"
#include "cli/signals.h"
#include "cli/top/save.h"
#include "tui/terminal/terminal.h"
#include "tui/view/screen.h"

namespace cli::top {

namespace {

/// How late a signal may be answered that comes between two looks.
constexpr std::uint64_t longest_wait_ns = 500'000'000;

class Screen {
public:
    Screen(const Show& show, tui::Terminal& terminal);

    /// False where the terminal has gone.
    bool run();
    const tui::ModelState& state() const { return model_.state(); }

private:
    bool take(const tui::Input& input);
    void handle_request(const tui::Request& request);
    void paint();

    const Show& show_;
    tui::Terminal& terminal_;
    tui::Model model_;
    tui::Grid grid_;
    bool over_ = false;
};

Screen::Screen(const Show& show, tui::Terminal& terminal)
    : show_(show), terminal_(terminal), model_(show.settings, show.feed, &show.names, show.fields) {
    begin_with(model_, show.options);
    if (!show.notice.empty()) model_.say(show.notice, show.notice_is_error);
}

bool Screen::run() {
    model_.refresh(base::wall_ns());
    paint();
    while (!over_ && !Signals::stop()) {
        const std::vector<tui::Input> inputs = terminal_.wait(longest_wait_ns, show_.feed.descriptor());
        for (const tui::Input& input : inputs)
            if (!take(input)) return false;
        if (model_.refresh(base::wall_ns()) || !inputs.empty()) paint();
    }
    return true;
}

bool Screen::take(const tui::Input& input) {
    if (over_) return true;
    switch (input.kind) {
        case tui::Input::Kind::gone: return false;
        case tui::Input::Kind::key: model_.press(input.key); break;
        case tui::Input::Kind::mouse: model_.click(input.mouse); break;
        case tui::Input::Kind::resized: break;
    }
    for (const tui::Request& request : model_.take_requests()) handle_request(request);
    return true;
}

void Screen::handle_request(const tui::Request& request) {
    switch (request.kind) {
        case tui::Request::Kind::quit: over_ = true; break;
        case tui::Request::Kind::suspend: terminal_.suspend(); break;
        case tui::Request::Kind::redraw: terminal_.redraw(); break;
        case tui::Request::Kind::save: {
            const Saved saved = save(model_.state(), grid_, std::time(nullptr));
            model_.say(saved.message, saved.failed);
            break;
        }
        case tui::Request::Kind::theme:     // looked at with every picture
        case tui::Request::Kind::settings:  // stored at the end
            break;
    }
}

void Screen::paint() {
    if (over_) return;
    grid_.resize(terminal_.width(), terminal_.height());
    const std::size_t top = model_.state().place().top;
    model_.drawn(tui::draw(model_.state(), terminal_.letters(), grid_));
    // How much of a list fits is known once it is drawn: the row that one is on shall be in sight.
    if (model_.state().place().top != top) model_.drawn(tui::draw(model_.state(), terminal_.letters(), grid_));
    const tui::Theme* const theme = tui::find_theme(model_.state().settings.theme);
    terminal_.show(grid_, theme != nullptr ? *theme : tui::themes().front());
}

}  // namespace

void begin_with(tui::Model& model, const TopOptions& options) {
    if (options.view) model.press(tui::key(U'1' + static_cast<char32_t>(*options.view)));
    if (options.filter.empty()) return;
    const tui::View view = model.state().view;
    model.press(tui::key(U'1'));
    model.press(tui::key(U'/'));
    for (std::string_view rest = options.filter; !rest.empty();) model.press(tui::key(tui::take_character(rest)));
    model.press(tui::key(tui::Named::enter));
    model.press(tui::key(U'1' + static_cast<char32_t>(view)));
}

Shown show_screen(const Show& show) {
    tui::TerminalOptions how;
    if (show.options.ascii) how.glyphs = tui::TerminalOptions::Glyphs::ascii;
    how.colors = show.options.color && wants_color(STDOUT_FILENO);
    how.mouse = show.options.mouse;
    const Signals signals;
    Shown shown;
    auto terminal = tui::Terminal::open(how);
    if (!terminal) {
        shown.error = terminal.error().text();
        return shown;
    }
    Screen screen(show, **terminal);
    shown.began = screen.state().settings;
    shown.gone = !screen.run();
    shown.settings = screen.state().settings;
    shown.last = screen.state().reading;
    return shown;
}

}  // namespace cli::top
