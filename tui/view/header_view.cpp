// Three lines above every view: the source and how it fares, the rates, the views.
#include <algorithm>
#include <cmath>
#include <fmt/core.h>

#include "tui/view/figures.h"
#include "tui/view/pane.h"
#include "tui/view/screen.h"
#include "tui/view/sparkline.h"

namespace tui::inline view {

namespace {

constexpr int narrow_header = 100;  ///< columns; with fewer, dates and words give way
constexpr int least_position = 8;
constexpr int most_position = 60;

std::string_view name_of(SourceKind kind) {
    switch (kind) {
        case SourceKind::live: return "live";
        case SourceKind::daemon: return "daemon";
        case SourceKind::history: return "history";
        case SourceKind::file: return "file";
    }
    return "";
}

struct Badge {
    std::string text;
    Style style;
};

/// What the capture lost since it began: the figure that all others depend on.
Badge drops_badge(const ModelState& state) {
    const auto* const capture = state.reading ? &state.reading->total.capture : nullptr;
    if (capture == nullptr || !capture->kernel_dropped) return {"drops ?", {Role::bar}};
    const std::uint64_t dropped = *capture->kernel_dropped;
    if (dropped == 0) return {"drops 0", {Role::bar}};
    const double all = static_cast<double>(dropped) + static_cast<double>(capture->packets);
    return {fmt::format(" DROPS {} ({}) ", base::group_digits(dropped),
                        base::format_percent(static_cast<double>(dropped) / all)),
            {Role::alarm}};
}

std::string clock_of(const ModelState& state, int width) {
    const FeedStatus& feed = state.feed;
    if (feed.now_ns == 0) return "--:--:--";
    const bool finer = state.reading && state.reading->length_ns < 1'000'000'000;
    const std::string clock = clock_text(feed.now_ns, finer);
    return width < narrow_header ? clock : fmt::format("{} {}", date_text(feed.now_ns), clock);
}

std::string speed_text(double speed) {
    if (speed <= 0) return "max";
    return speed < 1000 ? fmt::format("{:.3g}x", speed) : fmt::format("{:.0f}x", speed);
}

/// Play or pause and the speed. Returns the columns taken.
int draw_play(const ModelState& state, Pane& pane, int x, int y) {
    const FeedStatus& feed = state.feed;
    std::string text = feed.at_end ? "end" : speed_text(feed.speed);
    const Style style{Role::bar, false, true};
    pane.put(x, y, feed.playing && !feed.at_end ? pane.letters.playing : pane.letters.paused, style);
    const int taken = 2 + pane.text(x + 2, y, fmt::format("{:<4}", text), style);
    pane.hit(Hit::Target::play, x, y, taken, 0);
    return taken;
}

void draw_position(const ModelState& state, Pane& pane, int x, int y, int width) {
    const double share = std::clamp(state.feed.share, 0.0, 1.0);
    const int full = static_cast<int>(std::floor(share * (width - 2)));
    pane.put(x, y, U'[', {Role::bar});
    pane.put(x + width - 1, y, U']', {Role::bar});
    for (int i = 0; i < width - 2; ++i) {
        const char32_t glyph = i < full ? pane.letters.levels.back() : pane.letters.horizontal;
        pane.put(x + 1 + i, y, glyph, {Role::bar});
        const int permille = width > 3 ? i * 1000 / (width - 3) : 0;
        pane.hit(Hit::Target::position, x + 1 + i, y, 1, static_cast<std::size_t>(permille));
    }
}

/// From the right: badge, clock, position, play; what is left is the source's name.
void draw_source(const ModelState& state, Pane& pane, int y) {
    const FeedStatus& feed = state.feed;
    pane.fill(0, y, pane.width(), U' ', {Role::bar});
    const Badge badge = drops_badge(state);
    const std::string clock = clock_of(state, pane.width());
    int right = pane.width() - 1 - width_of(badge.text);
    pane.text(std::max(right, 0), y, badge.text, badge.style);
    right -= 2 + width_of(clock);
    if (right > 0) pane.text(right, y, clock, {Role::bar});
    int x = 1 + pane.text(1, y, "rdmascope", {Role::bar, false, true}, right - 2) + 2;
    const std::string source = fmt::format("{} {}", name_of(feed.kind), feed.name);
    if (feed.playable) {
        // The bar has what the name leaves, and the name what the least bar leaves.
        constexpr int play = 7;
        const int room = right - x - play - 3;
        const int position = std::clamp(room - width_of(source), least_position, most_position);
        if (room >= position) {
            right -= position + 1;
            draw_position(state, pane, right, y, position);
            right -= play;
            draw_play(state, pane, right, y);
        }
    }
    pane.text(x, y, source, {Role::bar}, right - 1 - x);
}

/// A figure with the sparkline of its past.
struct Gauge {
    std::string text;
    int width = 0;  ///< of the text at its longest: nothing moves when figures do
    PulseFigure figure = nullptr;
    Role role = Role::chart;
};

/// What the rates are made of: the last interval, or all since the source began.
Pulse measured(const ModelState& state) {
    const auto& pulses = state.timeline.pulses();
    if (state.choice.window != Window::total || !state.reading) return pulses.empty() ? Pulse{} : pulses.back();
    const metrics::Snapshot& total = state.reading->total;
    Pulse all;
    all.packets = total.capture.packets;
    all.wire_bytes = total.capture.bytes;
    all.length_ns = state.reading->whole_ns();
    for (const metrics::FlowSnapshot& flow : total.flows) {
        all.messages += flow.messages_total();
        all.rdma_bytes += flow.wire_bytes;
    }
    all.active_flows = total.flows.size();
    return all;
}

void draw_gauges(const ModelState& state, Pane& pane, int y) {
    const auto& pulses = state.timeline.pulses();
    const Pulse now = measured(state);
    // A capture of one packet lasts a nanosecond, which gives no rate.
    const bool timed = now.length_ns > 1 || now.packets == 0;
    const double seconds = static_cast<double>(std::max<std::uint64_t>(now.length_ns, 1)) / 1e9;
    const auto per_sec = [&](std::uint64_t count, const auto& text) {
        return timed ? text(static_cast<double>(count) / seconds) : std::string("-");
    };
    const auto number = [](double value) { return base::format_count(value); };
    const auto bits = [](double value) { return base::format_bit_rate(value); };
    const std::size_t flows = state.reading ? state.reading->total.flows.size() : 0;
    // What is RDMA comes first; what counts all traffic says so, and comes last.
    std::vector<Gauge> gauges{
        {"RDMA " + per_sec(now.rdma_bytes * 8, bits), 16, &Pulse::rdma_bytes, Role::chart_second},
        {per_sec(now.messages, number) + " msgs/s", 12, &Pulse::messages, Role::chart},
        {fmt::format("{}/{} flows", short_count(now.active_flows), short_count(flows)), 19, &Pulse::active_flows,
         Role::chart},
        {"all " + per_sec(now.wire_bytes * 8, bits), 15, &Pulse::wire_bytes, Role::chart_second},
    };
    if (pane.width() >= narrow_header)
        gauges.push_back({per_sec(now.packets, number) + " packets/s", 15, &Pulse::packets, Role::chart});
    int used = 1;
    for (const Gauge& gauge : gauges) used += gauge.width + 2;
    // Every sparkline that has room for six intervals; the first ones first.
    const int left = pane.width() - used;
    const int sparks = std::clamp(left / 7, 0, static_cast<int>(gauges.size()));
    const int spark = sparks == 0 ? 0 : left / sparks - 1;
    int x = 1;
    for (std::size_t i = 0; i < gauges.size(); ++i) {
        const Gauge& gauge = gauges[i];
        pane.right(x, y, gauge.text, {Role::normal, false, true}, gauge.width);
        x += gauge.width + 1;
        if (static_cast<int>(i) < sparks) {
            draw_sparkline(pane, x, y, spark, pulses, gauge.figure, gauge.role);
            x += spark + 1;
        }
        ++x;
    }
}

/// What is wrong with the source stands where its rates stood: they are of the past.
void draw_trouble(const ModelState& state, Pane& pane, int y) {
    const bool failed = state.feed.health == FeedStatus::Health::failed;
    int x = 1;
    x += pane.text(x, y, failed ? " FAILED " : " LOST ", {Role::alarm}) + 1;
    pane.text(x, y, trouble_of(state.feed, pane.width()).first, {Role::bad});
}

/// The view of one flow has no number: it is opened from a row.
std::string tab_number(View view) {
    return view == View::flow ? std::string{} : fmt::format("{} ", static_cast<unsigned>(view) + 1);
}

/// Blanks between two tabs: fewer on a screen where the last tab would not fit.
int tab_gap(int width) {
    std::size_t columns = 1;
    for (std::size_t i = 0; i < view_count; ++i) {
        const auto view = static_cast<View>(i);
        columns += tab_number(view).size() + tui::name_of(view).size() + 2;
    }
    return static_cast<int>(columns) - 1 <= width ? 2 : 1;
}

void draw_tabs(const ModelState& state, Pane& pane, int y) {
    const int gap = tab_gap(pane.width());
    int x = 1;
    for (std::size_t i = 0; i < view_count; ++i) {
        const auto view = static_cast<View>(i);
        const bool current = view == state.view;
        const int begin = x - 1;
        const Style name{current ? Role::sorted : Role::normal, false, current};
        if (current) pane.put(begin, y, U' ', name);
        x += pane.text(x, y, tab_number(view), current ? name : Style{Role::accent});
        x += pane.text(x, y, tui::name_of(view), name);
        if (current) pane.put(x, y, U' ', name);
        pane.hit(Hit::Target::tab, begin, y, x + gap - 1 - begin, i);
        x += gap;
    }
}

}  // namespace

void draw_header(Canvas& canvas, Area area) {
    Pane pane(canvas, area);
    const auto health = canvas.state.feed.health;
    draw_source(canvas.state, pane, 0);
    if (health == FeedStatus::Health::lost || health == FeedStatus::Health::failed) {
        draw_trouble(canvas.state, pane, 1);
    } else {
        draw_gauges(canvas.state, pane, 1);
    }
    draw_tabs(canvas.state, pane, 2);
}

}  // namespace tui::view
