#pragma once
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tui/model/timeline.h"
#include "tui/view/pane.h"

/// What the charts of one flow have in common: intervals from left to right, the latest at the right.
namespace tui::inline view {

/// A flow as its view shows it. Every member except the state may be null.
struct FlowPicture {
    const ModelState& state;
    const metrics::FlowSnapshot* total = nullptr;
    const metrics::FlowSnapshot* interval = nullptr;
    std::vector<Beat> beats = {};

    const metrics::FlowSnapshot* any() const { return total != nullptr ? total : interval; }
};
FlowPicture picture_of(const ModelState& state);
/// The same with the beats of the flow's commands.
FlowPicture picture_of_commands(const ModelState& state);

/// The intervals that a chart shows: a column of the screen has one or several, or an interval has several columns.
struct TimeColumns {
    std::vector<const Beat*> beats = {};  ///< by column; null if unknown
    std::deque<Beat> merged = {};         ///< the beats that they point to; silent intervals have one too
    int first = 0;                        ///< the first column with an interval
    std::int64_t begin_ns = 0;            ///< of the first interval shown
    std::int64_t end_ns = 0;              ///< of the last

    TimeColumns() = default;
    TimeColumns(const TimeColumns&) = delete;  // pointers into `merged`
    TimeColumns(TimeColumns&&) = default;
    TimeColumns& operator=(TimeColumns&&) = default;

    bool empty() const { return begin_ns == end_ns; }
};
/// Intervals since the flow's first beat, wider if there are few. If they do not fit `width` columns, the newest; for a
/// source that is played back, all: several in each column.
TimeColumns time_columns(const FlowPicture& picture, int width);

/// Room of a chart: title above, times below, figures at the left.
struct Plot {
    int x = 0;
    int y = 0;
    int width = 0;
    int height = 0;

    bool empty() const { return width < 4 || height < 1; }
};
inline constexpr int axis_width = 9;  ///< "16777215", the highest PSN, and the line

/// Draws title and axis lines; returns the room for the plot. `right` columns are kept free for words.
Plot frame_chart(Pane& pane, std::string_view title, bool chosen, int right);
/// A figure next to the axis, in the row of the plot.
void label_row(Pane& pane, const Plot& plot, int row, std::string_view text);
/// Times below the plot: at column `first` of it, and at its end.
void label_times(Pane& pane, const Plot& plot, int first, std::int64_t begin_ns, std::int64_t end_ns);
/// Instead of the plot: why there is nothing to show, and what to do.
void explain(Pane& pane, const Plot& plot, std::span<const std::string> lines);

/// The charts, in the order of ModelState::chart.
void draw_states_chart(Canvas& canvas, Area area, const FlowPicture& picture, bool chosen);
void draw_latency_chart(Canvas& canvas, Area area, const FlowPicture& picture, bool chosen);
void draw_sequence_chart(Canvas& canvas, Area area, const FlowPicture& picture, bool chosen);
void draw_outstanding_chart(Canvas& canvas, Area area, const FlowPicture& picture, bool chosen);

/// The latency of a connection's commands; the beats of the picture are those of commands.
void draw_command_latency_chart(Canvas& canvas, Area area, const FlowPicture& picture);

}  // namespace tui::view
