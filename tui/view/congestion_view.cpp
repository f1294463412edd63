// Congestion: marks, notifications and pauses of all traffic, pauses by priority, and the flows that they befell.
#include <fmt/core.h>
#include <numeric>

#include "tui/view/figures.h"
#include "tui/view/flow_cells.h"
#include "tui/view/screen.h"
#include "tui/view/sparkline.h"
#include "tui/view/state_bar.h"
#include "tui/view/table.h"

namespace tui::inline view {

namespace {

using metrics::FlowSnapshot;
using metrics::PauseSnapshot;

constexpr double bits_of_quantum = 512;  ///< IEEE 802.3, annex 31B

struct Totals {
    std::uint64_t packets = 0;
    std::uint64_t capable = 0;
    std::uint64_t ce = 0;
    std::uint64_t cnps = 0;
    std::uint64_t pauses = 0;  ///< of all traffic, 802.3 annex 31B
    std::uint64_t pfc = 0;     ///< 802.1Qbb; a frame that stops two priorities is one
};

Totals totals_of(const metrics::Snapshot& snapshot) {
    Totals totals;
    for (const FlowSnapshot& flow : snapshot.flows) {
        totals.packets += flow.packets;
        totals.capable += flow.ecn_capable_packets;
        totals.ce += flow.ecn_ce_packets;
        totals.cnps += flow.cnp_packets;
    }
    for (const PauseSnapshot& pause : snapshot.pauses) {
        totals.pauses += pause.pause_frames;
        totals.pfc += pause.pfc_frames;
    }
    return totals;
}

std::string ecn_words(const Totals& totals) {
    if (totals.packets == 0) return "";
    if (totals.capable == 0) return "no packet is ECN-capable";
    return fmt::format("{} of {} ECT packets",
                       base::format_percent(static_cast<double>(totals.ce) / static_cast<double>(totals.capable)),
                       base::group_digits(totals.capable));
}

std::string pause_words(const Totals& totals) {
    if (totals.pauses + totals.pfc == 0) return {};
    return fmt::format("PAUSE {}, PFC {}", base::group_digits(totals.pauses), base::group_digits(totals.pfc));
}

void draw_total(Pane& pane, const ModelState& state, int y, std::string_view name, std::uint64_t count,
                const std::string& words, PulseFigure figure) {
    constexpr int names = 16;
    constexpr int counts = 12;
    constexpr int sparks = 34;  ///< column in which sparklines begin
    const bool some = count > 0;
    const int spark = std::clamp(pane.width() - sparks - 36, 0, 120);
    pane.text(2, y, name, {Role::normal, false, some}, names);
    pane.right(2 + names, y, base::group_digits(count), {some ? Role::warning : Role::dim, false, some}, counts);
    draw_sparkline(pane, sparks, y, spark, state.timeline.pulses(), figure, Role::chart);
    pane.text(sparks + spark + 2, y, words, {Role::dim});
}

/// Returns the lines taken.
int draw_totals(Pane& pane, const ModelState& state, int y, const metrics::Snapshot& snapshot) {
    const Totals totals = totals_of(snapshot);
    draw_total(pane, state, y, "CE marks", totals.ce, ecn_words(totals), &Pulse::ce);
    draw_total(pane, state, y + 1, "CNPs", totals.cnps, "", &Pulse::cnps);
    draw_total(pane, state, y + 2, "pauses", totals.pauses + totals.pfc, pause_words(totals), &Pulse::pauses);
    return 3;
}

/// The rate of the link that an interface sees: the fastest that its flows were reckoned with.
std::optional<std::uint64_t> link_of(const metrics::Snapshot& snapshot, std::uint32_t interface) {
    std::optional<std::uint64_t> fastest;
    for (const FlowSnapshot& flow : snapshot.flows)
        if (flow.interface == interface && flow.link_bits_per_sec)
            fastest = std::max(fastest.value_or(0), *flow.link_bits_per_sec);
    return fastest;
}

/// "12 1.21ms": how often and for how long in all; without the link's rate in quanta, and where there is little room,
/// how often alone.
TableCell pause_cell(const PauseSnapshot& pause, std::size_t priority, std::optional<std::uint64_t> link,
                     bool brief_one, const Letters& letters) {
    const std::uint64_t frames = pause.priority_frames[priority];
    if (frames == 0) return {"-", {Role::dim}};
    if (brief_one) return {short_count(frames), {Role::warning}};
    if (pause.stopped_ns) {
        const auto held_ns = static_cast<double>(pause.stopped_ns->priority_ns[priority]);
        return {fmt::format("{}: {}", short_count(frames), base::format_duration(held_ns, in_column(letters))),
                {Role::warning}};
    }
    const auto quanta = static_cast<double>(pause.priority_quanta[priority]);
    const bool timed = link && *link > 0;
    const std::string asked =
        timed ? base::format_duration(quanta * bits_of_quantum * 1e9 / static_cast<double>(*link), in_column(letters))
              : base::format_count(quanta) + "q";
    return {fmt::format("{}: {}", short_count(frames), asked), {Role::warning}};
}

/// Returns the lines taken.
int draw_pauses(Canvas& canvas, Pane& pane, int y, const metrics::Snapshot& snapshot) {
    if (snapshot.pauses.empty() || pane.height() - y < 4) return 0;
    constexpr int roomy = 132;  ///< eight columns of "123: 1.21ms"
    const bool brief_one = pane.width() < roomy;
    std::vector<TableColumn> columns{{"pauses", true, 6}, {"all", false, 4}, {"resumed", false, 4}};
    for (unsigned priority = 0; priority < 8; ++priority)
        columns.push_back({fmt::format("{}{}", brief_one ? "p" : "priority ", priority), false, brief_one ? 5 : 10});
    std::vector<TableRow> rows;
    for (const PauseSnapshot& pause : snapshot.pauses) {
        if (static_cast<int>(rows.size()) + 3 > pane.height() - y) break;
        const auto link = link_of(snapshot, pause.interface);
        TableRow row;
        row.cells = {{fmt::format("if {}", pause.interface)},
                     {base::group_digits(pause.pause_frames), {pause.pause_frames > 0 ? Role::warning : Role::dim}},
                     {base::group_digits(pause.resume_frames), {Role::dim}}};
        for (std::size_t priority = 0; priority < 8; ++priority)
            row.cells.push_back(pause_cell(pause, priority, link, brief_one, canvas.letters));
        rows.push_back(std::move(row));
    }
    draw_table(pane, y, columns, rows);
    return static_cast<int>(rows.size()) + 1;
}

const std::vector<TableColumn>& columns_of_flows() {
    static const std::vector<TableColumn> columns{
        {"source > destination", true, 25, 34, 0, 0},
        {"CE", false, 6, 0, 0, 0},
        {"of ECT", false, 7, 0, 0, 1},
        {"CNPs", false, 6, 0, 0, 0},
        {"CNP gap", false, 7, 0, 0, 4},
        {"rate left", false, 9, 0, 0, 3},
        {"paced", false, 7, 0, 0, 2},
        {"link shared", false, 11, 0, 0, 5},
        {"time", true, 10, 0, 80, 6},
    };
    return columns;
}

TableCell share_cell(double share, double bad_from) {
    if (share <= 0) return {"-", {Role::dim}};
    return {base::format_percent(share, {base::Spacing::column}), {share >= bad_from ? Role::bad : Role::warning}};
}

TableCell count_cell(std::uint64_t count) {
    return {base::group_digits(count), {count > 0 ? Role::warning : Role::dim}};
}

double share_of_state(const FlowSnapshot& flow, metrics::State state) {
    const double sum = std::accumulate(flow.state_ns.begin(), flow.state_ns.end(), 0.0);
    return sum <= 0 ? 0 : static_cast<double>(flow.state_ns[metrics::index_of(state)]) / sum;
}

TableRow row_of(const FlowSnapshot& flow, const exporters::Context& context, const Letters& letters) {
    const double marked = flow.ecn_capable_packets == 0 ? 0
                                                        : static_cast<double>(flow.ecn_ce_packets) /
                                                              static_cast<double>(flow.ecn_capable_packets);
    const auto gap = flow.cnp_interval_ns.quantile(0.5);
    const auto& left = flow.rate_drop_after_cnp;
    constexpr double much = 0.1;
    TableRow row;
    TableCell name{flow_text({flow, context}, letters, 1 << 16)};
    name.paint = [&flow, &context, &letters](Pane& pane, int x, int y, int width) {
        pane.text(x, y, flow_text({flow, context}, letters, width), {}, width);
    };
    row.cells = {std::move(name),
                 count_cell(flow.ecn_ce_packets),
                 share_cell(marked, much),
                 count_cell(flow.cnp_packets),
                 TableCell{base::format_duration(gap, in_column(letters)), {gap ? Role::normal : Role::dim}},
                 TableCell{base::format_percent(left, {base::Spacing::column}),
                           {!left         ? Role::dim
                            : *left < 0.5 ? Role::bad
                                          : Role::normal}},
                 share_cell(share_of_state(flow, metrics::State::congestion_paced), much),
                 share_cell(share_of_state(flow, metrics::State::link_shared), 2)};
    TableCell time;
    time.keeps_style = true;
    time.paint = [&flow](Pane& pane, int x, int y, int width) {
        draw_state_bar(pane, x, y, width, flow.state_ns, false);
    };
    row.cells.push_back(std::move(time));
    return row;
}

void draw_flows_of(Canvas& canvas, Area area) {
    const ModelState& state = canvas.state;
    Pane pane(canvas, area);
    const int height = pane.height() - 1;
    canvas.drawn.page = static_cast<std::size_t>(std::max(height, 1));
    if (state.congested.empty()) {
        const std::vector<std::string> lines{state.choice.window == Window::interval
                                                 ? "no flow was marked, notified or paced in this interval"
                                                 : "no flow was marked, notified or paced since the start"};
        return draw_notice(pane, lines, Role::dim);
    }
    const exporters::Context context{state.names, state.reading->crc_verified, {}};
    const PageOfRows page = page_of(state.place(), state.congested.size(), height);
    std::vector<TableRow> rows;
    for (std::size_t i = page.first; i < page.last; ++i) {
        TableRow row = row_of(*state.congested[i], context, canvas.letters);
        row.index = i;
        row.selected = i == state.place().selected;
        rows.push_back(std::move(row));
    }
    draw_table(pane, 0, columns_of_flows(), rows);
}

}  // namespace

void draw_congestion(Canvas& canvas, Area area) {
    const ModelState& state = canvas.state;
    Pane pane(canvas, area);
    if (!state.reading || state.shown() == nullptr) return draw_no_reading(pane, state);
    const metrics::Snapshot& snapshot = *state.shown();
    int y = draw_totals(pane, state, 0, snapshot) + 1;
    if (const int taken = draw_pauses(canvas, pane, y, snapshot); taken > 0) y += taken + 1;
    draw_flows_of(canvas, {area.x, area.y + y, area.width, area.height - y});
}

}  // namespace tui::view
