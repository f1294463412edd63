// Packets: lines of `dump`, and all fields of the one that is looked at.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "tui/view/figures.h"
#include "tui/view/screen.h"
#include "tui/view/table.h"

namespace tui::inline view {

namespace {

constexpr int number_width = 7;
constexpr int text_at = number_width + 2;
constexpr int whole_from = 150;   ///< columns: lines of `dump` mostly fit
constexpr int beside_from = 180;  ///< columns: details next to the list; on fewer, below it

/// Rows of packets: below the heading, and above what of the selected one does not fit.
int list_rows(Area area) { return std::max(area.height - 1 - (area.width < whole_from ? 1 : 0), 0); }

void draw_no_packets(Canvas& canvas, Pane& pane) {
    const ModelState& state = canvas.state;
    if (!state.feed.has_packets && state.reading) {
        const bool history = state.feed.kind == SourceKind::history;
        return draw_notice(pane,
                           std::array<std::string, 2>{
                               fmt::format("{} has figures, not frames", history ? "history" : state.feed.name),
                               "`rdmascope top` on the interface has them, and -r on a file of `rdmascope dump -w`"});
    }
    if (!state.reading && state.feed.packets_kept == 0) return draw_no_reading(pane, state);
    if (!state.packet_filter_text.empty())
        return draw_notice(
            pane, std::array<std::string, 2>{"no packet matches so far", state.packet_filter_text + ": / changes it"});
    draw_notice(pane, std::array<std::string, 1>{"no RDMA packet yet"});
}

/// Above the list: which packets these are.
std::string heading(const ModelState& state) {
    std::string text = fmt::format(
        "frame    {}", state.packet_filter_text.empty() ? "packets, as `dump` prints them" : "packets with ");
    text += state.packet_filter_text;
    if (state.packets->passed_over() != 0)
        text += fmt::format("; {} passed over, too fast to be read", base::group_digits(state.packets->passed_over()));
    return text;
}

/// What of a line does not fit its row, below the list: that of the selected packet.
void draw_rest(Pane& pane, const PacketLine& line, int room) {
    std::string_view rest = line.text;
    for (int column = 0; column < room - 1 && !rest.empty();) column += width_of(take_character(rest));
    const int y = pane.height() - 1;
    pane.fill(0, y, pane.width(), U' ', {Role::bar});
    if (width_of(line.text) <= room) return;
    pane.put(text_at - 1, y, pane.letters.ellipsis, {Role::bar});
    pane.text(text_at, y, rest, {Role::bar}, pane.width() - text_at);
}

void draw_list(Canvas& canvas, Area area) {
    const ModelState& state = canvas.state;
    Pane pane(canvas, area);
    pane.fill(0, 0, pane.width(), U' ', {Role::bar});
    pane.text(number_width - 5, 0, heading(state), {Role::bar, false, true}, pane.width() - number_width + 5);
    const auto& lines = state.packets->lines();
    const Place& place = state.places[static_cast<std::size_t>(View::packets)];
    const int rows = list_rows(area);
    const PageOfRows page = page_of(place, lines.size(), rows);
    const int room = pane.width() - text_at;
    for (std::size_t i = page.first; i < page.last; ++i) {
        const PacketLine& line = lines[i];
        const int y = 1 + static_cast<int>(i - page.first);
        pane.right(0, y, fmt::to_string(line.frame), {Role::dim}, number_width);
        if (line.bad) pane.put(number_width, y, U'!', {Role::bad});
        pane.text(text_at, y, line.text, {line.bad ? Role::bad : Role::normal}, room);
        if (i == place.selected) pane.select(0, y, pane.width());
        pane.hit(Hit::Target::row, 0, y, pane.width(), i);
    }
    if (rows < area.height - 1 && page.first < page.last)
        draw_rest(pane, lines[std::clamp(place.selected, page.first, page.last - 1)], room);
}

/// A heading is a line that others lie below: those at the margin.
Role role_of_detail(std::string_view line) { return line.starts_with(' ') ? Role::normal : Role::title; }

void draw_details(Canvas& canvas, Area area) {
    const ModelState& state = canvas.state;
    Pane pane(canvas, area);
    const int height = pane.height() - 1;
    canvas.drawn.overlay_page = static_cast<std::size_t>(std::max(height, 1));
    canvas.drawn.overlay_rows = state.details.size();
    pane.fill(0, 0, pane.width(), U' ', {Role::bar});
    pane.text(1, 0, fmt::format("all fields of frame {}", state.details_frame), {Role::bar, false, true});
    const std::size_t most = state.details.size() > static_cast<std::size_t>(std::max(height, 0))
                                 ? state.details.size() - static_cast<std::size_t>(std::max(height, 0))
                                 : 0;
    const std::size_t first = std::min(state.overlay_place.top, most);
    if (most > 0)
        pane.right(0, 0,
                   fmt::format("{}-{} of {}", first + 1,
                               std::min(first + static_cast<std::size_t>(std::max(height, 0)), state.details.size()),
                               state.details.size()),
                   {Role::bar}, pane.width() - 1);
    for (int row = 0; row < height && first + static_cast<std::size_t>(row) < state.details.size(); ++row) {
        const std::string& line = state.details[first + static_cast<std::size_t>(row)];
        const Role role = role_of_detail(line);
        pane.text(1, 1 + row, line, {role, false, role == Role::title}, pane.width() - 1);
    }
}

}  // namespace

void draw_packets(Canvas& canvas, Area area) {
    const ModelState& state = canvas.state;
    Area list = area;
    if (state.overlay == Overlay::details) {
        Area details = area;
        if (area.width >= beside_from) {
            list.width = area.width / 2;
            details.x += list.width + 1;
            details.width -= list.width + 1;
        } else {
            list.height = area.height / 3;
            details.y += list.height;
            details.height -= list.height;
        }
        draw_details(canvas, details);
    }
    canvas.drawn.page = static_cast<std::size_t>(std::max(list_rows(list), 1));
    if (!state.packets || state.packets->lines().empty()) {
        Pane pane(canvas, list);
        return draw_no_packets(canvas, pane);
    }
    draw_list(canvas, list);
}

}  // namespace tui::view
