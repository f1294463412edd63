// The counters of the RDMA devices, those that count errors and have something to tell first.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "tui/view/figures.h"
#include "tui/view/screen.h"
#include "tui/view/table.h"

namespace tui::inline view {

namespace {

/// Parts of the names of counters that stand at zero while all is well, as drivers of the kernel call them
/// (drivers/infiniband, counters and hw_counters).
constexpr std::array<std::string_view, 20> error_words{
    "err", "drop", "discard", "out_of",    "retry",   "retrans", "nak",  "cnp",   "ecn", "timeout",
    "rnr", "fail", "dup",     "integrity", "overrun", "recover", "wait", "pause", "pfc", "xoff"};

bool counts_errors(std::string_view name) {
    return std::any_of(error_words.begin(), error_words.end(),
                       [name](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

/// Errors that ever were, then all others; in each, the reading's order, so that a row moves at most once.
std::vector<const DeviceCounter*> ordered(const std::vector<DeviceCounter>& counters) {
    std::vector<const DeviceCounter*> order;
    for (const DeviceCounter& counter : counters) order.push_back(&counter);
    std::stable_partition(order.begin(), order.end(), [](const DeviceCounter* counter) {
        return counter->value > 0 && counts_errors(counter->name);
    });
    return order;
}

TableRow row_of(const DeviceCounter& counter, std::uint64_t length_ns) {
    const bool error = counts_errors(counter.name);
    const std::uint64_t more = counter.growth();
    const Role role = counter.value == 0 ? Role::dim : !error ? Role::normal : more > 0 ? Role::bad : Role::warning;
    TableRow row;
    std::string per_sec = "-";
    if (counter.before && length_ns > 0) {
        const double each = counter.octets == 0 ? 1 : counter.octets;
        per_sec = base::format_count(static_cast<double>(more) * each * 1e9 / static_cast<double>(length_ns));
        if (counter.octets != 0) per_sec += 'B';
    }
    row.cells = {{counter.device},
                 {fmt::to_string(counter.port)},
                 {counter.name, {role}},
                 {base::group_digits(counter.value), {role}},
                 {per_sec, {more == 0 ? Role::dim : role}}};
    if (error && more > 0) row.mark.paint = [](Pane& pane, int x, int y, int) { pane.put(x, y, U'!', {Role::bad}); };
    return row;
}

void draw_no_counters(Canvas& canvas, Pane& pane) {
    const ModelState& state = canvas.state;
    if (!state.reading) return draw_no_reading(pane, state);
    std::vector<std::string> lines{"no RDMA devices in /sys/class/infiniband"};
    if (state.feed.kind != SourceKind::live)
        lines = {fmt::format("{} has no counters of devices", state.feed.name),
                 "they are read where RDMA devices are: of a live interface, or by the daemon there"};
    draw_notice(pane, lines);
}

}  // namespace

void draw_counters(Canvas& canvas, Area area) {
    static const std::vector<TableColumn> columns{{"device", true, 8},
                                                  {"port", false, 4},
                                                  {"counter", true, 28, 16},
                                                  {"value", false, 20},
                                                  {"per second", false, 10}};
    const ModelState& state = canvas.state;
    Pane pane(canvas, area);
    const int height = pane.height() - 1;
    canvas.drawn.page = static_cast<std::size_t>(std::max(height, 1));
    if (!state.reading || state.reading->counters.empty()) return draw_no_counters(canvas, pane);
    const auto order = ordered(state.reading->counters);
    const PageOfRows page = page_of(state.place(), order.size(), height);
    std::vector<TableRow> rows;
    for (std::size_t i = page.first; i < page.last; ++i) {
        TableRow row = row_of(*order[i], state.reading->length_ns);
        row.index = i;
        row.selected = i == state.place().selected;
        rows.push_back(std::move(row));
    }
    draw_table(pane, 0, columns, rows);
}

}  // namespace tui::view
