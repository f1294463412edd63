#pragma once
#include "tui/model/hits.h"
#include "tui/model/model.h"
#include "tui/view/grid.h"
#include "tui/view/letters.h"

namespace tui::inline view {

/// The least screen that shows everything. A smaller screen shows a line that says so.
inline constexpr int least_width = 80;
inline constexpr int least_height = 24;

/// Draws everything into the grid, whatever its size; the grid is cleared before. Pure: the same state gives the same
/// picture.
Drawn draw(const ModelState& state, const Letters& letters, Grid& grid);

/// A part of the screen, in columns and rows.
struct Area {
    int x = 0;
    int y = 0;
    int width = 0;
    int height = 0;
};

/// One function for each view, in a file of its name (flows_view.cpp, ...). The functions draw only into `area` and add
/// hits.
struct Canvas {
    const ModelState& state;
    const Letters& letters;
    Grid& grid;
    Drawn& drawn;
};
void draw_flows(Canvas& canvas, Area area);
void draw_hosts(Canvas& canvas, Area area);
void draw_congestion(Canvas& canvas, Area area);
void draw_counters(Canvas& canvas, Area area);
void draw_commands(Canvas& canvas, Area area);
/// The commands of one connection: latency by time, the slowest, and errors.
void draw_connection_commands(Canvas& canvas, Area area);
void draw_paths(Canvas& canvas, Area area);
void draw_events(Canvas& canvas, Area area);
void draw_packets(Canvas& canvas, Area area);
void draw_flow(Canvas& canvas, Area area);
/// Overlays, above the view.
void draw_help(Canvas& canvas, Area area);
void draw_menu(Canvas& canvas, Area area);
void draw_state_letters(Canvas& canvas, Area area);
void draw_answers(Canvas& canvas, Area area);
/// What the first lines and the last one are for every view.
void draw_header(Canvas& canvas, Area area);
void draw_footer(Canvas& canvas, Area area);

}  // namespace tui::view
