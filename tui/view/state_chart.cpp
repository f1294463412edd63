// Where the time went, interval by interval, and in all.
#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <numeric>

#include "tui/view/chart.h"
#include "tui/view/figures.h"

namespace tui::inline view {

namespace {

constexpr int state_words_width = 26;  ///< "G congestion paced  99.9 %"
constexpr int state_words_from = 56;   ///< columns; on fewer, the plot has them all

/// Rows of a column from below, the states in their order; what the flow did not live through stays empty.
void draw_column(Pane& pane, const Plot& plot, int column, const Beat& beat) {
    constexpr unsigned full = 255;
    std::array<std::uint64_t, metrics::state_count + 1> shares{};
    std::copy(beat.states.begin(), beat.states.end(), shares.begin());
    const std::uint64_t lived = std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
    shares.back() = full - std::min<std::uint64_t>(lived, full);
    const std::vector<int> rows = deal(shares.data(), shares.size(), plot.height);
    int y = plot.y + plot.height;
    for (std::size_t i = 0; i < metrics::state_count; ++i) {
        const auto state = static_cast<metrics::State>(i);
        for (int left = rows[i]; left > 0; --left)
            pane.put(plot.x + column, --y, static_cast<char32_t>(state_letter(state)), {role_of(state)});
    }
}

void draw_words(Pane& pane, const Plot& plot, int x, const metrics::FlowSnapshot& flow) {
    std::vector<metrics::State> states;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < flow.state_ns.size(); ++i) {
        sum += flow.state_ns[i];
        if (flow.state_ns[i] != 0) states.push_back(static_cast<metrics::State>(i));
    }
    std::stable_sort(states.begin(), states.end(), [&flow](metrics::State a, metrics::State b) {
        return flow.state_ns[metrics::index_of(a)] > flow.state_ns[metrics::index_of(b)];
    });
    for (std::size_t i = 0; i < states.size() && static_cast<int>(i) < plot.height; ++i) {
        const metrics::State state = states[i];
        const int y = plot.y + static_cast<int>(i);
        const double share = static_cast<double>(flow.state_ns[metrics::index_of(state)]) / static_cast<double>(sum);
        pane.put(x, y, static_cast<char32_t>(state_letter(state)), {role_of(state)});
        pane.text(x + 2, y, state_words(state), {}, state_words_width - 10);
        pane.right(x + state_words_width - 7, y, base::format_percent(share), {}, 7);
    }
}

}  // namespace

void draw_states_chart(Canvas& canvas, Area area, const FlowPicture& picture, bool chosen) {
    Pane pane(canvas, area);
    const bool words = pane.width() >= state_words_from;
    const Plot plot = frame_chart(pane, words ? "where the time went; in all:" : "where the time went", chosen,
                                  words ? state_words_width + 1 : 0);
    if (plot.empty()) return;
    if (words && picture.any() != nullptr) draw_words(pane, plot, plot.x + plot.width + 1, *picture.any());
    const TimeColumns columns = time_columns(picture, plot.width);
    if (columns.empty()) return explain(pane, plot, std::array<std::string, 1>{"no interval with traffic yet"});
    label_row(pane, plot, 0, "100 %");
    if (plot.height >= 5) label_row(pane, plot, plot.height / 2, "50 %");
    label_row(pane, plot, plot.height - 1, plot.height > 1 ? "0 %" : "");
    for (std::size_t i = 0; i < columns.beats.size(); ++i)
        if (columns.beats[i] != nullptr) draw_column(pane, plot, static_cast<int>(i), *columns.beats[i]);
    label_times(pane, plot, columns.first, columns.begin_ns, columns.end_ns);
}

}  // namespace tui::view
