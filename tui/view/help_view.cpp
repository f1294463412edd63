// Every key: those that do something in this view first, then the others, by group. Words of the columns follow.
#include <array>
#include <fmt/core.h>

#include "tui/view/box.h"
#include "tui/view/screen.h"

namespace tui::inline view {

namespace {

struct HelpLine {
    std::string_view keys;
    std::string_view text;
    bool heading = false;
};

constexpr std::array<HelpLine, 5> words{{{"Words", "", true},
                                         {"goodput", "message bytes per second, without headers"},
                                         {"p50, p99", "50 %, 99 % of the operations take at most this"},
                                         {"depth", "messages outstanding: on average/at most"},
                                         {"~", "before a share or a rate: it is an estimate"}}};

void append_group(std::vector<HelpLine>& lines, std::string_view group, std::uint32_t view, bool here) {
    bool first = true;
    for (const KeyText& row : key_texts()) {
        if (row.group != group || ((row.views & view) != 0) != here) continue;
        if (first && !lines.empty()) lines.push_back({});
        if (first) lines.push_back({group, here ? "" : "in other views", true});
        first = false;
        lines.push_back({row.keys, row.help});
    }
}

std::vector<HelpLine> help_lines(View view) {
    std::vector<std::string_view> groups;
    for (const KeyText& row : key_texts())
        if (std::find(groups.begin(), groups.end(), row.group) == groups.end()) groups.push_back(row.group);
    std::vector<HelpLine> lines;
    for (const bool here : {true, false})
        for (const std::string_view group : groups) append_group(lines, group, bit_of(view), here);
    lines.push_back({});
    lines.insert(lines.end(), words.begin(), words.end());
    return lines;
}

struct Widths {
    int keys = 0;
    int text = 0;
    int column() const { return keys + 2 + text; }
};

/// Longer ones push their text to the right.
constexpr int most_for_keys = 17;  ///< "Ctrl-D, PageDown"

Widths widths_of(const std::vector<HelpLine>& lines) {
    Widths widths;
    for (const HelpLine& line : lines) {
        if (line.heading) continue;
        widths.keys = std::max(widths.keys, std::min(width_of(line.keys), most_for_keys));
        widths.text = std::max(widths.text, width_of(line.text));
    }
    return widths;
}

void draw_line(Pane& pane, int x, int y, const HelpLine& line, const Widths& widths, int room) {
    if (line.heading) {
        const int taken = pane.text(x, y, line.keys, {Role::title, false, true}, room);
        if (!line.text.empty()) pane.text(x + taken + 1, y, line.text, {Role::dim}, room - taken - 1);
        return;
    }
    const int keys = std::max(widths.keys, pane.text(x, y, line.keys, {Role::accent}, room));
    pane.text(x + keys + 2, y, line.text, {}, room - keys - 2);
}

}  // namespace

void draw_help(Canvas& canvas, Area area) {
    constexpr int between = 4;
    const ModelState& state = canvas.state;
    const std::vector<HelpLine> lines = help_lines(state.view);
    const Widths widths = widths_of(lines);
    const auto count = static_cast<int>(lines.size());
    const int fits = std::max((area.width - 4 + between) / (widths.column() + between), 1);
    // No more columns than make it fit without scrolling.
    const int inner_height = std::max(area.height - 2, 1);
    const int columns = std::min(fits, (count + inner_height - 1) / inner_height);
    const int per_column = (count + columns - 1) / std::max(columns, 1);
    const Area inside = draw_box(canvas, area, columns * (widths.column() + between) - between + 4, per_column + 2,
                                 fmt::format("Keys in the view of {}", name_of(state.view)));
    Pane pane(canvas, inside);
    const auto page = static_cast<std::size_t>(std::max(pane.height(), 1));
    canvas.drawn.overlay_page = page;
    canvas.drawn.overlay_rows = static_cast<std::size_t>(per_column);
    const std::size_t rows = canvas.drawn.overlay_rows;
    const std::size_t top = std::min(state.overlay_place.top, rows > page ? rows - page : 0);
    draw_scroll(canvas, inside, top, rows);
    const int room = columns > 1 ? widths.column() : pane.width() - 2;
    for (int y = 0; y < pane.height(); ++y)
        for (int column = 0; column < columns; ++column) {
            const std::size_t row = top + static_cast<std::size_t>(y);
            const std::size_t at = static_cast<std::size_t>(column) * rows + row;
            if (row < rows && at < lines.size())
                draw_line(pane, 1 + column * (widths.column() + between), y, lines[at], widths, room);
        }
}

}  // namespace tui::view
