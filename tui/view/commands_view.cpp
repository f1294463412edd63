// Commands of upper layers: a row for each connection, and below it one for each kind of command.
#include <array>
#include <fmt/core.h>

#include "tui/view/figures.h"
#include "tui/view/screen.h"
#include "tui/view/table.h"

namespace tui::inline view {

namespace {

using metrics::CommandConnectionFigures;
using metrics::CommandKindFigures;
using metrics::FlowSnapshot;

/// A letter of a bar with its colour. Bars show the parts of a connection's time, or of the latency of a kind.
struct Phase {
    char letter;
    std::string_view words;
    Role role;
};
/// In the order of metrics::command_state_names.
constexpr std::array<Phase, metrics::command_state_count> state_phases{{{'H', "host", Role::dim},
                                                                        {'q', "request", Role::chart},
                                                                        {'T', "target", Role::warning},
                                                                        {'D', "data", Role::good},
                                                                        {'r', "response", Role::chart},
                                                                        {'R', "repair", Role::bad},
                                                                        {'L', "limit", Role::accent}}};
constexpr std::array<std::size_t, metrics::command_state_count> phase_of_state{0, 1, 2, 3, 4, 5, 6};
/// In the order of metrics::command_part_names.
constexpr std::array<std::size_t, metrics::command_part_count> phase_of_part{1, 2, 3, 2, 4};

template <std::size_t count>
TableCell bar_cell(const std::array<std::uint64_t, count>& times, const std::array<std::size_t, count>& phases) {
    TableCell cell;
    cell.keeps_style = true;
    cell.paint = [times, phases](Pane& pane, int x, int y, int width) {
        const std::vector<int> columns = deal(times.data(), times.size(), width);
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const Phase& phase = state_phases[phases[i]];
            for (int left = columns[i]; left > 0; --left)
                pane.put(x++, y, static_cast<char32_t>(phase.letter), {phase.role});
        }
    };
    return cell;
}

TableCell quantity(std::string text, bool is_dim = false) {
    return {std::move(text), {is_dim ? Role::dim : Role::normal}};
}

TableCell command_rate_cell(std::uint64_t count, std::uint64_t ns) {
    if (count == 0 || ns == 0) return quantity("-", true);
    return quantity(base::format_count(static_cast<double>(count) * 1e9 / static_cast<double>(ns)));
}

TableCell byte_rate_cell(std::uint64_t bytes, std::uint64_t ns) {
    if (bytes == 0 || ns == 0) return quantity("-", true);
    const double bits = static_cast<double>(bytes) * 8e9 / static_cast<double>(ns);
    return quantity(base::format_bit_rate(bits, {base::Spacing::column}));
}

TableCell latency_cell(const std::optional<std::uint64_t>& ns, const Letters& letters) {
    if (!ns) return quantity("-", true);
    return quantity(base::format_duration(static_cast<double>(*ns), in_column(letters)));
}

TableCell error_cell(std::uint64_t errors) {
    return {base::group_digits(errors), {errors == 0 ? Role::dim : Role::bad}};
}

/// "0.3/15": commands open on average, and permitted; if that is unknown, the most that were open.
std::string open_text(const CommandConnectionFigures& commands, std::uint64_t latency_sum_ns) {
    const std::uint64_t wall = commands.wall_ns();
    const double mean = wall == 0 ? 0 : static_cast<double>(latency_sum_ns) / static_cast<double>(wall);
    return fmt::format("{}/{}", base::format_decimal(mean),
                       commands.limit ? std::uint64_t{*commands.limit} : std::uint64_t{commands.open_max});
}

std::string what_text(const CommandConnectionFigures& commands) {
    std::string text = commands.target_name;
    if (commands.queue) text += fmt::format("{}q {}", text.empty() ? "" : " ", *commands.queue);
    return text;
}

TableRow connection_row(const ModelState& state, const FlowSnapshot& flow, const Letters& letters) {
    const CommandConnectionFigures& commands = *flow.commands;
    const metrics::CommandTotals totals = totals_of(commands);
    const std::uint64_t ns = shown_ns(state);
    TableRow row;
    row.cells = {{fmt::format("{} {} {}", host_text(flow.source.address, state.names), letters.arrow,
                              host_text(flow.destination.address, state.names)),
                  {Role::title}},
                 {commands.protocol},
                 {what_text(commands)},
                 command_rate_cell(totals.commands, ns),
                 byte_rate_cell(totals.bytes, ns),
                 latency_cell(totals.latency_ns.quantile(0.5), letters),
                 latency_cell(totals.latency_ns.quantile(0.99), letters),
                 error_cell(totals.errors),
                 {open_text(commands, totals.latency_ns.sum())},
                 bar_cell(commands.states_ns, phase_of_state)};
    if (totals.errors != 0 || totals.unanswered != 0)
        row.mark.paint = [](Pane& pane, int x, int y, int) { pane.put(x, y, U'!', {Role::bad}); };
    return row;
}

TableRow kind_row(const ModelState& state, const CommandKindFigures& kind, const Letters& letters) {
    const std::uint64_t ns = shown_ns(state);
    std::array<std::uint64_t, metrics::command_part_count> parts{};
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = kind.parts_ns[i].sum();
    TableRow row;
    row.cells = {{"  " + (kind.kind.empty() ? std::string("(not captured)") : kind.kind)},
                 {},
                 {},
                 command_rate_cell(kind.commands, ns),
                 byte_rate_cell(kind.bytes, ns),
                 latency_cell(kind.latency_ns.quantile(0.5), letters),
                 latency_cell(kind.latency_ns.quantile(0.99), letters),
                 error_cell(kind.errors),
                 {},
                 bar_cell(parts, phase_of_part)};
    return row;
}

void draw_no_commands(Canvas& canvas, Pane& pane) {
    const ModelState& state = canvas.state;
    if (!state.reading) return draw_no_reading(pane, state);
    const std::vector<std::string> lines{"no commands of an upper layer",
                                         "NVMe, NFS, iSER, SRP, SMB and RDS are read, if the requests were captured"};
    draw_notice(pane, lines);
}

/// "H host  q request ...": what the letters mean.
void draw_legend(Pane& pane, int y) {
    int x = 2;
    for (const Phase& phase : state_phases) {
        pane.put(x, y, static_cast<char32_t>(phase.letter), {phase.role});
        x += 2 + pane.text(x + 2, y, phase.words, {Role::dim}) + 2;
    }
}

}  // namespace

void draw_commands(Canvas& canvas, Area area) {
    static const std::vector<TableColumn> columns{{"initiator > target", true, 22, 16, 0, 0},
                                                  {"protocol", true, 8, 0, 0, 5},
                                                  {"what", true, 10, 6, 40, 6},
                                                  {"cmd/s", false, 6, 0, 0, 1},
                                                  {"data", false, 9, 0, 0, 4},
                                                  {"p50", false, 6, 0, 0, 2},
                                                  {"p99", false, 6, 0, 0, 0},
                                                  {"errors", false, 6, 0, 0, 0},
                                                  {"open", false, 6, 0, 0, 3},
                                                  {"time", true, 11, 0, 30, 0}};
    const ModelState& state = canvas.state;
    Pane pane(canvas, area);
    const int height = pane.height() - 2;
    canvas.drawn.page = static_cast<std::size_t>(std::max(height, 1));
    if (!state.reading || state.commands.empty()) return draw_no_commands(canvas, pane);
    const PageOfRows page = page_of(state.place(), state.commands.size(), height);
    std::vector<TableRow> rows;
    rows.reserve(page.last - page.first);
    for (std::size_t i = page.first; i < page.last; ++i) {
        const CommandLine& line = state.commands[i];
        TableRow row = line.kind == nullptr ? connection_row(state, *line.flow, canvas.letters)
                                            : kind_row(state, *line.kind, canvas.letters);
        row.index = i;
        row.selected = i == state.place().selected;
        rows.push_back(std::move(row));
    }
    draw_table(pane, 0, columns, rows);
    draw_legend(pane, pane.height() - 1);
}

}  // namespace tui::view
