#include "fleet/questions/flow_sums.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/clock.h"
#include "fleet/rows/flow_rows.h"

namespace fleet::questions {
namespace {

/// A flow without a row of its interval before has had no traffic there (fleet/sink/interval_rows.h), so that this is
/// longer than any interval suffices.
constexpr std::int64_t look_back_ns = std::int64_t{15} * 60 * base::ns_per_sec;
constexpr std::int64_t hour_seconds = 3600;

constexpr std::array texts_of_identity{"transport", "service", "source_address", "destination_address"};
constexpr std::array numbers_of_identity{"source_qpn",       "source_port",   "destination_qpn",
                                         "destination_port", "traffic_class", "source_udp_port"};

/// What joins the rows of two daemons about one flow.
constexpr std::string_view joint_key =
    "x_transport, x_service, x_source_address, x_destination_address, x_destination_qpn, x_source_port, "
    "x_destination_port";

}  // namespace

std::string rows_of(const Scope& scope) {
    const std::int64_t begin_ns = base::add_ns(scope.from_ns, -look_back_ns);
    const auto hour = [](std::int64_t time_ns) {
        const std::int64_t seconds = std::clamp<std::int64_t>(time_ns / base::ns_per_sec, 0, 0xffff'ffff);
        return seconds - seconds % hour_seconds;
    };
    return fmt::format("hour >= toDateTime({}) AND hour <= toDateTime({}) AND end_ns > {} AND end_ns <= {}",
                       hour(begin_ns), hour(scope.to_ns), begin_ns, scope.to_ns);
}

/// One order for both cases: rows up to the beginning come first, the latest of them before the others.
std::string at_beginning(const Scope& scope, std::string_view column) {
    return fmt::format("argMin({}, if(end_ns <= {}, -1 - toInt64(sequence), toInt64(sequence)))", column,
                       scope.from_ns);
}

std::string increase(const Scope& scope, const rows::Column& column) {
    const std::string before = at_beginning(scope, column.name);
    if (column.nature == rows::Nature::estimate)
        return fmt::format("greatest(toInt64(argMax({}, sequence)) - toInt64({}), toInt64(0))", column.name, before);
    return fmt::format("(max({}) - {})", column.name, before);
}

std::string increase(const Scope& scope, std::string_view name) {
    const auto found =
        std::ranges::find(rows::flow_columns(), name, [](const rows::FlowColumn& each) { return each.column.name; });
    if (found != rows::flow_columns().end()) return increase(scope, found->column);
    return increase(scope, rows::Column{name, rows::Type::u64, rows::Nature::counter});
}

std::string flow_sums(const Scope& scope, std::span<const std::string_view> counters, std::string_view having,
                      std::string_view more) {
    std::string sql = "SELECT host, boot, flow";
    for (const std::string_view name : texts_of_identity) sql += fmt::format(", any({0}) AS x_{0}", name);
    for (const std::string_view name : numbers_of_identity) sql += fmt::format(", max({0}) AS x_{0}", name);
    sql += ", argMax(own_end, sequence) AS x_own_end";
    for (const std::string_view name : counters) sql += fmt::format(", {} AS x_{}", increase(scope, name), name);
    sql += more;
    // A flow that was only seen before the scope has no row in it.
    return fmt::format("{} FROM {} WHERE {} GROUP BY host, boot, flow HAVING max(end_ns) > {}{}{}", sql,
                       schema::table_name(rows::flows_table(), scope.resolution), rows_of(scope), scope.from_ns,
                       having.empty() ? "" : " AND ", having);
}

std::string joined_flows(const Scope& scope, std::span<const std::string_view> counters, const MoreColumns& more) {
    std::string sql = fmt::format(
        "SELECT {}, max(x_source_qpn) AS y_source_qpn, max(x_traffic_class) AS y_traffic_class, "
        "countIf(x_own_end IN ('source', 'both')) > 0 AS x_at_source, "
        "countIf(x_own_end IN ('destination', 'both')) > 0 AS x_at_destination, "
        "anyIf(host, x_own_end IN ('source', 'both')) AS x_source_host, "
        "anyIf(host, x_own_end IN ('destination', 'both')) AS x_destination_host",
        joint_key);
    for (const std::string_view name : counters)
        sql += fmt::format(
            ", sumIf(x_{0}, x_own_end IN ('source', 'both')) AS x_sent_{0}"
            ", sumIf(x_{0}, x_own_end IN ('destination', 'both')) AS x_arrived_{0}"
            ", if(x_at_source, x_sent_{0}, if(x_at_destination, x_arrived_{0}, max(x_{0}))) AS y_{0}",
            name);
    return fmt::format("{}{} FROM ({}) GROUP BY {}", sql, more.of_flow, flow_sums(scope, counters, {}, more.of_daemon),
                       joint_key);
}

}  // namespace fleet::questions
