#include "daemon/http/documents.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/moment.h"
#include "base/quantities.h"
#include "base/similar.h"
#include "exporters/carrier_text.h"
#include "exporters/command_json.h"
#include "exporters/flow_order.h"
#include "exporters/json.h"
#include "exporters/path_json.h"
#include "exporters/report/report_json.h"
#include "exporters/why_json.h"
#include "metrics/answers/counters.h"
#include "metrics/answers/flow_problems.h"

namespace service::http {
namespace {

using exporters::report::ReportData;
using exporters::report::SequencePlot;
using Json = nlohmann::ordered_json;

constexpr std::size_t most_live_plots = 16;
constexpr std::size_t most_flow_events = 1'000;
constexpr std::size_t most_path_rows = 64;
/// Of the connections with commands in the page's document, and in the document of commands.
constexpr std::size_t live_command_bytes = 100'000;
constexpr std::size_t most_command_bytes = 1'000'000;

/// A page that is fetched every second is kept smaller than one that is sent once.
constexpr exporters::report::DocumentBounds live_bounds{.answers = 100,
                                                        .rows = 1'000,
                                                        .full_flow_bytes = 200'000,
                                                        .cells = 10'000,
                                                        .hosts = 200,
                                                        .paths = {.pairs = 50, .rows = 16}};

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

bool has_verified(const Shown& shown) { return shown.crc_verified && exporters::can_verify(shown.snapshot.capture); }

std::vector<metrics::Answer> answers_of(const Shown& shown, const std::uint64_t* flow = nullptr) {
    std::vector<metrics::Answer> answers = metrics::answer(shown.snapshot, shown.names, shown.devices, flow);
    shown.commands.add_policy(shown.snapshot, flow, answers);
    return answers;
}

ReportData report_data(const Shown& shown) {
    ReportData data;
    data.source = exporters::report::SourceKind::daemon;
    data.crc_verified = has_verified(shown);
    data.names = &shown.names;
    data.snapshot = &shown.snapshot;
    data.devices = &shown.devices;
    data.time_line = &shown.line;
    data.left_out = shown.left_out;
    return data;
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this machine";
}

/// A plot without marks: states, latencies and depth over time.
SequencePlot plot_of(std::uint64_t flow) {
    SequencePlot plot;
    plot.flow = flow;
    plot.seen_by_kind.resize(exporters::report::mark_letters.size());
    return plot;
}

/// What flows have of commands, at the side that asks.
std::vector<const metrics::CommandConnectionFigures*> connections_of(const Shown& shown) {
    std::vector<const metrics::CommandConnectionFigures*> connections;
    for (const metrics::FlowSnapshot& flow : shown.snapshot.flows)
        if (flow.commands && !flow.commands->of_target) connections.push_back(&*flow.commands);
    return connections;
}

std::string live_commands(const Shown& shown, std::vector<std::string>& left_out) {
    const auto connections = connections_of(shown);
    exporters::CommandConnections listed =
        exporters::command_connections(connections, &shown.names, live_command_bytes);
    if (listed.count < connections.size())
        left_out.push_back(
            fmt::format("Of {} connections with commands, the {} with the most commands are listed; /api/v1/commands "
                        "has more.",
                        base::group_digits(connections.size()), listed.count));
    return std::move(listed.text);
}

/// Flows with a problem, then the largest.
std::vector<SequencePlot> live_plots(const Shown& shown, std::span<const metrics::Answer> answers) {
    const metrics::FlowProblems problems = metrics::flow_problems(shown.snapshot, answers);
    exporters::Context context{&shown.names, shown.crc_verified, {}};
    context.problems = &problems;
    std::vector<SequencePlot> plots;
    for (const auto* flow :
         exporters::ordered_flows(shown.snapshot, context, exporters::worst_first(), most_live_plots))
        plots.push_back(plot_of(flow->id));
    return plots;
}

Json live_json(const PageFacts& facts) {
    Json range = nullptr;
    if (facts.is_history)
        range = {{"from_ns", facts.from_ns}, {"to_ns", facts.to_ns}, {"asked_to_ns", facts.asked_to_ns}};
    return {{"number", facts.number},           {"taken_ns", facts.taken_ns},     {"started_ns", facts.started_ns},
            {"interval_ns", facts.interval_ns}, {"writes", facts.permits_writes}, {"history", facts.has_history},
            {"range", std::move(range)}};
}

std::string summary_of(const Shown& shown, const PageFacts& facts) {
    const metrics::CaptureFigures& capture = shown.snapshot.capture;
    std::string text =
        fmt::format("{}, {}, {}", base::format_counted(capture.packets, "packet"),
                    exporters::carrier_text(shown.snapshot), base::format_counted(shown.snapshot.flows.size(), "flow"));
    if (facts.is_history)
        text += fmt::format(" from {} to {}", base::moment(facts.from_ns), base::moment(facts.to_ns));
    else
        text += fmt::format(" since {}", base::moment(facts.started_ns));
    if (!facts.interfaces.empty()) text += fmt::format(", captured on {}", facts.interfaces);
    if (capture.kernel_dropped) text += fmt::format(", {} dropped by the kernel", *capture.kernel_dropped);
    return text;
}

template <class List, class Append>
void append_list(std::string& out, const List& list, Append&& append) {
    out += '[';
    bool is_first = true;
    for (const auto& each : list) {
        out += is_first ? "\n" : ",\n";
        is_first = false;
        append(each);
    }
    out += ']';
}

}  // namespace

std::string quoted_json(std::string_view text) { return dumped(Json(text)); }

std::string report_document(const Shown& shown, const PageFacts& facts) {
    ReportData data = report_data(shown);
    data.title = host_name();
    data.version = facts.version;
    data.command = {"rdmascope", "report", "--connect"};
    if (facts.is_history)
        data.command = {
            "rdmascope", "report", "--from", base::moment(facts.from_ns), "--to", base::moment(facts.to_ns)};
    data.summary = summary_of(shown, facts);
    data.answers = answers_of(shown);
    data.plots = live_plots(shown, data.answers);
    data.commands = live_commands(shown, data.left_out);
    data.left_out.emplace_back(
        "There are no plots of single frames: a daemon has figures of flows, not frames. `rdmascope report -r` shows "
        "these plots for a recording.");
    data.live = dumped(live_json(facts));
    return exporters::report::report_json(data, live_bounds);
}

std::string answers_document(const Shown& shown, const std::uint64_t* flow) {
    return exporters::why_json(shown.snapshot, answers_of(shown, flow), shown.crc_verified, -1);
}

base::Result<std::string> flows_document(const Shown& shown, const std::string& sort, std::uint64_t limit) {
    const auto order = exporters::flow_order(sort, true);
    if (!order)
        return base::failure(fmt::format("sort: '{}' is not a column that flows can be sorted by{}", sort.substr(0, 80),
                                         base::did_you_mean(sort.substr(0, 80), exporters::field_names())));
    const metrics::FlowProblems problems = metrics::flow_problems(shown.snapshot);
    exporters::Context context{&shown.names, has_verified(shown), {}, exporters::start_of(shown.snapshot.capture)};
    context.problems = &problems;
    exporters::FlowsDocument document(exporters::all_columns(false));
    std::string out;
    document.begin(out, shown.snapshot.capture, context);
    for (const auto* flow : exporters::ordered_flows(shown.snapshot, context, *order, limit))
        document.flow(out, {*flow, context});
    document.end(out, shown.snapshot, context);
    return out;
}

base::Result<std::string> flow_document(const Shown& shown, std::uint64_t id) {
    const metrics::FlowSnapshot* flow = shown.snapshot.flow(id);
    if (flow == nullptr) return base::failure(fmt::format("there is no flow {}; /api/v1/flows lists them", id));
    const metrics::FlowProblems problems = metrics::flow_problems(shown.snapshot);
    exporters::Context context{&shown.names, has_verified(shown), {}, exporters::start_of(shown.snapshot.capture)};
    context.problems = &problems;
    std::string out = "{\"flow\":";
    exporters::append_json(out, exporters::in_json_order(exporters::all_columns(false)), {*flow, context});
    out += fmt::format(",\n\"why\":{},\n\"plot\":{}}}", answers_document(shown, &id),
                       exporters::report::plot_json(report_data(shown), plot_of(id)));
    return out;
}

std::string hosts_document(const Shown& shown) {
    const exporters::Context context{
        &shown.names, has_verified(shown), {}, exporters::start_of(shown.snapshot.capture)};
    std::vector<const metrics::HostSnapshot*> hosts;
    hosts.reserve(shown.snapshot.hosts.size());
    for (const metrics::HostSnapshot& host : shown.snapshot.hosts) hosts.push_back(&host);
    std::ranges::stable_sort(hosts, std::ranges::greater(), [](const metrics::HostSnapshot* host) {
        return host->sent_wire_bytes + host->received_wire_bytes;
    });
    const std::size_t all = hosts.size();
    hosts.resize(std::min<std::size_t>(all, 10'000));
    std::string out = fmt::format("{{\"count\":{},\"hosts\":", all);
    append_list(out, hosts, [&](const auto* host) { exporters::append_json(out, *host, context); });
    return out + "}";
}

std::string paths_document(const Shown& shown, std::optional<std::uint64_t> paths, std::uint64_t limit) {
    std::vector<std::uint64_t> counts;
    if (paths) counts.push_back(*paths);
    const exporters::PathListBounds bounds{.pairs = static_cast<std::size_t>(limit), .rows = most_path_rows};
    const exporters::PathList list = exporters::path_list_json(shown.snapshot, counts, &shown.names, bounds, true);
    return fmt::format("{{\"count\":{},\"pairs\":{}}}", list.all, list.text);
}

std::string commands_document(const Shown& shown) {
    constexpr std::size_t most = 1'000;
    exporters::FlowColumns columns;
    for (const char* name : {"id", "source", "destination", "upper", "io"})
        for (const exporters::FlowField* field : exporters::find_fields(name)) columns.push_back(field);
    columns = exporters::in_json_order(columns);
    std::vector<const metrics::FlowSnapshot*> flows;
    for (const metrics::FlowSnapshot& flow : shown.snapshot.flows)
        if (flow.commands && !flow.commands->of_target) flows.push_back(&flow);
    const std::size_t all = flows.size();
    flows.resize(std::min(all, most));
    const exporters::Context context{
        &shown.names, has_verified(shown), {}, exporters::start_of(shown.snapshot.capture)};
    std::string out = fmt::format("{{\"left_out\":{},\"flows\":", all - flows.size());
    append_list(out, flows, [&](const auto* flow) { exporters::append_json(out, columns, {*flow, context}); });
    const auto connections = connections_of(shown);
    const exporters::CommandConnections listed =
        exporters::command_connections(connections, &shown.names, most_command_bytes);
    return out + fmt::format(",\n\"connections\":{},\"connections_left_out\":{}}}", listed.text,
                             connections.size() - listed.count);
}

std::string series_document(const Shown& shown) {
    ReportData data = report_data(shown);
    data.answers = answers_of(shown);
    return exporters::report::time_json(data, live_bounds);
}

std::string events_document(const Shown& shown, std::span<const Noted> incidents) {
    Json flows = Json::array();
    std::size_t left_out = 0;
    for (const metrics::FlowSnapshot& flow : shown.snapshot.flows)
        for (const metrics::EventSummary& event : flow.event_summaries) {
            if (flows.size() >= most_flow_events) {
                ++left_out;
                continue;
            }
            flows.push_back({{"flow", flow.id},
                             {"kind", metrics::name_of(event.kind)},
                             {"count", event.count},
                             {"value_max", event.value_max},
                             {"frames", event.frames}});
        }
    Json list = Json::array();
    for (const Noted& noted : incidents)
        list.push_back({{"time_ns", noted.time_ns},
                        {"trigger", noted.incident.trigger},
                        {"reason", noted.incident.reason},
                        {"flows", noted.incident.flows}});
    return dumped({{"incidents", std::move(list)}, {"flows", std::move(flows)}, {"flow_events_left_out", left_out}});
}

}  // namespace service::http
