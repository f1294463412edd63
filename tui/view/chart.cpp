#include "tui/view/chart.h"

#include <algorithm>
#include <array>

#include "tui/view/figures.h"

namespace tui::inline view {

namespace {
constexpr int widest_interval = 3;                    ///< columns
constexpr std::uint64_t coarse_ns = 120'000'000'000;  ///< longer stretches need no milliseconds

/// An interval in which nothing passed, seen from the beat that ended the silence. One gap lies over all of such an
/// interval, its time was counted where it ended, and there it exceeds all else: so it has the greatest share.
Beat silent(const Beat& next, const Pulse& pulse) {
    Beat beat;
    beat.start_ns = pulse.start_ns;
    beat.outstanding_mean = next.outstanding_mean;
    beat.outstanding_max = next.outstanding_max;
    const auto longest = std::max_element(next.states.begin(), next.states.end());
    if (*longest != 0) beat.states[static_cast<std::size_t>(longest - next.states.begin())] = 255;
    return beat;
}

/// Times come from files: a nonsensical one must not overflow.
std::int64_t end_of(const Pulse& pulse) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(pulse.start_ns) + pulse.length_ns);
}

using Pulses = std::deque<Pulse>::const_iterator;

/// A beat for each interval, silent ones among them; none after the last, which is not complete yet.
std::deque<Beat> lived(const std::vector<Beat>& beats, Pulses first, Pulses last) {
    std::deque<Beat> all;
    auto beat = beats.begin();
    for (Pulses pulse = first; pulse != last; ++pulse) {
        while (beat != beats.end() && beat->start_ns < pulse->start_ns) ++beat;
        if (beat == beats.end()) break;
        all.push_back(beat->start_ns == pulse->start_ns ? *beat : silent(*beat, *pulse));
    }
    return all;
}

/// What a flow did in several intervals.
Beat merged(std::deque<Beat>::const_iterator begin, std::deque<Beat>::const_iterator end) {
    Beat sum = *begin;
    const auto count = static_cast<unsigned>(end - begin);
    std::array<unsigned, metrics::state_count> states{};
    sum.outstanding_mean = 0;
    sum.latency = {};
    for (auto beat = begin; beat != end; ++beat) {
        sum.outstanding_mean += beat->outstanding_mean / static_cast<float>(count);
        sum.outstanding_max = std::max(sum.outstanding_max, beat->outstanding_max);
        for (std::size_t i = 0; i < states.size(); ++i) states[i] += beat->states[i];
        for (std::size_t i = 0; i < Beat::latency_bins; ++i)
            sum.latency[i] = static_cast<std::uint16_t>(std::min(sum.latency[i] + beat->latency[i], 65'535));
    }
    for (std::size_t i = 0; i < states.size(); ++i)
        sum.states[i] = static_cast<std::uint8_t>((states[i] + count / 2) / count);
    return sum;
}

}  // namespace

FlowPicture picture_of(const ModelState& state) {
    return {state, state.flow_total(), state.flow_interval(), state.timeline.beats(state.flow_id)};
}

FlowPicture picture_of_commands(const ModelState& state) {
    return {state, state.flow_total(), state.flow_interval(), state.timeline.command_beats(state.flow_id)};
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
    const int together = picture.state.feed.playable ? (count + width - 1) / width : 1;
    const int groups = std::min((count + together - 1) / together, width / wide);
    const int shown = std::min(count, groups * together);
    columns.first = width - groups * wide;
    columns.begin_ns = (pulses.end() - shown)->start_ns;
    columns.end_ns = end_of(pulses.back());
    std::deque<Beat> beats = lived(picture.beats, pulses.end() - shown, pulses.end());
    const auto held = static_cast<int>(beats.size());
    for (int group = 0; group * together < held; ++group) {
        const auto begin = beats.begin() + group * together;
        columns.merged.push_back(merged(begin, begin + std::min(together, held - group * together)));
        std::fill_n(columns.beats.begin() + columns.first + group * wide, wide, &columns.merged.back());
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
    const bool finer = static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(begin_ns) < coarse_ns;
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

}  // namespace tui::view
