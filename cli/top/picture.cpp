#include "cli/top/picture.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/quantities.h"
#include "cli/console.h"
#include "cli/signals.h"
#include "tui/view/screen.h"

namespace cli::top {

namespace {

using Health = tui::FeedStatus::Health;

constexpr Size usual_size{120, 40};
constexpr int look_ms = 200;

/// COLUMNS and LINES, which scripts set.
int number_of(const char* variable, int otherwise) {
    const char* const text = std::getenv(variable);
    std::uint64_t number = 0;
    return text != nullptr && base::take_number(text, 1, 1000, number).empty() ? static_cast<int>(number) : otherwise;
}

Size size_of(const TopOptions& options) {
    if (options.size) return *options.size;
    Size size = usual_size;
    winsize window{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0)
        size = {window.ws_col, window.ws_row};
    return {number_of("COLUMNS", size.width), number_of("LINES", size.height)};
}

/// Whether the source has everything for one picture. A source that is played back has an end, also after a failure.
bool is_whole(const tui::FeedStatus& feed, bool plays_back, bool has_reading) {
    if (feed.at_end) return true;
    return !plays_back && (has_reading || feed.health == Health::failed || feed.health == Health::lost);
}

std::string trouble_of(const tui::FeedStatus& feed, bool nothing) {
    if (!feed.trouble.empty()) return feed.trouble;
    // A file without packets is no failure, as in other commands: the picture says so.
    return nothing && !feed.at_end ? feed.name + ": there is nothing to show" : std::string{};
}

}  // namespace

std::string print_picture(const Show& show) {
    const Signals signals;
    tui::Settings settings = show.settings;
    if (show.options.plays_back()) settings.window = tui::Window::total;
    tui::Model model(settings, show.feed, &show.names, show.fields);
    begin_with(model, show.options);
    const bool plays_back = show.options.plays_back();
    model.refresh(base::wall_ns());
    while (!Signals::stop() && !is_whole(model.state().feed, plays_back, model.state().reading != nullptr)) {
        pollfd woken{show.feed.descriptor(), POLLIN, 0};
        ::poll(&woken, 1, look_ms);
        model.refresh(base::wall_ns());
    }
    const Size size = size_of(show.options);
    tui::Grid grid(size.width, size.height);
    const tui::Letters& letters = writes_utf8() && !show.options.ascii ? tui::utf8_letters : tui::ascii_letters;
    // What a list shows depends on how much of it fits, which the first drawing finds out.
    model.drawn(tui::draw(model.state(), letters, grid));
    tui::draw(model.state(), letters, grid);
    const bool nothing = model.state().reading == nullptr;
    const bool has_picture = !nothing || model.state().feed.at_end;
    if (has_picture && !base::write_all(STDOUT_FILENO, grid.plain()) && errno != EPIPE) return output_error(errno);
    return trouble_of(model.state().feed, nothing);
}

}  // namespace cli::top
