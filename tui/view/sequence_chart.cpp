// Sequence against time: what was sent, sent again and acknowledged.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>

#include "tui/view/braille.h"
#include "tui/view/chart.h"
#include "tui/view/figures.h"

namespace tui::inline view {

namespace {

using Kind = SequencePoint::Kind;

/// In the order in which marks may hide one another: ACKs are seen where they lag after the data. The marks that stand
/// out are letters on every terminal.
const std::vector<Ink> palette{
    {Role::chart_second, U'-', U'-'},  // ACKs
    {Role::chart, 0, U'.'},            // data
    {Role::good, 0, U':'},             // READ responses
    {Role::warning, U'R', U'R'},       // sent again
    {Role::bad, U'N', U'N'},           // NAKs
};
constexpr std::uint8_t ink_of(Kind kind) {
    switch (kind) {
        case Kind::ack: return 0;
        case Kind::data: return 1;
        case Kind::response: return 2;
        case Kind::repeated: return 3;
        case Kind::nak: return 4;
        case Kind::cnp: return 0;  // not among the trace's points
    }
    return 0;
}

struct Bounds {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
    std::int64_t low = 0;
    std::int64_t high = 0;  ///< one more than the highest
};

/// Bounds for the time that the charts next to this one show; `reverse`: of the opposite direction's numbers.
std::optional<Bounds> bounds_of(const std::deque<SequencePoint>& points, bool reverse, std::int64_t from_ns) {
    std::optional<Bounds> bounds;
    for (const SequencePoint& point : points) {
        if (point.reverse != reverse || point.time_ns < from_ns) continue;
        const std::int64_t end = point.sequence + std::max<std::int64_t>(point.length, 1);
        if (!bounds) bounds = Bounds{point.time_ns, point.time_ns, point.sequence, end};
        bounds->from_ns = std::min(bounds->from_ns, point.time_ns);
        bounds->to_ns = std::max(bounds->to_ns, point.time_ns);
        bounds->low = std::min(bounds->low, point.sequence);
        bounds->high = std::max(bounds->high, end);
    }
    return bounds;
}

/// Where in `room` dots a value of [low, high] lies.
int place_of(std::int64_t value, std::int64_t low, std::int64_t high, int room) {
    if (high <= low) return room / 2;
    const auto distance = [low](std::int64_t to) {
        return static_cast<double>(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(low));
    };
    const double share = distance(value) / distance(high);
    return std::clamp(static_cast<int>(share * (room - 1) + 0.5), 0, room - 1);
}

void plot_point(Braille& dots, const Bounds& bounds, const SequencePoint& point) {
    const int x = place_of(point.time_ns, bounds.from_ns, bounds.to_ns, dots.dot_width());
    const std::int64_t last = point.sequence + std::max<std::int64_t>(point.length, 1) - 1;
    const int low = place_of(point.sequence, bounds.low, bounds.high - 1, dots.dot_height());
    const int high = place_of(last, bounds.low, bounds.high - 1, dots.dot_height());
    for (int y = low; y <= high; ++y) dots.dot(x, dots.dot_height() - 1 - y, ink_of(point.kind));
}

std::string sequence_text(std::int64_t sequence, bool iwarp) {
    if (iwarp) return base::format_count(static_cast<double>(sequence)) + "B";
    return fmt::to_string(sequence & 0xffffff);
}

/// What the marks mean, and how many of each there are.
void draw_legend(Pane& pane, int x, int y, const std::array<std::size_t, 5>& counts, bool iwarp) {
    const std::array<std::string_view, 5> names{"ACK", "data", "READ responses", "sent again",
                                                iwarp ? "duplicate ACK" : "NAK"};
    for (std::size_t i = palette.size(); i-- > 0;) {
        if (counts[i] == 0) continue;
        const Ink& ink = palette[i];
        const std::string text = fmt::format(" {} {}  ", base::group_digits(counts[i]), names[i]);
        if (x + 1 + width_of(text) - 2 > pane.width()) return;
        const char32_t glyph = ink.letter != 0 ? ink.letter : pane.letters.braille ? U'\u28ff' : ink.ascii;
        pane.put(x, y, glyph, {ink.role, false, ink.letter != 0});
        x += 1 + pane.text(x + 1, y, text, {Role::dim});
    }
}

/// Why there is no plot, and what to do about it.
std::vector<std::string> reason(const FlowPicture& picture) {
    const ModelState& state = picture.state;
    if (!state.feed.has_packets) {
        const bool history = state.feed.kind == SourceKind::history;
        return {fmt::format("{} gives figures, not frames", history ? "history" : "this source"),
                "`rdmascope top` on the interface, or -r on a capture",
                "(`rdmascope dump -w`, the recorder's files), has them"};
    }
    if (state.trace.flow() != state.flow_id) return {"the flow's frames have not been looked at yet"};
    return {"no frame of this flow is kept any more"};
}

}  // namespace

void draw_sequence_chart(Canvas& canvas, Area area, const FlowPicture& picture, bool chosen) {
    Pane pane(canvas, area);
    const bool iwarp = picture.any() != nullptr && picture.any()->transport == wire::Transport::iwarp;
    const std::deque<SequencePoint>& points = picture.state.trace.points();
    // Who only answers READs sends PSNs of the opposite direction's.
    const bool reverse = std::all_of(points.begin(), points.end(), [](const auto& point) { return point.reverse; });
    const std::string title = fmt::format("{} against time{}", iwarp ? "bytes of the TCP stream" : "PSN",
                                          reverse && !points.empty() ? ", of the opposite direction" : "");
    Plot plot = frame_chart(pane, title, chosen, 0);
    if (plot.empty()) return;
    const TimeColumns columns = time_columns(picture, plot.width);
    std::optional<Bounds> bounds;
    if (picture.state.trace.flow() == picture.state.flow_id) {
        bounds = bounds_of(points, reverse, columns.empty() ? 0 : columns.begin_ns);
        if (!bounds) bounds = bounds_of(points, reverse, 0);
    }
    if (!bounds) return explain(pane, plot, reason(picture));
    const bool legend = plot.height >= 4;
    if (legend) {
        pane.put(plot.x - 1, plot.y, U' ');
        ++plot.y;
        --plot.height;
    }
    Braille dots(plot.width, plot.height);
    std::array<std::size_t, 5> counts{};
    for (const SequencePoint& point : points) {
        if (point.reverse != reverse || point.time_ns < bounds->from_ns) continue;
        plot_point(dots, *bounds, point);
        ++counts[ink_of(point.kind)];
    }
    dots.draw(pane, plot.x, plot.y, palette);
    if (legend) draw_legend(pane, plot.x, plot.y - 1, counts, iwarp);
    label_row(pane, plot, 0, sequence_text(bounds->high - 1, iwarp));
    if (plot.height >= 5)
        label_row(pane, plot, plot.height / 2, sequence_text(bounds->low + (bounds->high - bounds->low) / 2, iwarp));
    if (plot.height >= 2) label_row(pane, plot, plot.height - 1, sequence_text(bounds->low, iwarp));
    label_times(pane, plot, 0, bounds->from_ns, bounds->to_ns);
}

}  // namespace tui::view
