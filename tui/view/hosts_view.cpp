// Hosts, the busiest first: what they send and receive, and who sends to them at the same time.
#include <fmt/core.h>
#include <map>

#include "metrics/answers/thresholds.h"
#include "tui/view/figures.h"
#include "tui/view/screen.h"
#include "tui/view/table.h"

namespace tui::inline view {

namespace {

using metrics::HostSnapshot;

constexpr double nearly_full = 0.9;  ///< of a link

std::vector<TableColumn> columns_of_hosts(bool queue_pairs, bool remote_keys) {
    std::vector<TableColumn> columns{
        {"host", true, 15, 20, 0, 0},    {"sends", false, 10, 0, 0, 0},          {"sent", false, 7, 0, 0, 1},
        {"of link", true, 11, 0, 30, 5}, {"receives", false, 10, 0, 0, 0},       {"received", false, 8, 0, 0, 2},
        {"of link", true, 11, 0, 30, 3}, {"link", false, 11, 0, 0, 7},           {"flows", false, 6, 0, 0, 6},
        {"flows in", false, 8, 0, 0, 4}, {"senders in 1 ms", true, 15, 0, 0, 0},
    };
    if (queue_pairs) columns.push_back({"QPs in 10 ms", false, 9, 0, 0, 8});
    if (remote_keys) columns.push_back({"rkeys in 10 ms", false, 9, 0, 0, 9});
    return columns;
}

double bits_per_sec(std::uint64_t octets, std::uint64_t ns) {
    return ns == 0 ? 0 : static_cast<double>(octets) * 8e9 / static_cast<double>(ns);
}

TableCell rate_cell(double bits) {
    return {bits > 0 ? base::format_bit_rate(bits, {base::Spacing::column}) : "-",
            {bits > 0 ? Role::normal : Role::dim}};
}

TableCell bytes_cell(std::uint64_t bytes) {
    return {base::format_size(static_cast<double>(bytes), {base::Spacing::column}),
            {bytes > 0 ? Role::normal : Role::dim}};
}

/// `~` before a figure that depends on a learnt link rate. `<0.01%` is a bound without the mark, and leaves no room.
std::string marked_if_learnt(const HostSnapshot& host, std::string figure) {
    return host.link_is_learnt && !figure.starts_with('<') ? "~" + figure : figure;
}

TableCell link_cell(const HostSnapshot& host) {
    if (!host.link_bits_per_sec) return {"-", {Role::dim}};
    const auto rate = static_cast<double>(*host.link_bits_per_sec);
    return {marked_if_learnt(host, base::format_bit_rate(rate, {base::Spacing::column}))};
}

/// The share of the link as a bar with its figure. A share of less than half a block has no bar.
TableCell share_cell(const HostSnapshot& host, double bits) {
    const std::uint64_t link = host.link_bits_per_sec.value_or(0);
    if (link == 0 || bits <= 0) return {"-", {Role::dim}};
    const double share = bits / static_cast<double>(link);
    const std::string text = marked_if_learnt(host, base::format_percent(share, {base::Spacing::column}));
    TableCell cell;
    cell.keeps_style = true;
    cell.paint = [share, text](Pane& pane, int x, int y, int width) {
        constexpr int figure = 6;
        const int bar = width - figure;
        const int full = std::clamp(static_cast<int>(share * bar + 0.5), 0, bar);
        const Role role = share >= nearly_full ? Role::warning : Role::chart;
        pane.right(x, y, text, {share >= nearly_full ? Role::warning : Role::normal}, figure);
        pane.fill(x + figure + 1, y, std::min(full, bar - 1), pane.letters.levels.back(), {role});
    };
    return cell;
}

TableCell incast_cell(const HostSnapshot& host) {
    const std::uint64_t senders = host.incast_senders_max;
    if (senders <= 1) return {senders == 0 ? "-" : "1", {Role::dim}};
    std::string text = base::format_counted(senders, "host");
    if (host.incast_frame != 0) text += fmt::format(", frame {}", host.incast_frame);
    return {std::move(text), {senders >= metrics::answers::incast_senders ? Role::bad : Role::normal}};
}

TableCell host_count_cell(std::uint64_t count) {
    return {base::group_digits(count), {count > 0 ? Role::normal : Role::dim}};
}

TableCell working_set_cell(const metrics::ReuseFigures& reuse) {
    if (reuse.accesses == 0) return {"-", {Role::dim}};
    return {fmt::format("{}/{}", base::format_decimal(reuse.working_set_mean), reuse.working_set_max)};
}

/// Flows that a host sends or receives, of those that are on the screen.
std::map<metrics::Address, std::uint64_t> flows_of_hosts(const ModelState& state, PageOfRows page) {
    std::map<metrics::Address, std::uint64_t> counts;
    for (std::size_t i = page.first; i < page.last; ++i) counts[state.hosts[i]->address] = 0;
    for (const metrics::FlowSnapshot& flow : state.shown()->flows) {
        const auto source = counts.find(flow.source.address);
        const auto destination = counts.find(flow.destination.address);
        if (source != counts.end()) ++source->second;
        if (destination != counts.end() && destination != source) ++destination->second;
    }
    return counts;
}

TableRow row_of(const ModelState& state, const HostSnapshot& host, std::uint64_t flows) {
    const std::uint64_t ns = shown_ns(state);
    const double sent = bits_per_sec(host.sent_wire_bytes, ns);
    const double received = bits_per_sec(host.received_wire_bytes, ns);
    TableRow row;
    const TableCell incast = incast_cell(host);
    row.cells = {
        {host_text(host.address, state.names), {incast.style.role == Role::bad ? Role::bad : Role::normal}},
        rate_cell(sent),
        bytes_cell(host.sent_wire_bytes),
        share_cell(host, bits_per_sec(metrics::bytes_on_link(host.sent_wire_bytes, host.sent_packets), ns)),
        rate_cell(received),
        bytes_cell(host.received_wire_bytes),
        share_cell(host, bits_per_sec(metrics::bytes_on_link(host.received_wire_bytes, host.received_packets), ns)),
        link_cell(host),
        host_count_cell(flows),
        host_count_cell(host.senders),
        incast,
    };
    return row;
}

void draw_no_hosts(Canvas& canvas, Pane& pane) {
    const ModelState& state = canvas.state;
    if (!state.reading) return draw_no_reading(pane, state);
    const std::vector<std::string> lines{state.choice.window == Window::interval
                                             ? "no host sent RDMA traffic in this interval"
                                             : fmt::format("no host sent RDMA traffic yet on {}", state.feed.name)};
    draw_notice(pane, lines);
}

}  // namespace

void draw_hosts(Canvas& canvas, Area area) {
    const ModelState& state = canvas.state;
    Pane pane(canvas, area);
    const int height = pane.height() - 1;
    canvas.drawn.page = static_cast<std::size_t>(std::max(height, 1));
    if (!state.reading || state.shown() == nullptr || state.hosts.empty()) return draw_no_hosts(canvas, pane);
    const PageOfRows page = page_of(state.place(), state.hosts.size(), height);
    const auto flows = flows_of_hosts(state, page);
    bool queue_pairs = false;
    bool remote_keys = false;
    for (const HostSnapshot* host : state.hosts) {
        queue_pairs = queue_pairs || host->queue_pairs.accesses > 0;
        remote_keys = remote_keys || host->remote_keys.accesses > 0;
    }
    std::vector<TableRow> rows;
    for (std::size_t i = page.first; i < page.last; ++i) {
        const HostSnapshot& host = *state.hosts[i];
        TableRow row = row_of(state, host, flows.at(host.address));
        if (queue_pairs) row.cells.push_back(working_set_cell(host.queue_pairs));
        if (remote_keys) row.cells.push_back(working_set_cell(host.remote_keys));
        row.index = i;
        row.selected = i == state.place().selected;
        rows.push_back(std::move(row));
    }
    draw_table(pane, 0, columns_of_hosts(queue_pairs, remote_keys), rows);
}

}  // namespace tui::view
