#include "exporters/report/report_json.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>

#include "base/quantities.h"
#include "exporters/flow_groups.h"
#include "exporters/flow_order.h"
#include "exporters/json.h"
#include "exporters/why_json.h"
#include "exporters/why_page.h"
#include "metrics/answers/flow_problems.h"
#include "metrics/figures/latencies.h"

namespace exporters::report {

namespace {

using Json = nlohmann::ordered_json;

constexpr int schema_version = 1;

std::string text_of(const Json& json) {
    // Names come from files that need not be UTF-8.
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json number_or_null(const std::optional<double>& number) {
    return number && std::isfinite(*number) ? Json(*number) : Json(nullptr);
}
template <class T>
Json whole_or_null(const std::optional<T>& number) {
    return number ? Json(*number) : Json(nullptr);
}

/// The columns of `rows`; row_of() has them in this order.
constexpr std::array<const char*, 27> row_columns{
    "id",       "reverse",  "kind", "source",          "destination",    "source_host", "destination_host",
    "grade",    "cause",    "cost", "operations",      "packets",        "wire_bytes",  "messages",
    "goodput",  "p50",      "p99",  "depth_mean",      "depth_max",      "resent",      "naks",
    "rnr_naks", "ce_marks", "cnps", "first_offset_ns", "last_offset_ns", "states"};

std::string host_text(const metrics::Address& address, const Context& context) {
    return metrics::address_text(address, context.names);
}

std::string operations_text(const metrics::FlowSnapshot& flow) {
    std::string text;
    for (std::size_t i = 0; i < metrics::operation_count; ++i) {
        const auto operation = static_cast<metrics::Operation>(i);
        if (flow.operations[i].count == 0) continue;
        text += (text.empty() ? "" : ", ") + std::string(metrics::plural_of(operation));
    }
    return text.empty() ? std::string(messageless_text(flow)) : text;
}

Json states_of(const metrics::FlowSnapshot& flow) {
    Json states = Json::array();
    for (std::size_t i = 0; i < metrics::state_count; ++i) {
        if (flow.state_ns[i] == 0) continue;
        states.push_back(i);
        states.push_back(flow.state_ns[i]);
    }
    return states;
}

Json row_of(const metrics::FlowSnapshot& flow, const Context& context) {
    const FlowRow row{flow, context};
    const metrics::FlowProblem* problem = problem_of(row);
    const metrics::LatencySet latencies = metrics::main_latencies(flow);
    const TimeFigures figures = time_figures_of(flow);
    const bool depth = metrics::knows_depth(flow);
    return Json::array({flow.id,
                        whole_or_null(flow.reverse),
                        fmt::format("{} {}", metrics::name_of(flow.transport), metrics::name_of(flow.service)),
                        endpoint_text(flow.source, context.names),
                        endpoint_text(flow.destination, context.names),
                        host_text(flow.source.address, context),
                        host_text(flow.destination.address, context),
                        problem != nullptr ? Json(metrics::name_of(problem->grade)) : Json(nullptr),
                        problem != nullptr ? Json(problem->cause) : Json(nullptr),
                        problem != nullptr ? Json(problem->cost.share) : Json(nullptr),
                        operations_text(flow),
                        flow.packets,
                        flow.wire_bytes,
                        figures.messages,
                        number_or_null(goodput(row)),
                        whole_or_null(latencies.ns.quantile(0.5)),
                        whole_or_null(latencies.ns.quantile(0.99)),
                        depth ? Json(flow.messages_mean) : Json(nullptr),
                        depth ? Json(flow.messages_max) : Json(nullptr),
                        whole_or_null(flow.retransmitted_packets),
                        figures.naks,
                        figures.rnr_naks,
                        figures.ce_marks,
                        figures.cnps,
                        whole_or_null(offset_ns(flow.first_ns, context)),
                        whole_or_null(offset_ns(flow.last_ns, context)),
                        states_of(flow)});
}

// ---- time ----

/// Numbers of one bin after another, zeros for bins without traffic.
template <class Figure>
Json dense(const TimeLine& line, std::size_t bins, Figure&& figure) {
    Json list = Json::array();
    auto at = line.bins().begin();
    for (std::size_t i = 0; i < bins; ++i) {
        const bool here = at != line.bins().end() && at->first == line.first_bin() + static_cast<std::int64_t>(i);
        list.push_back(here ? figure(at->second) : std::uint64_t{0});
        if (here) ++at;
    }
    return list;
}

std::int64_t start_ns(std::int64_t bin, std::uint64_t bin_ns) { return bin * static_cast<std::int64_t>(bin_ns); }

Json time_line_json(const TimeLine& line, const Context& context) {
    const std::size_t bins = line.bins().empty() ? 0 : static_cast<std::size_t>(line.last_bin() - line.first_bin()) + 1;
    const auto of = [&](auto member) {
        return dense(line, bins, [member](const TimeLine::Bin& bin) { return bin.figures.*member; });
    };
    return {{"bin_ns", line.bin_ns()},
            {"first_offset_ns", whole_or_null(offset_ns(start_ns(line.first_bin(), line.bin_ns()), context))},
            {"bins", bins},
            {"wire_bytes", of(&TimeFigures::wire_bytes)},
            {"messages", of(&TimeFigures::messages)},
            {"resent", of(&TimeFigures::resent)},
            {"naks", of(&TimeFigures::naks)},
            {"rnr_naks", of(&TimeFigures::rnr_naks)},
            {"ce_marks", of(&TimeFigures::ce_marks)},
            {"cnps", of(&TimeFigures::cnps)},
            {"pauses", dense(line, bins, [](const TimeLine::Bin& bin) { return bin.pauses; })}};
}

/// How many bins make a cell, so that the cells of all listed flows fit.
std::int64_t bins_per_cell(const TimeLine& line, const std::vector<const metrics::FlowSnapshot*>& flows,
                           std::size_t most) {
    for (std::int64_t bins = 1;; bins *= 2) {
        std::size_t cells = 0;
        for (const metrics::FlowSnapshot* flow : flows) {
            const auto found = line.flows().find(flow->id);
            if (found == line.flows().end()) continue;
            std::int64_t last = -1;
            for (const FlowBin& bin : found->second) {
                const std::int64_t cell = (bin.bin - line.first_bin()) / bins;
                if (cell != last) ++cells;
                last = cell;
            }
        }
        if (cells <= most || bins > line.last_bin() - line.first_bin()) return bins;
    }
}

Json cells_of(const std::vector<FlowBin>& bins, std::int64_t first_bin, std::int64_t per_cell) {
    std::vector<std::pair<std::int64_t, TimeFigures>> cells;
    for (const FlowBin& bin : bins) {
        const std::int64_t cell = (bin.bin - first_bin) / per_cell;
        if (cells.empty() || cells.back().first != cell) cells.emplace_back(cell, TimeFigures{});
        cells.back().second += bin.figures;
    }
    Json numbers = Json::array();
    for (const auto& [cell, figures] : cells) numbers.push_back(cell);
    Json object{{"cells", std::move(numbers)}};
    const auto put = [&](const char* name, auto&& figure) {
        Json list = Json::array();
        bool any = false;
        for (const auto& each : cells) {
            const std::uint64_t value = figure(each.second);
            any = any || value != 0;
            list.push_back(value);
        }
        if (any) object[name] = std::move(list);
    };
    put("wire_bytes", [](const TimeFigures& f) { return f.wire_bytes; });
    put("messages", [](const TimeFigures& f) { return f.messages; });
    put("resent", [](const TimeFigures& f) { return f.resent; });
    put("naks", [](const TimeFigures& f) { return f.naks + f.rnr_naks; });
    put("marks", [](const TimeFigures& f) { return f.ce_marks + f.cnps; });
    return object;
}

Json series_json(const TimeLine& line, const std::vector<const metrics::FlowSnapshot*>& flows, std::size_t most) {
    const std::int64_t per_cell = bins_per_cell(line, flows, most);
    Json list = Json::array();
    for (const metrics::FlowSnapshot* flow : flows) {
        const auto found = line.flows().find(flow->id);
        if (found == line.flows().end()) continue;
        Json object{{"flow", flow->id}};
        object.update(cells_of(found->second, line.first_bin(), per_cell));
        list.push_back(std::move(object));
    }
    return {{"bins_per_cell", per_cell}, {"flows", std::move(list)}};
}

// ---- one flow ----

Json marks_json(const SequencePlot& plot, const Context& context) {
    std::string kinds;
    Json times = Json::array();
    Json sequences = Json::array();
    Json lengths = Json::array();
    Json frames = Json::array();
    Json labels = Json::array();
    std::int64_t time = 0;
    std::int64_t sequence = 0;
    std::int64_t frame = 0;
    for (const SequenceMark& mark : plot.marks) {
        // Differences are short.
        const std::int64_t offset = offset_ns(mark.time_ns, context).value_or(0);
        kinds += mark_letters[static_cast<std::size_t>(mark.kind)];
        times.push_back(offset - time);
        sequences.push_back(mark.sequence - sequence);
        lengths.push_back(mark.length);
        frames.push_back(static_cast<std::int64_t>(mark.frame) - frame);
        labels.push_back(mark.label);
        time = offset;
        sequence = mark.sequence;
        frame = static_cast<std::int64_t>(mark.frame);
    }
    Json seen = Json::object();
    for (std::size_t i = 0; i < plot.seen_by_kind.size(); ++i)
        if (plot.seen_by_kind[i] != 0) seen[std::string(1, mark_letters[i])] = plot.seen_by_kind[i];
    return {{"kinds", kinds},
            {"times", std::move(times)},
            {"sequences", std::move(sequences)},
            {"lengths", std::move(lengths)},
            {"frames", std::move(frames)},
            {"label", std::move(labels)},
            {"labels", plot.labels},
            {"seen", std::move(seen)}};
}

template <class Key, class Count>
Json flat(const std::vector<std::pair<Key, Count>>& pairs) {
    Json list = Json::array();
    for (const auto& [key, count] : pairs) {
        list.push_back(key);
        list.push_back(count);
    }
    return list;
}

Json plot_json(const SequencePlot& plot, const ReportData& data, const Context& context) {
    Json bins = Json::array();
    if (data.time_line != nullptr) {
        const auto found = data.time_line->flows().find(plot.flow);
        if (found != data.time_line->flows().end())
            for (const FlowBin& bin : found->second) {
                const auto covered = static_cast<std::int64_t>(bin.covered_ns);
                const std::int64_t to = offset_ns(bin.to_ns, context).value_or(0);
                bins.push_back({{"bin", bin.bin - data.time_line->first_bin()},
                                {"from", to - covered},
                                {"to", to},
                                {"states", flat(bin.states)},
                                {"latencies", flat(bin.latencies)},
                                {"outstanding", std::round(bin.outstanding_mean * 1000) / 1000}});
            }
    }
    return {{"flow", plot.flow},
            {"counts", plot.counts_bytes ? "bytes" : "packets"},
            {"bins", std::move(bins)},
            {"marks", marks_json(plot, context)}};
}

// ---- the whole ----

/// Flows with all figures, as many as fit, those with plots first. Reports how many there are.
std::string full_flows(const ReportData& data, const std::vector<const metrics::FlowSnapshot*>& flows,
                       const Context& context, std::size_t most, std::size_t& count) {
    std::vector<const metrics::FlowSnapshot*> ordered;
    const auto has_plot = [&data](const metrics::FlowSnapshot* flow) {
        return std::ranges::any_of(data.plots, [flow](const SequencePlot& plot) { return plot.flow == flow->id; });
    };
    std::ranges::copy_if(flows, std::back_inserter(ordered), has_plot);
    std::ranges::copy_if(flows, std::back_inserter(ordered), std::not_fn(has_plot));
    const FlowColumns columns = in_json_order(all_columns(false));
    std::string out = "[";
    count = 0;
    for (const metrics::FlowSnapshot* flow : ordered) {
        std::string text;
        append_json(text, columns, {*flow, context});
        if (out.size() + text.size() > most && count > 0) break;
        out += (count == 0 ? "\n" : ",\n") + text;
        ++count;
    }
    return out + "]";
}

template <class List, class Append>
std::string list_text(const List& list, Append&& append) {
    std::string out = "[";
    bool first = true;
    for (const auto& each : list) {
        out += first ? "\n" : ",\n";
        first = false;
        append(out, each);
    }
    return out + "]";
}

std::string rows_text(const std::vector<const metrics::FlowSnapshot*>& flows, const Context& context) {
    return list_text(
        flows, [&](std::string& out, const metrics::FlowSnapshot* flow) { out += text_of(row_of(*flow, context)); });
}

Json labels_of(std::span<const metrics::Answer> answers) {
    Json labels = Json::array();
    for (const metrics::Answer& answer : answers) labels.push_back(label_of(answer));
    return labels;
}

/// All answers, or the first of very many alarms and all that raise none.
std::vector<metrics::Answer> shown_answers(const ReportData& data, std::size_t most,
                                           std::vector<std::string>& left_out) {
    std::vector<metrics::Answer> shown;
    std::size_t alarms = 0;
    for (const metrics::Answer& answer : data.answers) {
        if (answer.alarm && ++alarms > most) continue;
        shown.push_back(answer);
    }
    if (alarms > most)
        left_out.push_back(fmt::format("The verdict has the first {} of {} findings; `rdmascope why` has all.", most,
                                       base::group_digits(alarms)));
    return shown;
}

/// All hosts, or those with the most traffic.
std::vector<const metrics::HostSnapshot*> shown_hosts(const metrics::Snapshot& snapshot, std::size_t most,
                                                      std::vector<std::string>& left_out) {
    std::vector<const metrics::HostSnapshot*> hosts;
    hosts.reserve(snapshot.hosts.size());
    for (const metrics::HostSnapshot& host : snapshot.hosts) hosts.push_back(&host);
    if (hosts.size() <= most) return hosts;
    const auto bytes = [](const metrics::HostSnapshot* host) {
        return host->sent_wire_bytes + host->received_wire_bytes;
    };
    std::ranges::stable_sort(hosts, std::ranges::greater(), bytes);
    left_out.push_back(
        fmt::format("Of {} hosts, the {} with the most traffic are listed.", base::group_digits(hosts.size()), most));
    hosts.resize(most);
    return hosts;
}

std::string paths_text(const ReportData& data, const DocumentBounds& bounds, std::vector<std::string>& left_out) {
    PathList list = path_list_json(*data.snapshot, {}, data.names, bounds.paths, false);
    if (list.count < list.all)
        left_out.push_back(fmt::format(
            "Of {} pairs of hosts with several entropies, the {} with a problem or the most bytes are listed.",
            base::group_digits(list.all), list.count));
    return std::move(list.text);
}

Json head_of(const ReportData& data, std::span<const metrics::Answer> shown, std::vector<std::string> left_out) {
    const Headline headline = headline_of(*data.snapshot, data.answers);
    return {
        {"version", schema_version},
        {"program", {{"name", "rdmascope"}, {"version", data.version}, {"command", data.command}}},
        {"title", data.title},
        {"anonymous", data.anonymous},
        {"source", {{"kind", name_of(data.source)}, {"files", data.files}}},
        {"summary", data.summary},
        {"headline", {{"grade", metrics::name_of(headline.grade)}, {"label", headline.label}, {"text", headline.text}}},
        {"labels", labels_of(shown)},
        {"flow_count", data.snapshot->flows.size()},
        {"left_out", std::move(left_out)}};
}

/// Context and order of the flows, for the whole document and for parts of it.
Context context_of(const ReportData& data, const metrics::FlowProblems& problems) {
    Context context{data.names, data.crc_verified, {}};
    context.capture_start_ns = start_of(data.snapshot->capture);
    context.problems = &problems;
    return context;
}

}  // namespace

std::string time_json(const ReportData& data, const DocumentBounds& bounds) {
    if (data.time_line == nullptr) return R"({"time_line":null,"series":null})";
    const metrics::FlowProblems problems = metrics::flow_problems(*data.snapshot, data.answers);
    const Context context = context_of(data, problems);
    const auto flows = ordered_flows(*data.snapshot, context, worst_first(), bounds.rows);
    return fmt::format(R"({{"time_line":{},"series":{}}})", text_of(time_line_json(*data.time_line, context)),
                       text_of(series_json(*data.time_line, flows, bounds.cells)));
}

std::string plot_json(const ReportData& data, const SequencePlot& plot) {
    const metrics::FlowProblems problems;
    return text_of(plot_json(plot, data, context_of(data, problems)));
}

std::string report_json(const ReportData& data, const DocumentBounds& bounds) {
    const metrics::Snapshot& snapshot = *data.snapshot;
    const metrics::FlowProblems problems = metrics::flow_problems(snapshot, data.answers);
    const Context context = context_of(data, problems);
    const auto flows = ordered_flows(snapshot, context, worst_first(), bounds.rows);
    std::vector<std::string> left_out = data.left_out;
    if (flows.size() < snapshot.flows.size())
        left_out.push_back(
            fmt::format("The table lists {} of {} flows: those with a problem, then those with the most "
                        "goodput.",
                        base::group_digits(flows.size()), base::group_digits(snapshot.flows.size())));
    std::size_t full = 0;
    const std::string full_text = full_flows(data, flows, context, bounds.full_flow_bytes, full);
    if (full < flows.size())
        left_out.push_back(fmt::format("{} of the listed flows have all figures; the others have those of the table.",
                                       base::group_digits(full)));
    const std::vector<metrics::Answer> answers = shown_answers(data, bounds.answers, left_out);
    const auto hosts = shown_hosts(snapshot, bounds.hosts, left_out);
    std::string body;
    const auto member = [&body](std::string_view name, std::string_view text) {
        body += fmt::format(",\n\"{}\":{}", name, text);
    };
    member("why", why_json(snapshot, answers, data.crc_verified, -1));
    member("flows", full_text);
    member("row_columns", text_of(Json(row_columns)));
    member("rows", rows_text(flows, context));
    member("hosts", list_text(hosts, [&](std::string& out, const auto* host) { append_json(out, *host, context); }));
    member("paths", paths_text(data, bounds, left_out));
    member("pauses",
           list_text(snapshot.pauses, [](std::string& out, const auto& pauses) { append_json(out, pauses); }));
    member("attempts", list_text(snapshot.attempts,
                                 [&](std::string& out, const auto& attempt) { append_json(out, attempt, context); }));
    member("commands", data.commands);
    if (data.time_line != nullptr) {
        member("time_line", text_of(time_line_json(*data.time_line, context)));
        member("series", text_of(series_json(*data.time_line, flows, bounds.cells)));
    }
    member("plots", list_text(data.plots, [&](std::string& out, const SequencePlot& plot) {
               out += text_of(plot_json(plot, data, context));
           }));
    if (!data.live.empty()) member("live", data.live);
    std::string out = text_of(head_of(data, answers, std::move(left_out)));
    out.pop_back();
    return out + body + "}";
}

}  // namespace exporters::report
