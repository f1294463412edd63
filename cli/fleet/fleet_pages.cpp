#include "cli/fleet/fleet_pages.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <unordered_map>

#include "base/moment.h"
#include "base/quantities.h"
#include "base/text_format.h"
#include "cli/console.h"
#include "cli/io/kinds_report.h"
#include "cli/paths/pairs_report.h"
#include "exporters/flow_order.h"
#include "exporters/json.h"
#include "exporters/path_json.h"
#include "exporters/text_table.h"

namespace cli::fleet {
namespace {

using ::fleet::questions::Finding;
using ::fleet::questions::Findings;
using ::fleet::questions::FleetFlow;
using ::fleet::questions::FleetFlows;
using ::fleet::questions::FlowPair;
using ::fleet::questions::FlowPairs;
using ::fleet::questions::Group;
using ::fleet::questions::HostState;
using ::fleet::questions::Traffic;
using Json = nlohmann::ordered_json;

/// Texts come from captures and from the engine: any bytes.
std::string printable(const std::string& text) {
    std::string out;
    base::append_printable(out, text);
    return out;
}

/// The same of lines.
std::string printable_lines(const std::string& text) {
    std::string out;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t length = std::min(rest.find('\n'), rest.size());
        base::append_printable(out, rest.substr(0, length));
        out += '\n';
        rest.remove_prefix(std::min(length + 1, rest.size()));
    }
    return out;
}

std::string dumped(const Json& document) { return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json scope_json(const Scope& scope) {
    return {{"from_ns", scope.from_ns},
            {"to_ns", scope.to_ns},
            {"resolution", ::fleet::questions::name_of(scope.resolution)}};
}

/// The column of the daemon's host, which a snapshot does not have: by the flow's place in memory.
class HostColumn {
public:
    explicit HostColumn(const FleetFlows& flows) {
        for (const FleetFlow& flow : flows.flows) hosts_.emplace(&flow.flow, &flow.host);
        field_.path = field_.family = "host";
        field_.title = "seen by";
        field_.unit = exporters::Unit::text;
        field_.help = "the host whose daemon saw the flow";
        field_.value = [this](const exporters::FlowRow& row) { return exporters::Value{*hosts_.at(&row.flow)}; };
        field_.text = [this](const exporters::FlowRow& row) { return printable(*hosts_.at(&row.flow)); };
    }
    HostColumn(const HostColumn&) = delete;
    HostColumn& operator=(const HostColumn&) = delete;

    exporters::FlowColumns before(const exporters::FlowColumns& columns) const {
        exporters::FlowColumns all{&field_};
        all.insert(all.end(), columns.begin(), columns.end());
        return all;
    }

private:
    std::unordered_map<const metrics::FlowSnapshot*, const std::string*> hosts_ = {};
    exporters::FlowField field_ = {};
};

/// What is wrong with a flow stands in its context, as numbers of flows are those of a host.
std::vector<exporters::Context> contexts_of(const FleetFlows& flows, const metrics::HostNames& names) {
    std::vector<exporters::Context> contexts;
    contexts.reserve(flows.flows.size());
    for (const FleetFlow& flow : flows.flows) contexts.push_back({.names = &names, .problems = &flow.problem});
    return contexts;
}

std::optional<std::size_t> terminal_width() {
    if (!is_terminal(STDOUT_FILENO)) return {};
    return terminal_columns(STDOUT_FILENO);
}

std::string count_text(std::uint64_t count) { return base::format_count(static_cast<double>(count)); }
std::string size_text(std::uint64_t octets) {
    return base::format_size(static_cast<double>(octets), {base::Spacing::column});
}

std::string table_text(std::vector<exporters::Table::Heading> headings,
                       const std::vector<std::vector<std::string>>& rows) {
    if (rows.empty()) return {};
    exporters::Table table(std::move(headings));
    for (const std::vector<std::string>& row : rows) table.add(row);
    std::string out;
    table.flush(out);
    return out;
}

}  // namespace

exporters::FlowColumns flow_columns_of(const std::vector<std::string>& names, std::string& error) {
    auto columns = exporters::chosen_columns(names);
    if (columns) return *columns;
    error = fmt::format("--columns {}: there is no such column; `rdmascope flows --columns help` lists them",
                        columns.error().name);
    return {};
}

std::string flows_table(const FleetFlows& flows, const exporters::FlowColumns& chosen,
                        const metrics::HostNames& names) {
    if (flows.flows.empty()) return {};
    const std::vector<exporters::Context> contexts = contexts_of(flows, names);
    std::vector<exporters::FlowRow> rows;
    for (std::size_t i = 0; i < contexts.size(); ++i) rows.push_back({flows.flows[i].flow, contexts[i]});
    const HostColumn host(flows);
    const exporters::FlowColumns columns =
        host.before(chosen.empty() ? exporters::default_columns(rows, false, terminal_width()) : chosen);
    exporters::Table table = exporters::flow_table(columns);
    for (const exporters::FlowRow& row : rows) {
        std::vector<std::string> cells;
        for (const exporters::FlowField* field : columns) cells.push_back(exporters::cell(*field, row));
        table.add(std::move(cells));
    }
    std::string out;
    table.flush(out);
    return out;
}

std::string flows_json(const FleetFlows& flows, const exporters::FlowColumns& chosen, const metrics::HostNames& names,
                       const Scope& scope) {
    const std::vector<exporters::Context> contexts = contexts_of(flows, names);
    const HostColumn host(flows);
    const exporters::FlowColumns columns =
        host.before(exporters::in_json_order(chosen.empty() ? exporters::all_columns(false) : chosen));
    std::string out = fmt::format("{{\"scope\":{},\"all_flows\":{},\"flows\":[", scope_json(scope).dump(), flows.all);
    for (std::size_t i = 0; i < contexts.size(); ++i) {
        if (i != 0) out += ',';
        out += '\n';
        exporters::append_json(out, columns, {flows.flows[i].flow, contexts[i]});
    }
    return out + "\n]}\n";
}

std::string traffic_table(const Traffic& traffic, exporters::GroupBy by) {
    if (traffic.groups.empty()) return {};
    std::string out;
    constexpr std::size_t unlimited = 1000;
    std::vector<exporters::TrafficGroup> groups = traffic.groups;
    for (exporters::TrafficGroup& group : groups)
        for (std::string* const text : {&group.name, &group.address, &group.peer, &group.peer_address})
            *text = printable(*text);
    exporters::append_group_table(out, groups, by, terminal_width().value_or(unlimited));
    return out;
}

std::string traffic_json(const Traffic& traffic, exporters::GroupBy by, const Scope& scope) {
    Json groups = Json::array();
    for (const exporters::TrafficGroup& group : traffic.groups) {
        std::string text;
        exporters::ObjectWriter writer(text);
        for (const exporters::GroupField& field : exporters::group_fields(by))
            writer.put(field.path, field.value(group));
        writer.finish();
        groups.push_back(Json::parse(text));
    }
    return dumped({{"scope", scope_json(scope)},
                   {"by", name_of(by)},
                   {"all_groups", traffic.all_groups},
                   {"groups", std::move(groups)}});
}

std::string hosts_table(const std::vector<HostState>& hosts) {
    std::vector<std::vector<std::string>> rows;
    rows.reserve(hosts.size());
    for (const HostState& host : hosts)
        rows.push_back({printable(host.host), count_text(host.flows), size_text(host.sent_bytes),
                        size_text(host.received_bytes), count_text(host.retransmitted_packets),
                        count_text(host.timeouts), count_text(host.rnr_naks), count_text(host.ecn_ce_packets),
                        count_text(host.cnp_packets), count_text(host.kernel_dropped), size_text(host.spool_bytes),
                        host.last_ns == 0 ? "-" : base::moment(host.last_ns)});
    return table_text({{"host"},
                       {"flows", false},
                       {"sent", false},
                       {"received", false},
                       {"resent", false},
                       {"timeouts", false},
                       {"RNR", false},
                       {"CE", false},
                       {"CNP", false},
                       {"dropped", false},
                       {"spool", false},
                       {"last rows"}},
                      rows);
}

std::string hosts_json(const std::vector<HostState>& hosts, const Scope& scope) {
    Json list = Json::array();
    for (const HostState& host : hosts)
        list.push_back({{"host", host.host},
                        {"flows", host.flows},
                        {"sent_bytes", host.sent_bytes},
                        {"received_bytes", host.received_bytes},
                        {"retransmitted_packets", host.retransmitted_packets},
                        {"timeouts", host.timeouts},
                        {"rnr_naks", host.rnr_naks},
                        {"ecn_ce_packets", host.ecn_ce_packets},
                        {"cnp_packets", host.cnp_packets},
                        {"last_ns", host.last_ns},
                        {"version", host.version},
                        {"kernel_dropped", host.kernel_dropped},
                        {"spool_bytes", host.spool_bytes},
                        {"intervals_dropped", host.intervals_dropped}});
    return dumped({{"scope", scope_json(scope)}, {"hosts", std::move(list)}});
}

namespace {

io::ConnectionFigures connections_of(const ::fleet::questions::IoGroups& groups) {
    io::ConnectionFigures connections;
    for (const ::fleet::questions::IoGroup& group : groups.groups) connections.push_back(group.sum);
    return connections;
}

std::vector<io::Group> groups_of(const ::fleet::questions::IoGroups& groups) {
    std::vector<io::Group> out;
    for (const ::fleet::questions::IoGroup& group : groups.groups)
        out.push_back({group.name, group.connections, group.sum});
    return out;
}

}  // namespace

std::string io_table(const ::fleet::questions::IoGroups& groups, bool is_grouped, const analysis::Names& names) {
    std::string out;
    if (is_grouped)
        io::append_table(out, groups_of(groups));
    else
        io::append_table(out, connections_of(groups), names);
    return printable_lines(out);
}

std::string io_json(const ::fleet::questions::IoGroups& groups, bool is_grouped, const analysis::Names& names,
                    const Scope& scope) {
    Json document{{"scope", scope_json(scope)}};
    document[is_grouped ? "all_groups" : "all_connections"] = groups.all;
    document[is_grouped ? "groups" : "connections"] =
        is_grouped ? io::groups_json(groups_of(groups)) : io::connections_json(connections_of(groups), names);
    return dumped(document);
}

std::string paths_table(const ::fleet::questions::FleetPaths& paths, std::span<const std::uint64_t> counts,
                        const metrics::HostNames& names) {
    std::string out;
    paths::append_table(out, paths.pairs, counts, names);
    return out;
}

std::string paths_json(const ::fleet::questions::FleetPaths& paths, std::span<const std::uint64_t> counts,
                       const metrics::HostNames& names, const Scope& scope) {
    Json pairs = Json::array();
    for (const metrics::PathPair& pair : paths.pairs) pairs.push_back(exporters::path_pair_json(pair, counts, &names));
    return dumped({{"scope", scope_json(scope)}, {"all_pairs", paths.all}, {"pairs", std::move(pairs)}});
}

namespace {

/// "192.0.2.1/0x11", "192.0.2.1.7174".
std::string end_text(const std::string& address, std::uint64_t qpn, std::uint64_t port) {
    if (port != 0) return fmt::format("{}.{}", printable(address), port);
    if (qpn != 0) return fmt::format("{}/{:#x}", printable(address), qpn);
    return printable(address);
}

/// What both ends together say of a flow's losses.
std::string loss_text(const FlowPair& pair) {
    const auto some = [&pair](std::uint64_t packets, std::string_view where) {
        return fmt::format("{} ({}) {}", base::format_counted(packets, "packet"),
                           base::format_percent(pair.share(packets)), where);
    };
    if (pair.lost_between() != 0) return some(pair.lost_between(), "lost between");
    if (pair.missing_at_source != 0) return some(pair.missing_at_source, "lost before the sender's tap");
    if (pair.repeated_after_arrival() != 0)
        return some(pair.repeated_after_arrival(), "sent again after they had arrived");
    if (pair.timeouts != 0) return base::format_counted(pair.timeouts, "time-out");
    return pair.complete ? "-" : "one daemon counted only a part";
}

}  // namespace

std::string pairs_table(const FlowPairs& pairs) {
    std::vector<std::vector<std::string>> rows;
    for (const FlowPair& pair : pairs.pairs)
        rows.push_back({end_text(pair.source, 0, pair.source_port),
                        end_text(pair.destination, pair.destination_qpn, pair.destination_port),
                        count_text(pair.sent_packets), count_text(pair.arrived_packets),
                        count_text(pair.lost_between()), count_text(pair.sent_retransmitted),
                        count_text(pair.arrived_retransmitted), loss_text(pair)});
    return table_text({{"source"},
                       {"destination"},
                       {"sent", false},
                       {"arrived", false},
                       {"lost between", false},
                       {"resent", false},
                       {"resent, arrived", false},
                       {"what both ends say"}},
                      rows);
}

std::string pairs_json(const FlowPairs& pairs, const Scope& scope) {
    Json list = Json::array();
    for (const FlowPair& pair : pairs.pairs)
        list.push_back({{"transport", pair.transport},
                        {"service", pair.service},
                        {"source", {{"address", pair.source}, {"port", pair.source_port}, {"host", pair.source_host}}},
                        {"destination",
                         {{"address", pair.destination},
                          {"qpn", pair.destination_qpn},
                          {"port", pair.destination_port},
                          {"host", pair.destination_host}}},
                        {"sent_packets", pair.sent_packets},
                        {"arrived_packets", pair.arrived_packets},
                        {"fewer_counted", pair.fewer_counted()},
                        {"lost_between", pair.lost_between()},
                        {"lost_between_share", pair.share(pair.lost_between())},
                        {"repeated_after_arrival", pair.repeated_after_arrival()},
                        {"complete", pair.complete},
                        {"sent_bytes", pair.sent_bytes},
                        {"arrived_bytes", pair.arrived_bytes},
                        {"sent_retransmitted_packets", pair.sent_retransmitted},
                        {"arrived_retransmitted_packets", pair.arrived_retransmitted},
                        {"missing_at_source", pair.missing_at_source},
                        {"missing_at_destination", pair.missing_at_destination},
                        {"timeouts", pair.timeouts}});
    return dumped({{"scope", scope_json(scope)},
                   {"all_pairs", pairs.all},
                   {"flows_of_one_end", pairs.one_end},
                   {"pairs", std::move(list)}});
}

namespace {

/// "end at 192.0.2.7 (node-7)": what flows of the group do.
std::string place_text(const Group& group) {
    const std::string value = printable(group.value);
    const std::string host = group.host.empty() ? "" : fmt::format(" ({})", printable(group.host));
    if (group.shared == "destination") return fmt::format("end at {}{}", value, host);
    if (group.shared == "source") return fmt::format("begin at {}{}", value, host);
    if (group.shared == "pair") return fmt::format("are from {}", value);
    if (group.shared == "path") return fmt::format("take the path {}", value);
    if (group.shared == "destination rack") return fmt::format("end in the rack {}", value);
    if (group.shared == "source rack") return fmt::format("begin in the rack {}", value);
    if (group.shared == "pair of racks") return fmt::format("are from rack {}", value);
    return fmt::format("have the {} {}", group.shared, value);
}

void append_finding(std::string& out, const Finding& finding) {
    const std::string since = base::moment(finding.since_ns);
    out += fmt::format("{} of {} have {} ({}) since {}.\n", finding.troubled,
                       base::format_counted(finding.flows, "flow"), finding.trouble->text, finding.amount, since);
    if (!finding.has_culprit()) {
        out += "  They share nothing that the others do not.\n\n";
        return;
    }
    const Group& first = finding.groups.front();
    out += fmt::format("  {} of {} with {} since {} {}; of all that do, that is {} of {}.\n", first.troubled,
                       base::format_counted(finding.troubled, "flow"), finding.trouble->text, since, place_text(first),
                       first.troubled, first.flows);
    for (std::size_t i = 1; i < finding.groups.size(); ++i)
        out += fmt::format("  Fits less well: {} of the {} that {}.\n", finding.groups[i].troubled,
                           base::format_counted(finding.groups[i].flows, "flow"), place_text(finding.groups[i]));
    out += '\n';
}

}  // namespace

std::string why_page(const Findings& findings, const Scope& scope) {
    if (findings.flows == 0)
        return fmt::format("No flow had traffic from {} to {}.\n", base::moment(scope.from_ns),
                           base::moment(scope.to_ns));
    if (findings.list.empty())
        return fmt::format("OK: no flow has a trouble from {} to {}.\n", base::moment(scope.from_ns),
                           base::moment(scope.to_ns));
    std::string out = fmt::format("From {} to {}:\n\n", base::moment(scope.from_ns), base::moment(scope.to_ns));
    for (const Finding& finding : findings.list) append_finding(out, finding);
    out.pop_back();
    return out;
}

std::string why_json(const Findings& findings, const Scope& scope) {
    Json list = Json::array();
    for (const Finding& finding : findings.list) {
        Json groups = Json::array();
        for (const Group& group : finding.groups)
            groups.push_back({{"shared", group.shared},
                              {"value", group.value},
                              {"flows", group.flows},
                              {"troubled", group.troubled},
                              {"host", group.host},
                              {"fit", fit(group, finding.troubled)}});
        list.push_back({{"trouble", finding.trouble->name},
                        {"flows", finding.flows},
                        {"troubled", finding.troubled},
                        {"amount", finding.amount},
                        {"since_ns", finding.since_ns},
                        {"groups", std::move(groups)}});
    }
    return dumped({{"scope", scope_json(scope)}, {"all_flows", findings.flows}, {"findings", std::move(list)}});
}

}  // namespace cli::fleet
