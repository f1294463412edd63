#include "fleet/questions/flow_question.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "fleet/questions/flow_sums.h"
#include "fleet/questions/series.h"
#include "fleet/rows/amounts.h"
#include "fleet/rows/flow_rows.h"
#include "fleet/schema/sql.h"

namespace fleet::questions {
namespace {

using rows::FlowColumn;
using rows::Nature;

/// "x_packets": the names of flow_sums().
const std::vector<std::string>& names_of_sums() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> made;
        for (const FlowColumn& column : rows::flow_columns()) made.push_back(fmt::format("x_{}", column.column.name));
        return made;
    }();
    return names;
}

bool is_counted(const rows::Column& column) {
    return column.nature == Nature::counter || column.nature == Nature::estimate;
}

/// A flow's place in the tables.
using Id = std::tuple<std::string, std::uint64_t, std::uint64_t>;

struct Chosen {
    std::vector<Id> ids = {};
    std::uint64_t all = 0;
};

/// The first flows in the order: only the columns that the choice needs are read.
base::Result<Chosen> choose(Engine& engine, const Scope& scope, const FlowChoice& choice) {
    std::vector<std::string_view> counters{"packets", "wire_bytes"};
    for (const Figure& figure : flow_figures()) {
        const std::string_view name = figure.column.substr(2);
        const bool is_needed = &figure == choice.order || choice.having.find(figure.column) != std::string::npos;
        if (figure.is_counter && is_needed && std::ranges::find(counters, name) == counters.end())
            counters.push_back(name);
    }
    const std::string sums = flow_sums(scope, counters, choice.having);
    const std::string_view order = choice.order == nullptr ? "x_wire_bytes" : choice.order->column;
    const std::string direction = choice.descending ? "DESC" : "ASC";
    const std::string sql = fmt::format(
        "SELECT host, boot, flow FROM ({0} ORDER BY {1} {2}, host, boot, flow LIMIT {3}) "
        "ORDER BY {1} {2}, host, boot, flow LIMIT {3}{4}",
        sums, order, direction, choice.top, settings);
    auto rows = engine.ask(sql, 3);
    if (!rows) return base::Failure{rows.error()};
    auto count = engine.ask(fmt::format("SELECT count() FROM ({}){}", sums, settings), 1);
    if (!count) return base::Failure{count.error()};
    Chosen chosen;
    if (!count->empty()) chosen.all = number_of(count->front().front());
    for (const std::vector<std::string>& row : *rows)
        chosen.ids.emplace_back(row[0], number_of(row[1]), number_of(row[2]));
    return chosen;
}

std::string details_query(const Scope& scope, const std::vector<Id>& ids) {
    std::string list;
    for (const auto& [host, boot, flow] : ids)
        list +=
            fmt::format("{}({}, toUInt64({}), toUInt64({}))", list.empty() ? "" : ", ", schema::text(host), boot, flow);
    const std::string before = fmt::format("end_ns <= {}", scope.from_ns);
    std::string sql = "SELECT host, boot, flow";
    for (const FlowColumn& column : rows::flow_columns()) {
        const std::string_view name = column.column.name;
        if (column.column.nature == Nature::place) continue;
        if (is_counted(column.column))
            sql += fmt::format(", {} AS x_{}", increase(scope, name), name);
        else if (name == "first_ns")
            sql += fmt::format(", if(countIf({0}) > 0, maxIf(last_ns, {0}), min(first_ns)) AS x_first_ns", before);
        else if (column.column.nature == Nature::state)
            sql += fmt::format(", argMax({0}, sequence) AS x_{0}", name);
        else
            sql += fmt::format(", max({0}) AS x_{0}", name);
    }
    sql += fmt::format(", {} AS x_amounts, x_amounts.1 AS x_keys, x_amounts.2 AS x_values", amounts_increase(scope));
    const std::string noted = fmt::format("end_ns > {} AND grade > 0", scope.from_ns);
    sql += fmt::format(
        ", maxIf(grade, {0}) AS x_grade, argMaxIf(verdict, grade, {0}) AS x_verdict, "
        "argMaxIf(cause, grade, {0}) AS x_cause",
        noted);
    sql += fmt::format(" FROM {} WHERE {} AND (host, boot, flow) IN ({}) GROUP BY host, boot, flow",
                       schema::table_name(rows::flows_table(), scope.resolution), rows_of(scope), list);
    std::string names = "host, boot, flow";
    for (const FlowColumn& column : rows::flow_columns())
        if (column.column.nature != Nature::place) names += fmt::format(", x_{}", column.column.name);
    return fmt::format("SELECT {}, x_keys, x_values, x_grade, x_verdict, x_cause FROM ({}){}", names, sql, settings);
}

void set_problem(FleetFlow& out, std::uint64_t grade, const std::string& verdict, const std::string& cause) {
    const auto known = metrics::verdict_named(verdict);
    if (grade == 0 || grade > static_cast<std::uint64_t>(metrics::Grade::wrong) || !known) return;
    metrics::FlowProblem problem;
    problem.verdict = *known;
    problem.grade = static_cast<metrics::Grade>(grade);
    problem.cause = cause;
    out.problem.emplace(out.flow.id, std::move(problem));
}

FleetFlow flow_of(const std::vector<std::string>& row) {
    FleetFlow out{.host = row[0]};
    out.flow.id = number_of(row[2]);
    std::size_t at = 3;
    for (const FlowColumn& column : rows::flow_columns()) {
        if (column.column.nature == Nature::place) continue;
        if (column.set != nullptr) column.set(out.flow, cell_of(row[at], column.column.type));
        ++at;
    }
    // A state of time may be given back to another one: see metrics::difference().
    rows::set_amounts(out.flow, amounts_of(row[at], row[at + 1]));
    set_problem(out, number_of(row[at + 2]), row[at + 3], row[at + 4]);
    return out;
}

std::size_t columns_of_details() {
    return 3 +
           static_cast<std::size_t>(std::ranges::count_if(
               rows::flow_columns(), [](const FlowColumn& column) { return column.column.nature != Nature::place; })) +
           5;
}

}  // namespace

const std::vector<Figure>& flow_figures() {
    static const std::vector<Figure> figures = [] {
        std::vector<Figure> made{
            {"source.address", "x_source_address", true, false},
            {"source.qpn", "x_source_qpn", false, false},
            {"source.port", "x_source_port", false, false},
            {"destination.address", "x_destination_address", true, false},
            {"destination.qpn", "x_destination_qpn", false, false},
            {"destination.port", "x_destination_port", false, false},
            {"transport", "x_transport", true, false},
            {"service", "x_service", true, false},
            {"host", "host", true, false},
        };
        for (std::size_t i = 0; i < names_of_sums().size(); ++i) {
            const rows::Column& column = rows::flow_columns()[i].column;
            if (is_counted(column)) made.push_back({column.name, names_of_sums()[i], false, true});
        }
        return made;
    }();
    return figures;
}

const Figure* find_figure(std::span<const Figure> figures, std::string_view path) {
    const auto found = std::ranges::find(figures, path, &Figure::path);
    return found == figures.end() ? nullptr : &*found;
}

base::Result<FleetFlows> ask_flows(Engine& engine, const Scope& scope, const FlowChoice& choice) {
    auto chosen = choose(engine, scope, choice);
    if (!chosen) return base::Failure{chosen.error()};
    FleetFlows out;
    out.all = chosen->all;
    // A statement names each flow: in pieces, so that it stays short.
    constexpr std::size_t piece = 1000;
    std::map<Id, FleetFlow> found;
    for (std::size_t begin = 0; begin < chosen->ids.size(); begin += piece) {
        const auto first = chosen->ids.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto last =
            chosen->ids.begin() + static_cast<std::ptrdiff_t>(std::min(begin + piece, chosen->ids.size()));
        auto rows = engine.ask(details_query(scope, {first, last}), columns_of_details());
        if (!rows) return base::Failure{rows.error()};
        for (const std::vector<std::string>& row : *rows)
            found.emplace(Id{row[0], number_of(row[1]), number_of(row[2])}, flow_of(row));
    }
    for (const Id& id : chosen->ids)
        if (const auto at = found.find(id); at != found.end()) out.flows.push_back(std::move(at->second));
    return out;
}

}  // namespace fleet::questions
