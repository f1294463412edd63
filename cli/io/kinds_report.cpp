#include "cli/io/kinds_report.h"

#include <algorithm>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "cli/io/kind_columns.h"
#include "cli/io/words.h"
#include "exporters/command_json.h"
#include "exporters/text_table.h"

namespace cli::io {

namespace {

using metrics::CommandConnectionFigures;
using metrics::CommandKindFigures;
using metrics::Histogram;
using Json = nlohmann::ordered_json;

std::optional<double> share(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return std::nullopt;
    return static_cast<double>(part) / static_cast<double>(whole);
}

// ---- the table ----

/// "; open 0.26 on average, 8 at most".
std::string open_text(const CommandConnectionFigures& connection) {
    std::string text = fmt::format("; open {} on average, {} at most", base::format_decimal(connection.open_mean()),
                                   connection.open_max);
    if (connection.at_limit_ns != 0)
        text +=
            fmt::format(", at the limit {}", base::format_percent(share(connection.at_limit_ns, connection.wall_ns())));
    return text;
}

/// "8.33 s: host 82.8 %, data 9.1 %": where the time went, most of it first.
std::string states_text(const CommandConnectionFigures& connection) {
    const std::uint64_t wall = connection.wall_ns();
    if (wall == 0) return {};
    if (!connection.split_is_known())
        return fmt::format("; {} of {} operations belong to no command that is known: no shares of time",
                           connection.unbound_operations, connection.operations);
    std::vector<std::pair<std::string_view, std::uint64_t>> states;
    states.reserve(metrics::command_state_count);
    for (std::size_t i = 0; i < metrics::command_state_count; ++i)
        states.emplace_back(metrics::command_state_names[i], connection.states_ns[i]);
    std::stable_sort(states.begin(), states.end(),
                     [](const auto& one, const auto& two) { return one.second > two.second; });
    std::string text = fmt::format("; {}: ", base::format_duration(static_cast<double>(wall)));
    bool first = true;
    for (const auto& state : states) {
        if (state.second == 0) continue;
        text += fmt::format("{}{} {}", first ? "" : ", ", state.first, base::format_percent(share(state.second, wall)));
        first = false;
    }
    return text + open_text(connection);
}

std::string heading_text(const CommandConnectionFigures& connection, const analysis::Names& names) {
    std::string text = fmt::format("{}  {}", connection.protocol, ends_text(connection, names));
    if (!connection.target_name.empty()) text += "  " + connection.target_name;
    std::string more;
    const auto add = [&more](const std::string& words) { more += (more.empty() ? "  " : ", ") + words; };
    if (connection.queue) add(fmt::format("queue {}", *connection.queue));
    if (connection.limit) add(fmt::format("limit {}", *connection.limit));
    std::string evidence = connection.evidence;
    std::replace(evidence.begin(), evidence.end(), '_', ' ');
    add("by " + evidence);
    return text + more + states_text(connection) + "\n";
}

/// "nvme  192.0.2.2 > 192.0.2.1  3 connections; 9.25 s: host 81 %".
std::string group_heading(const Group& group) {
    std::string text = group.sum.protocol;
    if (group.name != group.sum.protocol) text += (text.empty() ? "" : "  ") + group.name;
    return fmt::format("{}  {}{}\n", text, base::format_counted(group.connections, "connection"),
                       states_text(group.sum));
}

}  // namespace

std::vector<const CommandKindFigures*> ordered_kinds(const CommandConnectionFigures& connection) {
    std::vector<const CommandKindFigures*> kinds;
    for (const CommandKindFigures& kind : connection.kinds) {
        const bool waits =
            kind.commands == 0 && kind.orphans == 0 && kind.unanswered == 0 && kind.given_up == 0 && kind.replaced == 0;
        if (!waits) kinds.push_back(&kind);
    }
    std::stable_sort(kinds.begin(), kinds.end(), [](const CommandKindFigures* one, const CommandKindFigures* two) {
        return one->latency_ns.sum() > two->latency_ns.sum();
    });
    return kinds;
}

namespace {

// ---- JSON and CSV ----

Json group_json(const Group& group) {
    Json object{{"group", group.name},
                {"protocol", group.sum.protocol.empty() ? Json(nullptr) : Json(group.sum.protocol)},
                {"connections", group.connections}};
    exporters::add_command_figures(object, group.sum);
    return object;
}

}  // namespace

nlohmann::ordered_json connections_json(const ConnectionFigures& connections, const analysis::Names& names) {
    Json objects = Json::array();
    for (const CommandConnectionFigures& connection : connections)
        objects.push_back(exporters::command_connection_json(connection, &names));
    return objects;
}

nlohmann::ordered_json groups_json(const std::vector<Group>& groups) {
    Json objects = Json::array();
    for (const Group& group : groups) objects.push_back(group_json(group));
    return objects;
}

exporters::Table kind_table(const std::vector<std::string_view>& before, const KindColumns& columns) {
    constexpr std::size_t least_kind_width = 14;
    std::vector<exporters::Table::Heading> headings;
    for (const std::string_view title : before) headings.push_back({std::string(title), true, 0});
    for (const exporters::Field<KindRow>* column : columns)
        headings.push_back(
            {column->title, exporters::is_left_aligned(column->unit), column->path == "kind" ? least_kind_width : 0});
    return exporters::Table(std::move(headings));
}

std::vector<std::vector<std::string>> kind_rows(const CommandConnectionFigures& connection) {
    std::vector<std::vector<std::string>> rows;
    for (const CommandKindFigures* kind : ordered_kinds(connection)) {
        std::vector<std::string>& cells = rows.emplace_back();
        for (const exporters::Field<KindRow>* column : kind_columns_below_heading())
            cells.push_back(column_cell(*column, {&connection, kind, nullptr}));
    }
    return rows;
}

namespace {

void append_kinds(std::string& out, const CommandConnectionFigures& connection) {
    exporters::Table table = kind_table({}, kind_columns_below_heading());
    for (std::vector<std::string>& row : kind_rows(connection)) table.add(std::move(row));
    table.flush(out);
}

}  // namespace

void append_table(std::string& out, const ConnectionFigures& connections, const analysis::Names& names) {
    bool first = true;
    for (const CommandConnectionFigures& connection : connections) {
        if (ordered_kinds(connection).empty()) continue;
        if (!first) out += '\n';
        first = false;
        out += heading_text(connection, names);
        append_kinds(out, connection);
    }
}

void append_json(std::string& out, const ConnectionFigures& connections, const Extent& extent,
                 const analysis::Names& names) {
    const auto time = [](const std::optional<std::int64_t>& ns) { return ns ? Json(*ns) : Json(nullptr); };
    const Json capture{{"packets", extent.packets},
                       {"bytes", extent.bytes},
                       {"first_ns", time(extent.first_ns)},
                       {"last_ns", time(extent.last_ns)}};
    out += Json{{"capture", capture}, {"connections", connections_json(connections, names)}}.dump(2);
    out += '\n';
}

std::string connections_text(const ConnectionFigures& connections, const analysis::Names& names) {
    return connections_json(connections, names).dump();
}

// ---- groups ----

void append_table(std::string& out, const std::vector<Group>& groups) {
    bool first = true;
    for (const Group& group : groups) {
        if (!first) out += '\n';
        first = false;
        out += group_heading(group);
        append_kinds(out, group.sum);
    }
}

void append_json(std::string& out, const std::vector<Group>& groups) {
    out += Json{{"groups", groups_json(groups)}}.dump(2);
    out += '\n';
}

std::string groups_text(const std::vector<Group>& groups) { return groups_json(groups).dump(); }

std::string groups_csv_header() {
    std::string header = "group,protocol,connections,";
    append_csv_names(header, kind_columns_after_connection());
    return header;
}

void append_csv(std::string& out, const std::vector<Group>& groups) {
    out += groups_csv_header();
    append_csv_rows(out, groups, {});
}

void append_csv_rows(std::string& out, const std::vector<Group>& groups, std::string_view before) {
    for (const Group& group : groups)
        for (const CommandKindFigures& kind : group.sum.kinds) {
            out += fmt::format("{}{},{},{},", before, csv_text(group.name), group.sum.protocol, group.connections);
            append_csv_values(out, kind_columns_after_connection(), {&group.sum, &kind, nullptr});
        }
}

}  // namespace cli::io
