// How long operations took: a heat map, and percentiles next to it.
#include "tui/view/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>

#include "exporters/flow_fields.h"
#include "metrics/figures/latencies.h"
#include "tui/view/figures.h"

namespace tui::inline view {

namespace {

constexpr int quantile_words_width = 21;  ///< "p99.9  12.3ms  12.3ms"
constexpr int quantile_words_from = 52;
constexpr unsigned hottest = 7;

constexpr std::array<double, 5> quantile_shares{0.5, 0.9, 0.99, 0.999, 1};
constexpr std::array<std::string_view, 5> quantile_names{"p50", "p90", "p99", "p99.9", "max"};

std::string quantile(const metrics::FlowSnapshot* flow, metrics::Operation operation, double share,
                     const Letters& letters) {
    if (flow == nullptr) return "-";
    const auto ns = flow->operations[metrics::index_of(operation)].latency_ns.quantile(share);
    return base::format_duration(ns, in_column(letters));
}

void draw_percentiles(Pane& pane, const Plot& plot, const FlowPicture& picture) {
    const auto operation = metrics::main_operation(*picture.any());
    if (!operation || plot.height < 2) return;
    const int x = plot.x + plot.width + 1;
    int y = plot.y;
    pane.right(x + 6, y, "interval", {Role::dim}, 8);
    pane.right(x + 14, y++, "total", {Role::dim}, 7);
    for (std::size_t i = 0; i < quantile_shares.size() && y < plot.y + plot.height; ++i) {
        pane.text(x, y, quantile_names[i], {Role::dim});
        pane.right(x + 6, y, quantile(picture.interval, *operation, quantile_shares[i], pane.letters), {}, 8);
        pane.right(x + 14, y, quantile(picture.total, *operation, quantile_shares[i], pane.letters), {}, 7);
        ++y;
    }
}

/// Few rows are drawn higher.
int row_height(const Plot& plot, const HeatMap& map) {
    constexpr int highest = 6;
    return std::clamp(plot.height / std::max(static_cast<int>(map.rows.size()), 1), 1, highest);
}
/// The lowest line of a row.
int y_of(const Plot& plot, const HeatMap& map, std::size_t row) {
    return plot.y + plot.height - 1 - static_cast<int>(row) * row_height(plot, map);
}

void draw_cells(Pane& pane, const Plot& plot, const HeatMap& map) {
    for (std::size_t row = 0; row < map.rows.size(); ++row)
        for (std::size_t column = 0; column < map.rows[row].size(); ++column) {
            const unsigned heat_step = heat_of(map.rows[row][column], map.most);
            if (heat_step == 0) continue;
            // Four shades for seven steps: what is darkest is so without colours too.
            const std::size_t shade = 1 + (heat_step - 1) * 3 / (hottest - 1);
            for (int line = 0; line < row_height(plot, map); ++line)
                pane.put(plot.x + static_cast<int>(column), y_of(plot, map, row) - line, pane.letters.shades[shade],
                         {heat(heat_step - 1)});
        }
}

}  // namespace

HeatMap heat_map_of(const TimeColumns& columns, int height) {
    HeatMap map;
    std::size_t low = Beat::latency_bins;
    std::size_t high = 0;
    for (const Beat* const beat : columns.beats) {
        if (beat == nullptr) continue;
        for (std::size_t bin = 0; bin < Beat::latency_bins; ++bin) {
            if (beat->latency[bin] == 0) continue;
            low = std::min(low, bin);
            high = std::max(high, bin);
        }
    }
    if (low > high || height <= 0) return map;
    const auto rows = static_cast<std::size_t>(height);
    map.lowest = low;
    map.bins_per_row = (high - low + rows) / rows;
    map.rows.assign((high - low) / map.bins_per_row + 1, std::vector<std::uint32_t>(columns.beats.size()));
    for (std::size_t column = 0; column < columns.beats.size(); ++column) {
        if (columns.beats[column] == nullptr) continue;
        for (std::size_t bin = low; bin <= high; ++bin) {
            std::uint32_t& count = map.rows[(bin - low) / map.bins_per_row][column];
            count += columns.beats[column]->latency[bin];
            map.most = std::max(map.most, count);
        }
    }
    return map;
}

unsigned heat_of(std::uint32_t count, std::uint32_t most) {
    if (count == 0) return 0;
    if (count >= most) return hottest;
    const double share = std::log1p(static_cast<double>(count)) / std::log1p(static_cast<double>(most));
    return std::clamp(1 + static_cast<unsigned>(share * (hottest - 1)), 1U, hottest);
}

namespace {

/// The map with its axes; `missing`: what is said if there is nothing to show.
void draw_map(Pane& pane, const Plot& plot, const FlowPicture& picture, const std::array<std::string, 2>& missing) {
    const TimeColumns columns = time_columns(picture, plot.width);
    const HeatMap map = heat_map_of(columns, plot.height);
    if (map.rows.empty()) return explain(pane, plot, missing);
    draw_cells(pane, plot, map);
    for (std::size_t row = 0; row < map.rows.size(); ++row) {
        const std::size_t bin = map.lowest + row * map.bins_per_row;
        label_row(pane, plot, y_of(plot, map, row) - plot.y,
                  base::format_duration(std::uint64_t{1} << bin, in_column(pane.letters)));
    }
    label_times(pane, plot, columns.first, columns.begin_ns, columns.end_ns);
}

}  // namespace

void draw_latency_chart(Canvas& canvas, Area area, const FlowPicture& picture, bool chosen) {
    Pane pane(canvas, area);
    const auto operation = picture.any() != nullptr ? metrics::main_operation(*picture.any()) : std::nullopt;
    const bool words = pane.width() >= quantile_words_from && operation.has_value();
    const Plot plot = frame_chart(
        pane,
        words ? fmt::format("latency of all operations; of {}:", metrics::name_of(*operation)) : std::string("latency"),
        chosen, words ? quantile_words_width + 1 : 0);
    if (plot.empty()) return;
    if (words) draw_percentiles(pane, plot, picture);
    draw_map(pane, plot, picture, {"no operation was measured", "only what is answered has a latency"});
}

void draw_command_latency_chart(Canvas& canvas, Area area, const FlowPicture& picture) {
    Pane pane(canvas, area);
    const Plot plot = frame_chart(pane, "latency of all commands", true, 0);
    if (plot.empty()) return;
    draw_map(pane, plot, picture, {"no command was answered", "only an answered command has a latency"});
}

}  // namespace tui::view
