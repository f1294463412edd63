#include "tui/view/table.h"

#include <algorithm>
#include <fmt/core.h>

#include "tui/view/figures.h"

namespace tui::inline view {

namespace {

constexpr int gutter = 2;  ///< for marks
constexpr int gap = 2;     ///< between columns

struct Width {
    int least = 0;
    int natural = 0;
    int most = 0;
};

/// Widths grow in steps, so that one digit more does not move the table.
int stepped(int width, int step) { return (width + step - 1) / step * step; }

Width width_of_column(const TableColumn& column, std::span<const TableRow> rows, std::size_t at) {
    int content = 0;
    for (const TableRow& row : rows)
        if (at < row.cells.size() && at >= (row.spans == 1 ? 0 : row.spans))
            content = std::max(content, width_of(row.cells[at].text));
    const int usual = std::max(column.least, width_of(column.title));
    const int natural = content <= usual ? usual : stepped(content, column.left_aligned ? 4 : 2);
    return {column.squeezed > 0 ? std::min(natural, std::max(column.squeezed, width_of(column.title))) : natural,
            natural, std::max(column.most, natural)};
}

int total(std::span<const Width> widths, const std::vector<bool>& stays) {
    int sum = 0;
    for (std::size_t i = 0; i < widths.size(); ++i)
        if (stays[i]) sum += widths[i].least + (sum > 0 ? gap : 0);
    return sum;
}

void drop_one(std::span<const TableColumn> columns, std::vector<bool>& stays) {
    std::size_t victim = columns.size();
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (stays[i] && columns[i].weight > 0 &&
            (victim == columns.size() || columns[i].weight >= columns[victim].weight))
            victim = i;
    stays[victim] = false;
}

/// Room that is left goes to what was squeezed, then to what likes to be wide.
void hand_out(std::vector<int>& widths, std::span<const Width> wanted, int& left, int Width::*limit) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
        if (widths[i] == 0) continue;
        const int more = std::clamp(wanted[i].*limit - widths[i], 0, left);
        widths[i] += more;
        left -= more;
    }
}

char32_t sort_mark(const TableColumn& column, const Letters& letters) {
    return column.descending ? letters.down : letters.up;
}

void draw_heading(Pane& pane, int y, std::span<const TableColumn> columns, const std::vector<int>& widths) {
    pane.fill(0, y, pane.width(), U' ', {Role::bar});
    int x = gutter;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (widths[i] == 0) continue;
        const TableColumn& column = columns[i];
        const Style style{column.sorted ? Role::sorted : Role::bar, false, true};
        // The mark lies in the gap next to the title, so that sorting moves nothing.
        if (column.sorted && column.left_aligned) {
            const int taken = pane.text(x, y, column.title, style, widths[i]);
            pane.put(x + taken, y, sort_mark(column, pane.letters), style);
        } else if (column.sorted) {
            const int blanks = std::max(widths[i] - width_of(column.title), 0);
            pane.right(x, y, column.title, style, widths[i]);
            pane.put(x + blanks - 1, y, sort_mark(column, pane.letters), style);
        } else if (column.left_aligned) {
            pane.text(x, y, column.title, style, widths[i]);
        } else {
            pane.right(x, y, column.title, style, widths[i]);
        }
        if (column.hit) pane.hit(Hit::Target::heading, x - 1, y, widths[i] + 2, *column.hit);
        x += widths[i] + gap;
    }
}

void draw_cell(Pane& pane, int x, int y, const TableColumn& column, const TableCell& cell, int width) {
    if (cell.paint) return cell.paint(pane, x, y, width);
    if (column.left_aligned) {
        pane.text(x, y, cell.text, cell.style, width);
    } else {
        pane.right(x, y, cell.text, cell.style, width);
    }
}

void draw_row(Pane& pane, int y, std::span<const TableColumn> columns, const std::vector<int>& widths,
              const TableRow& row) {
    if (row.mark.paint) row.mark.paint(pane, 0, y, gutter);
    if (row.selected) pane.select(0, y, pane.width());
    int x = gutter;
    for (std::size_t i = 0; i < columns.size() && i < row.cells.size(); ++i) {
        int width = widths[i];
        const TableCell& cell = row.cells[i];
        if (i == 0)
            for (; i + 1 < row.spans && i + 1 < columns.size(); ++i)
                width += widths[i + 1] + (width > 0 && widths[i + 1] > 0 ? gap : 0);
        if (width == 0) continue;
        draw_cell(pane, x, y, columns[i], cell, width);
        if (row.selected && !cell.keeps_style) pane.select(x, y, width);
        x += width + gap;
    }
    if (row.selected) pane.select(0, y, gutter);
    pane.hit(Hit::Target::row, 0, y, pane.width(), row.index);
}

}  // namespace

std::vector<int> fit(std::span<const TableColumn> columns, std::span<const TableRow> rows, int room) {
    std::vector<Width> wanted;
    for (std::size_t i = 0; i < columns.size(); ++i) wanted.push_back(width_of_column(columns[i], rows, i));
    std::vector<bool> stays(columns.size(), true);
    const auto can_leave = [&] {
        for (std::size_t i = 0; i < columns.size(); ++i)
            if (stays[i] && columns[i].weight > 0) return true;
        return false;
    };
    while (total(wanted, stays) > room && can_leave()) drop_one(columns, stays);
    for (std::size_t last = columns.size(); last > 1 && total(wanted, stays) > room; --last) stays[last - 1] = false;
    std::vector<int> widths(columns.size(), 0);
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (stays[i]) widths[i] = wanted[i].least;
    int left = std::max(room - total(wanted, stays), 0);
    hand_out(widths, wanted, left, &Width::natural);
    hand_out(widths, wanted, left, &Width::most);
    return widths;
}

std::vector<int> draw_table(Pane& pane, int y, std::span<const TableColumn> columns, std::span<const TableRow> rows) {
    std::vector<int> widths = fit(columns, rows, pane.width() - gutter);
    draw_heading(pane, y, columns, widths);
    for (const TableRow& row : rows) draw_row(pane, ++y, columns, widths, row);
    return widths;
}

PageOfRows page_of(const Place& place, std::size_t count, int rows) {
    const auto page = static_cast<std::size_t>(std::max(rows, 0));
    if (page == 0 || count == 0) return {};
    const std::size_t selected = std::min(place.selected, count - 1);
    std::size_t first = std::min(place.top, count > page ? count - page : 0);
    first = std::min(first, selected);
    if (selected >= first + page) first = selected - page + 1;
    return {first, std::min(first + page, count)};
}

void draw_notice(Pane& pane, std::span<const std::string> lines, Role role) {
    int y = std::max((pane.height() - static_cast<int>(lines.size())) / 3, 0);
    for (const std::string& line : lines) {
        for (const std::string& part : wrapped(line, pane.width() - 4)) {
            const int x = std::max((pane.width() - width_of(part)) / 2, 0);
            pane.text(x, y++, part, {role});
        }
        role = Role::dim;
    }
}

void draw_no_reading(Pane& pane, const ModelState& state) {
    using Health = FeedStatus::Health;
    const FeedStatus& feed = state.feed;
    std::vector<std::string> lines;
    Role role = Role::normal;
    switch (feed.health) {
        case Health::failed:
            lines = {fmt::format("{} cannot be shown", feed.name), feed.trouble};
            role = Role::bad;
            break;
        case Health::lost:
            lines = {fmt::format("{} was lost before it said anything", feed.name), feed.trouble};
            role = Role::bad;
            break;
        default:
            if (feed.at_end) {
                lines = {fmt::format("{} holds no packets", feed.name)};
                break;
            }
            lines = {fmt::format("waiting for the first figures of {}", feed.name)};
            if (feed.playable && !feed.playing) lines.emplace_back("paused: the space bar goes on");
    }
    draw_notice(pane, lines, role);
}

}  // namespace tui::view
