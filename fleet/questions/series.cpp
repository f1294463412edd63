#include "fleet/questions/series.h"

#include <algorithm>
#include <fmt/format.h>

#include "fleet/questions/clickhouse_engine.h"
#include "fleet/questions/flow_sums.h"

namespace fleet::questions {
namespace {

const rows::Column& column_of(const rows::Table& table, std::string_view name) {
    return *std::ranges::find(table.columns, name, &rows::Column::name);
}

/// An aggregate of `sql`, which is the column `name`: of a state the one that is last in `order`, else the greatest.
std::string value_of(const Series& series, std::string_view name, std::string_view sql, std::string_view order) {
    const bool is_state = column_of(series.table, name).nature == rows::Nature::state;
    return is_state ? fmt::format("argMax({}, {})", sql, order) : fmt::format("max({})", sql);
}

}  // namespace

std::string amounts_increase(const Scope& scope) {
    return fmt::format(
        "arrayReduce('sumMap', [argMax(amount_keys, sequence), {}], "
        "[arrayMap(a -> toInt64(a), argMax(amounts, sequence)), arrayMap(a -> -toInt64(a), {})])",
        at_beginning(scope, "amount_keys"), at_beginning(scope, "amounts"));
}

std::string series_of(const Scope& scope, const Series& series, std::string_view more) {
    std::string sql = fmt::format("SELECT host, boot, {}", series.place);
    for (const std::string_view name : series.shown)
        sql += fmt::format(", {} AS x_{}", value_of(series, name, name, "sequence"), name);
    for (const std::string_view name : series.restarting)
        sql += fmt::format(", argMax({0}, sequence) AS x_{0}, {1} AS x_before_{0}", name, at_beginning(scope, name));
    for (const std::string_view name : series.counted)
        sql += fmt::format(", {} AS x_{}", increase(scope, column_of(series.table, name)), name);
    for (const std::string_view name : series.least) sql += fmt::format(", argMax({0}, sequence) AS x_{0}", name);
    for (const std::string_view name : series.listed)
        sql += fmt::format(", groupUniqArrayArrayIf({0}, end_ns > {1}) AS x_{0}", name, scope.from_ns);
    return fmt::format(
        "{}{}, {} AS x_amounts, x_amounts.1 AS x_keys, x_amounts.2 AS x_values, argMax(own_end, sequence) AS "
        "x_own_end, max(end_ns) AS x_end, "
        "multiIf(x_own_end IN ({}), 3, x_own_end IN ({}), 2, 1) AS x_rank FROM {} WHERE {}{} GROUP BY host, boot, {} "
        "HAVING max(end_ns) > {}",
        sql, more, amounts_increase(scope), series.near, series.far, schema::table_name(series.table, scope.resolution),
        rows_of(scope), series.where.empty() ? "" : fmt::format(" AND ({})", series.where), series.place,
        scope.from_ns);
}

std::string joined_series(const Scope& scope, const Series& series, std::string_view more) {
    std::string sums;
    std::string nearest;
    for (const std::string_view name : series.shown) {
        sums += fmt::format(", {} AS s_{}", value_of(series, name, fmt::format("x_{}", name), "x_end"), name);
        nearest += fmt::format(", argMax(s_{0}, x_rank) AS y_{0}", name);
    }
    for (const std::string_view name : series.restarting) {
        sums += fmt::format(", argMax(x_{0}, x_end) AS s_{0}, argMax(x_before_{0}, x_end) AS s_before_{0}", name);
        nearest += fmt::format(", argMax(s_{0}, x_rank) AS y_{0}, argMax(s_before_{0}, x_rank) AS y_before_{0}", name);
    }
    for (const std::string_view name : series.counted) {
        sums += fmt::format(", sum(x_{0}) AS s_{0}", name);
        nearest += fmt::format(", argMax(s_{0}, x_rank) AS y_{0}", name);
    }
    for (const std::string_view name : series.least) {
        sums += fmt::format(", minIf(x_{0}, x_{0} != 0) AS s_{0}", name);
        nearest += fmt::format(", argMax(s_{0}, x_rank) AS y_{0}", name);
    }
    for (const std::string_view name : series.listed) {
        sums += fmt::format(", groupUniqArrayArray(x_{0}) AS s_{0}", name);
        nearest += fmt::format(", arraySort(argMax(s_{0}, x_rank)) AS y_{0}", name);
    }
    // Daemons at neither end see the same: one of them counts.
    const std::string by_rank = fmt::format(
        "SELECT {0}, x_rank, if(x_rank = 1, host, '') AS seen_by{1}, sumMap(x_keys, x_values) AS s_amounts FROM ({2}) "
        "GROUP BY {0}, x_rank, seen_by",
        series.joint, sums, series_of(scope, series, more));
    return fmt::format("SELECT {0}{1}, argMax(s_amounts, x_rank) AS y_amounts FROM ({2}) GROUP BY {0}", series.joint,
                       nearest, by_rank);
}

rows::Amounts amounts_of(const std::string& keys, const std::string& values) {
    const std::vector<std::int64_t> key_list = list_of(keys);
    const std::vector<std::int64_t> value_list = list_of(values);
    rows::Amounts amounts;
    for (std::size_t i = 0; i < std::min(key_list.size(), value_list.size()); ++i)
        if (value_list[i] > 0)
            amounts[static_cast<std::uint32_t>(key_list[i])] = static_cast<std::uint64_t>(value_list[i]);
    return amounts;
}

}  // namespace fleet::questions
