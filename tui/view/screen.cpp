#include "tui/view/screen.h"

#include <algorithm>
#include <fmt/core.h>

namespace tui::inline view {

namespace {

constexpr int header_rows = 3;
constexpr int footer_rows = 2;
constexpr int prompt_rows = 3;  ///< what is wrong with the text has a line of its own

void draw_view(Canvas& canvas, Area area) {
    switch (canvas.state.view) {
        case View::flows: return draw_flows(canvas, area);
        case View::hosts: return draw_hosts(canvas, area);
        case View::congestion: return draw_congestion(canvas, area);
        case View::events: return draw_events(canvas, area);
        case View::packets: return draw_packets(canvas, area);
        case View::counters: return draw_counters(canvas, area);
        case View::io: return draw_commands(canvas, area);
        case View::paths: return draw_paths(canvas, area);
        case View::flow: return draw_flow(canvas, area);
    }
}

void draw_overlay(Canvas& canvas, Area area) {
    switch (canvas.state.overlay) {
        case Overlay::help: return draw_help(canvas, area);
        case Overlay::menu: return draw_menu(canvas, area);
        case Overlay::letters: return draw_state_letters(canvas, area);
        case Overlay::answers: return draw_answers(canvas, area);
        case Overlay::none:
        case Overlay::prompt:   // the footer's
        case Overlay::details:  // the packets'
            return;
    }
}

/// The size that a small screen lacks, or an empty text.
std::string size_wanted(const Grid& grid, const Letters& letters) {
    if (grid.width() >= least_width && grid.height() >= least_height) return {};
    const char* const times = letters.utf8 ? "×" : "x";
    return fmt::format("{}{}{}: wants {}{}{} to show everything", grid.width(), times, grid.height(), least_width,
                       times, least_height);
}

}  // namespace

Drawn draw(const ModelState& state, const Letters& letters, Grid& grid) {
    Drawn drawn;
    grid.clear();
    grid.set_ellipsis(letters.ellipsis);
    Canvas canvas{state, letters, grid, drawn};
    int rows = grid.height();
    const std::string wanted = size_wanted(grid, letters);
    if (!wanted.empty() && rows > 0) grid.text(0, --rows, wanted, {Role::warning}, grid.width());
    // On the smallest screens the view comes first, then what frames it.
    const int header = std::clamp(rows - 4, 0, header_rows);
    const int wanted_rows = state.overlay == Overlay::prompt ? prompt_rows : footer_rows;
    const int footer = std::clamp(rows - header - 3, 0, wanted_rows);
    draw_header(canvas, {0, 0, grid.width(), header});
    const Area body{0, header, grid.width(), rows - header - footer};
    draw_view(canvas, body);
    draw_overlay(canvas, body);
    draw_footer(canvas, {0, rows - footer, grid.width(), footer});
    drawn.page = std::max<std::size_t>(drawn.page, 1);
    drawn.overlay_page = std::max<std::size_t>(drawn.overlay_page, 1);
    return drawn;
}

}  // namespace tui::view
