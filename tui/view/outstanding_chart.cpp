// How much was outstanding, interval by interval, and how much may be.
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>

#include "base/quantities.h"
#include "exporters/flow_fields.h"
#include "tui/view/chart.h"

namespace tui::inline view {

namespace {

/// What the set-up allows: of READs and atomics alone there is an agreed depth.
std::optional<std::uint32_t> limit_of(const metrics::FlowSnapshot* flow) {
    if (flow == nullptr) return std::nullopt;
    for (std::size_t i = 0; i < flow->operations.size(); ++i)
        if (flow->operations[i].count != 0 && !metrics::wants_response(static_cast<metrics::Operation>(i)))
            return std::nullopt;
    return flow->connection->initiator_depth;
}

void draw_bar(Pane& pane, const Plot& plot, int column, double share) {
    constexpr int eighths = 8;
    if (!(share > 0)) return;
    int left = static_cast<int>(std::lround(share * plot.height * eighths));
    left = std::max(left, 1);
    for (int row = plot.height - 1; row >= 0 && left > 0; --row) {
        pane.put(plot.x + column, plot.y + row, pane.letters.levels[static_cast<std::size_t>(std::min(left, eighths))],
                 {Role::chart});
        left -= eighths;
    }
}

int row_of(const Plot& plot, double share) {
    return std::clamp(plot.height - 1 - static_cast<int>(share * plot.height - 1e-9), 0, plot.height - 1);
}

}  // namespace

void draw_outstanding_chart(Canvas& canvas, Area area, const FlowPicture& picture, bool chosen) {
    Pane pane(canvas, area);
    const std::optional<std::uint32_t> limit = limit_of(picture.any());
    const std::string title = limit ? fmt::format("outstanding messages: mean, - most so far, limit {}", *limit)
                                    : std::string("outstanding messages: mean, - most so far");
    const Plot plot = frame_chart(pane, title, chosen, 0);
    if (plot.empty()) return;
    const TimeColumns columns = time_columns(picture, plot.width);
    if (columns.empty()) return explain(pane, plot, std::array<std::string, 1>{"no interval with traffic yet"});
    double most = 0;
    for (const Beat* const beat : columns.beats)
        if (beat != nullptr)
            most = std::max(
                {most, static_cast<double>(beat->outstanding_max), static_cast<double>(beat->outstanding_mean)});
    if (most <= 0)
        return explain(pane, plot, std::array<std::string, 1>{"nothing was outstanding: this direction only answers"});
    if (const metrics::FlowSnapshot* const flow = picture.any(); flow != nullptr && !metrics::knows_depth(*flow))
        return explain(pane, plot,
                       std::array<std::string, 2>{"what was outstanding is unknown:",
                                                  metrics::partly_read(*flow) ? "not all of the stream could be read"
                                                                              : "no answers were captured"});
    most = std::max(most, static_cast<double>(limit.value_or(0)));
    if (limit)
        pane.fill(plot.x, plot.y + row_of(plot, *limit / most), plot.width, pane.letters.horizontal, {Role::warning});
    for (std::size_t i = 0; i < columns.beats.size(); ++i) {
        const Beat* const beat = columns.beats[i];
        if (beat == nullptr) continue;
        const auto column = static_cast<int>(i);
        pane.put(plot.x + column, plot.y + row_of(plot, beat->outstanding_max / most), U'-', {Role::chart_second});
        draw_bar(pane, plot, column, static_cast<double>(beat->outstanding_mean) / most);
    }
    label_row(pane, plot, 0, base::format_decimal(most));
    if (plot.height >= 5) label_row(pane, plot, plot.height / 2, base::format_decimal(most / 2));
    if (plot.height >= 3) label_row(pane, plot, plot.height - 1, "0");
    label_times(pane, plot, columns.first, columns.begin_ns, columns.end_ns);
}

}  // namespace tui::view
