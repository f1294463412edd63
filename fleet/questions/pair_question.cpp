#include "fleet/questions/pair_question.h"

#include <array>
#include <fmt/format.h>

#include "fleet/questions/flow_sums.h"

namespace fleet::questions {
namespace {

constexpr std::array<std::string_view, 5> pair_counters{"packets", "wire_bytes", "retransmitted_packets",
                                                        "missing_packets", "timeouts"};

/// In the order of FlowPair's members.
constexpr std::string_view pair_columns =
    "x_transport, x_service, x_source_address, x_destination_address, x_destination_qpn, x_source_port, "
    "x_destination_port, x_source_host, x_destination_host, x_sent_packets, x_arrived_packets, x_sent_wire_bytes, "
    "x_arrived_wire_bytes, x_sent_retransmitted_packets, x_arrived_retransmitted_packets, x_sent_missing_packets, "
    "x_arrived_missing_packets, y_timeouts, is_complete";
constexpr std::size_t pair_column_count = 19;

/// Both daemons saw the flow begin, or ran when the scope began, and each has one run. Clocks differ, and so do the
/// ends of intervals.
constexpr std::int64_t clock_tolerance_ns = 1'000'000'000;
constexpr std::int64_t end_tolerance_ns = 120'000'000'000;

constexpr std::string_view at_source = "x_own_end IN ('source', 'both')";
constexpr std::string_view at_destination = "x_own_end IN ('destination', 'both')";

/// Aggregates of joined_flows(): whether both ends were counted over the same time.
std::string completeness() {
    return fmt::format(
        ", uniqIf(boot, {0}) = 1 AND uniqIf(boot, {1}) = 1 AND abs(minIf(x_since_ns, {0}) - minIf(x_since_ns, {1})) <= "
        "{2} AND "
        "abs(maxIf(x_until_ns, {0}) - maxIf(x_until_ns, {1})) <= {3} AS is_complete",
        at_source, at_destination, clock_tolerance_ns, end_tolerance_ns);
}

FlowPair pair_of(const std::vector<std::string>& row) {
    FlowPair pair{row[0], row[1], row[2], row[3]};
    pair.destination_qpn = number_of(row[4]);
    pair.source_port = number_of(row[5]);
    pair.destination_port = number_of(row[6]);
    pair.source_host = row[7];
    pair.destination_host = row[8];
    std::size_t at = 9;
    for (std::uint64_t* const figure :
         {&pair.sent_packets, &pair.arrived_packets, &pair.sent_bytes, &pair.arrived_bytes, &pair.sent_retransmitted,
          &pair.arrived_retransmitted, &pair.missing_at_source, &pair.missing_at_destination, &pair.timeouts})
        *figure = number_of(row[at++]);
    pair.complete = number_of(row[at]) != 0;
    return pair;
}

}  // namespace

base::Result<FlowPairs> ask_pairs(Engine& engine, const Scope& scope, std::uint64_t top) {
    const MoreColumns more{
        fmt::format(", greatest(min(first_ns), toInt64({})) AS x_since_ns, max(end_ns) AS x_until_ns", scope.from_ns),
        completeness()};
    const std::string flows = joined_flows(scope, pair_counters, more);
    const std::string sql = fmt::format(
        "SELECT {} FROM ({}) WHERE x_at_source AND x_at_destination ORDER BY "
        "greatest(toInt64(x_arrived_missing_packets) - toInt64(x_sent_missing_packets), toInt64(0)) DESC, "
        "toInt64(x_sent_packets) - toInt64(x_arrived_packets) DESC, x_sent_wire_bytes DESC, x_source_address, "
        "x_destination_address, "
        "x_destination_qpn, x_source_port LIMIT {}{}",
        pair_columns, flows, top, settings);
    auto rows = engine.ask(sql, pair_column_count);
    if (!rows) return base::Failure{rows.error()};
    auto counts = engine.ask(fmt::format("SELECT countIf(x_at_source AND x_at_destination), "
                                         "countIf(NOT (x_at_source AND x_at_destination)) FROM ({}){}",
                                         flows, settings),
                             2);
    if (!counts) return base::Failure{counts.error()};
    FlowPairs out;
    for (const std::vector<std::string>& row : *rows) out.pairs.push_back(pair_of(row));
    if (!counts->empty()) {
        out.all = number_of(counts->front()[0]);
        out.one_end = number_of(counts->front()[1]);
    }
    return out;
}

}  // namespace fleet::questions
