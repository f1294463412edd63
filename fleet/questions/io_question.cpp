#include "fleet/questions/io_question.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "fleet/questions/flow_sums.h"
#include "fleet/questions/series.h"
#include "fleet/rows/command_rows.h"
#include "fleet/rows/flow_rows.h"
#include "fleet/schema/sql.h"

namespace fleet::questions {
namespace {

using metrics::CommandConnectionFigures;
using metrics::CommandKindFigures;

/// Ends of a connection. QPNs of initiators are known to some daemons only; ports of iWARP to all.
constexpr std::string_view names_of_ends = "x_protocol, x_transport, x_initiator, x_target, x_target_number, x_port";

Series commands_series(std::string where) {
    return {.table = rows::commands_table(),
            .place = "flow, level, kind, status",
            .joint = "x_protocol, x_transport, x_initiator, x_target, x_target_number, x_port, level, kind, status",
            .shown = {"protocol", "transport", "initiator", "initiator_number", "target", "target_number",
                      "initiator_name", "target_name", "heading", "evidence", "confidence", "queue", "open_limit",
                      "housekeeping", "open_max"},
            .counted = {"commands", "errors", "bytes", "unanswered"},
            .near = "'initiator', 'both'",
            .far = "'target'",
            .where = std::move(where)};
}

std::string connections(const Scope& scope, std::string where) {
    return joined_series(scope, commands_series(std::move(where)),
                         ", if(x_transport = 'iwarp', x_initiator_number, toUInt32(0)) AS x_port");
}

/// What the rows of a group have in common, over connections().
std::string name_of_group(IoGroupBy by) {
    switch (by) {
        case IoGroupBy::connection: break;
        case IoGroupBy::pair: return "concat(x_initiator, ' > ', x_target)";
        case IoGroupBy::initiator: return "x_initiator";
        case IoGroupBy::target: return "if(y_target_name = '', x_target, y_target_name)";
        case IoGroupBy::protocol: return "x_protocol";
        case IoGroupBy::all: return "'all'";
    }
    return "concat(x_transport, ' ', x_initiator, ' ', toString(x_port), ' ', x_target, ' ', "
           "toString(x_target_number))";
}

/// The protocols of all connections together have no name.
std::string protocol_of_group(IoGroupBy by) { return by == IoGroupBy::all ? "''" : "x_protocol"; }

constexpr std::array group_columns{"protocol",      "transport",      "initiator",   "initiator_number", "target",
                                   "target_number", "initiator_name", "target_name", "heading",          "evidence",
                                   "confidence",    "queue",          "open_limit",  "housekeeping",     "open_max"};
constexpr std::array group_counters{"commands", "errors", "bytes", "unanswered"};

/// Sums of the connections of a group: of the connections themselves, of their kinds, of statuses. Only the amounts of
/// the groups that are shown are read.
std::string groups_query(const Scope& scope, const IoChoice& choice, const std::string& where, bool with_amounts) {
    std::string sql =
        fmt::format("SELECT {} AS name, {} AS group_protocol, level, kind, status, count() AS connections",
                    name_of_group(choice.by), protocol_of_group(choice.by));
    for (const std::string_view column : group_columns) sql += fmt::format(", max(y_{0}) AS z_{0}", column);
    for (const std::string_view column : group_counters) sql += fmt::format(", sum(y_{0}) AS z_{0}", column);
    if (with_amounts)
        sql += ", sumMap(y_amounts.1, y_amounts.2) AS z_amounts, z_amounts.1 AS z_keys, z_amounts.2 AS z_values";
    return fmt::format("{} FROM ({}) GROUP BY name, group_protocol, level, kind, status", sql,
                       connections(scope, where));
}

using Name = std::pair<std::string, std::string>;  ///< of a group, and its protocol

struct ChosenGroups {
    std::vector<Name> names = {};
    std::uint64_t all = 0;
};

/// Connections that the filter passes: their ends, as a list for the rows of `commands`.
base::Result<std::string> passing_connections(Engine& engine, const Scope& scope, const std::string& having) {
    if (having.empty()) return std::string();
    auto rows = engine.ask(fmt::format("SELECT {} FROM ({}) WHERE {} GROUP BY {}{}", names_of_ends,
                                       connections(scope, "level = 'connection'"), having, names_of_ends, settings),
                           6);
    if (!rows) return base::Failure{rows.error()};
    std::string list = "('', '', '', '', toUInt32(0), toUInt32(0))";
    for (const std::vector<std::string>& row : *rows)
        list +=
            fmt::format(", ({}, {}, {}, {}, toUInt32({}), toUInt32({}))", schema::text(row[0]), schema::text(row[1]),
                        schema::text(row[2]), schema::text(row[3]), number_of(row[4]), number_of(row[5]));
    return fmt::format(
        "(protocol, transport, initiator, target, target_number, if(transport = 'iwarp', initiator_number, "
        "toUInt32(0))) IN ({})",
        list);
}

base::Result<ChosenGroups> choose(Engine& engine, const Scope& scope, const IoChoice& choice,
                                  const std::string& passing) {
    const std::string where = passing.empty() ? "level = 'connection'" : "level = 'connection' AND " + passing;
    const std::string groups = groups_query(scope, choice, where, false);
    std::string order = "z_commands";
    if (choice.order != nullptr) order = fmt::format("z_{}", choice.order->column.substr(2));
    auto rows = engine.ask(fmt::format("SELECT name, group_protocol FROM ({}) ORDER BY {} {}, name LIMIT {}{}", groups,
                                       order, choice.descending ? "DESC" : "ASC", choice.top, settings),
                           2);
    if (!rows) return base::Failure{rows.error()};
    auto count = engine.ask(fmt::format("SELECT count() FROM ({}){}", groups, settings), 1);
    if (!count) return base::Failure{count.error()};
    ChosenGroups chosen;
    if (!count->empty()) chosen.all = number_of(count->front().front());
    for (const std::vector<std::string>& row : *rows) chosen.names.emplace_back(row[0], row[1]);
    return chosen;
}

/// A row of groups_query() with amounts.
class GroupRow {
public:
    static constexpr std::size_t width = 6 + group_columns.size() + group_counters.size() + 2;

    explicit GroupRow(const std::vector<std::string>& cells) : cells_(cells) {}

    Name name() const { return {cells_[0], cells_[1]}; }
    const std::string& level() const { return cells_[2]; }
    const std::string& kind() const { return cells_[3]; }
    const std::string& status() const { return cells_[4]; }
    std::uint64_t connections() const { return number_of(cells_[5]); }
    const std::string& text(std::string_view column) const {
        const auto at = std::ranges::find(group_columns, column) - group_columns.begin();
        return cells_[6 + static_cast<std::size_t>(at)];
    }
    std::uint64_t counter(std::size_t place) const { return number_of(cells_[6 + group_columns.size() + place]); }
    rows::Amounts amounts() const { return amounts_of(cells_[width - 2], cells_[width - 1]); }

private:
    const std::vector<std::string>& cells_;
};

template <class Number>
std::optional<Number> known_number(const std::string& text) {
    const std::int64_t number = signed_of(text);
    return number < 0 ? std::nullopt : std::optional(static_cast<Number>(number));
}

void set_connection(IoGroup& group, const GroupRow& row, bool is_single) {
    group.connections = row.connections();
    CommandConnectionFigures& sum = group.sum;
    rows::set_command_amounts(sum, row.amounts());
    sum.open_max = static_cast<std::uint32_t>(number_of(row.text("open_max")));
    sum.protocol = row.name().second;
    if (!is_single) return;
    for (std::size_t i = 0; i < 4; ++i)
        if (metrics::name_of(static_cast<wire::Transport>(i)) == row.text("transport"))
            sum.transport = static_cast<wire::Transport>(i);
    sum.heading = row.text("heading");
    sum.evidence = row.text("evidence");
    sum.confidence = decimal_of(row.text("confidence"));
    sum.initiator = rows::address_of(row.text("initiator"));
    sum.target = rows::address_of(row.text("target"));
    sum.initiator_number = static_cast<std::uint32_t>(number_of(row.text("initiator_number")));
    sum.target_number = static_cast<std::uint32_t>(number_of(row.text("target_number")));
    sum.initiator_name = row.text("initiator_name");
    sum.target_name = row.text("target_name");
    sum.queue = known_number<std::uint16_t>(row.text("queue"));
    sum.limit = known_number<std::uint32_t>(row.text("open_limit"));
}

/// Kinds that had no commands in the scope are left out.
void add_kind(CommandConnectionFigures& sum, const GroupRow& row) {
    CommandKindFigures kind;
    kind.kind = row.kind();
    kind.commands = row.counter(0);
    kind.errors = row.counter(1);
    kind.bytes = row.counter(2);
    kind.unanswered = row.counter(3);
    kind.housekeeping = number_of(row.text("housekeeping")) != 0;
    rows::set_command_amounts(kind, row.amounts());
    if (kind.commands + kind.orphans + kind.replaced + kind.unanswered + kind.given_up != 0)
        sum.kinds.push_back(std::move(kind));
}

void add_status(CommandConnectionFigures& sum, const GroupRow& row) {
    const auto kind = std::ranges::find(sum.kinds, row.kind(), &CommandKindFigures::kind);
    if (kind != sum.kinds.end() && row.counter(1) != 0) metrics::count_status(*kind, row.status(), row.counter(1));
}

/// Rows come in the order connection, kind, status.
base::Result<std::map<Name, IoGroup>> details(Engine& engine, const Scope& scope, const IoChoice& choice,
                                              const std::string& passing, std::span<const Name> names) {
    std::string list;
    for (const auto& [name, protocol] : names)
        list += fmt::format("{}({}, {})", list.empty() ? "" : ", ", schema::text(name), schema::text(protocol));
    std::string shown = "name, group_protocol, level, kind, status, connections";
    for (const std::string_view column : group_columns) shown += fmt::format(", z_{}", column);
    for (const std::string_view column : group_counters) shown += fmt::format(", z_{}", column);
    auto answer = engine.ask(
        fmt::format("SELECT {}, z_keys, z_values FROM ({}) WHERE (name, group_protocol) IN ({}) ORDER BY level, kind, "
                    "status{}",
                    shown, groups_query(scope, choice, passing, true), list, settings),
        GroupRow::width);
    if (!answer) return base::Failure{answer.error()};
    std::map<Name, IoGroup> groups;
    for (const std::vector<std::string>& cells : *answer) {
        const GroupRow row(cells);
        IoGroup& group = groups[row.name()];
        if (row.level() == rows::level_connection)
            set_connection(group, row, choice.by == IoGroupBy::connection);
        else if (row.level() == rows::level_kind)
            add_kind(group.sum, row);
        else
            add_status(group.sum, row);
    }
    return groups;
}

}  // namespace

std::span<const Figure> io_figures() {
    static constexpr std::array figures{
        Figure{"protocol", "x_protocol", true, false},       Figure{"transport", "x_transport", true, false},
        Figure{"initiator", "x_initiator", true, false},     Figure{"target", "x_target", true, false},
        Figure{"target_name", "y_target_name", true, false}, Figure{"commands", "y_commands", false, true},
        Figure{"errors", "y_errors", false, true},           Figure{"bytes", "y_bytes", false, true},
        Figure{"unanswered", "y_unanswered", false, true},   Figure{"open_max", "y_open_max", false, false},
    };
    return figures;
}

base::Result<IoGroups> ask_io(Engine& engine, const Scope& scope, const IoChoice& choice) {
    const auto passing = passing_connections(engine, scope, choice.having);
    if (!passing) return base::Failure{passing.error()};
    auto chosen = choose(engine, scope, choice, *passing);
    if (!chosen) return base::Failure{chosen.error()};
    IoGroups out;
    out.all = chosen->all;
    if (chosen->names.empty()) return out;
    auto found = details(engine, scope, choice, *passing, chosen->names);
    if (!found) return base::Failure{found.error()};
    for (const Name& name : chosen->names) {
        const auto at = found->find(name);
        if (at == found->end()) continue;
        IoGroup& group = out.groups.emplace_back(std::move(at->second));
        if (choice.by == IoGroupBy::connection)
            group.sum.number = out.groups.size();
        else
            group.name = name.first;
    }
    return out;
}

}  // namespace fleet::questions
