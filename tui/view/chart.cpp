#include "tui/view/chart.h"

#include <algorithm>

#include "tui/view/figures.h"

namespace tui {

namespace {
constexpr int widest_interval = 3;  ///< columns
constexpr std::int64_t coarse_ns = 120'000'000'000;
}  // namespace

FlowPicture picture_of(const State& state) {
    return {state, state.flow_total(), state.flow_interval(), state.timeline.beats(state.flow_id)};
}

TimeColumns time_columns(const FlowPicture& picture, int width) {
    TimeColumns columns;
    columns.beats.assign(static_cast<std::size_t>(std::max(width, 0)), nullptr);
    const std::deque<Pulse>& pulses = picture.state.timeline.pulses();
    if (width <= 0 || picture.beats.empty() || pulses.empty()) return columns;
    const std::int64_t born_ns = picture.beats.front().start_ns;
    const auto first =
        std::find_if(pulses.begin(), pulses.end(), [born_ns](const Pulse& pulse) { return pulse.start_ns >= born_ns; });
    const auto count = static_cast<int>(pulses.end() - first);
    if (count == 0) return columns;
    const int wide = std::clamp(width / count, 1, widest_interval);
    const int shown = std::min(count, width / wide);
    auto beat = picture.beats.begin();
    columns.first = width - shown * wide;
    columns.begin_ns = (pulses.end() - shown)->start_ns;
    columns.end_ns = pulses.back().start_ns + static_cast<std::int64_t>(pulses.back().length_ns);
    auto column = columns.beats.begin() + columns.first;
    for (auto pulse = pulses.end() - shown; pulse != pulses.end(); ++pulse, column += wide) {
        while (beat != picture.beats.end() && beat->start_ns < pulse->start_ns) ++beat;
        if (beat != picture.beats.end() && beat->start_ns == pulse->start_ns) std::fill_n(column, wide, &*beat);
    }
    return columns;
}

Plot frame_chart(Pane& pane, std::string_view title, bool chosen, int right) {
    Style style{chosen ? Role::accent : Role::title, false, true};
    int x = 0;
    if (chosen) pane.put(x, 0, pane.letters.folded, style);
    x = 2;
    x += pane.text(x, 0, title, style, pane.width() - x) + 1;
    pane.fill(x, 0, pane.width() - x, pane.letters.horizontal, {Role::dim});
    const Plot plot{axis_width, 1, pane.width() - axis_width - right, pane.height() - 2};
    if (plot.empty()) return plot;
    for (int row = 0; row < plot.height; ++row) pane.put(plot.x - 1, plot.y + row, pane.letters.vertical, {Role::dim});
    return plot;
}

void label_row(Pane& pane, const Plot& plot, int row, std::string_view text) {
    if (row < 0 || row >= plot.height) return;
    pane.right(0, plot.y + row, text, {Role::dim}, plot.x - 1);
}

void label_times(Pane& pane, const Plot& plot, int first, std::int64_t begin_ns, std::int64_t end_ns) {
    const bool finer = end_ns - begin_ns < coarse_ns;
    const std::string begin = clock_text(begin_ns, finer);
    const std::string end = clock_text(end_ns, finer);
    const int y = plot.y + plot.height;
    const int last = plot.x + plot.width - width_of(end);
    pane.text(last, y, end, {Role::dim});
    const int room = last - (plot.x + first) - 1;
    if (room >= width_of(begin)) {
        pane.text(plot.x + first, y, begin, {Role::dim});
    } else if (last - plot.x > width_of(begin)) {
        // Few intervals at the right: what they are about stands to their left.
        pane.text(last - 3 - width_of(begin), y, begin, {Role::dim});
        pane.text(last - 2, y, "-", {Role::dim});
    }
}

void explain(Pane& pane, const Plot& plot, std::span<const std::string> lines) {
    if (plot.empty()) return;
    const auto count = static_cast<int>(lines.size());
    int y = plot.y + std::max((plot.height - count) / 2, 0);
    for (const std::string& line : lines) {
        if (y >= plot.y + plot.height) return;
        pane.text(plot.x + 1, y++, line, {Role::dim}, plot.width - 1);
    }
}

}  // namespace tui
