#include "fleet/questions/traffic_question.h"

#include <array>
#include <fmt/format.h>
#include <map>

#include "fleet/questions/flow_sums.h"

namespace fleet::questions {
namespace {

using exporters::GroupBy;
using exporters::TrafficGroup;

constexpr std::array<std::string_view, 4> traffic_counters{"packets", "wire_bytes", "messages", "timeouts"};

/// The figures of a group of flows, with `sent` and `received` as conditions.
std::string figures(std::string_view sent, std::string_view received) {
    return fmt::format(
        "count() AS flows, countIf(y_timeouts > 0) AS problems, sumIf(y_wire_bytes, {0}) AS sent, "
        "sumIf(y_wire_bytes, {1}) AS received, sumIf(y_packets, {0}) AS sent_packets, "
        "sumIf(y_packets, {1}) AS received_packets, sumIf(y_messages, {0}) AS sent_messages",
        sent, received);
}

std::string groups_query(const Scope& scope, GroupBy by) {
    const std::string flows = joined_flows(scope, traffic_counters);
    if (by == GroupBy::pair)
        return fmt::format(
            "SELECT if(x_source_address < x_destination_address, x_source_address, x_destination_address) AS name, "
            "if(x_source_address < x_destination_address, x_destination_address, x_source_address) AS peer, {} "
            "FROM ({}) GROUP BY name, peer",
            figures("x_source_address = name", "x_source_address != name"), flows);
    return fmt::format(
        "SELECT side.1 AS name, '' AS peer, {} FROM (SELECT *, arrayJoin(arrayDistinct([(x_source_address, 1), "
        "(x_destination_address, 0)])) AS side FROM ({})) GROUP BY name, peer",
        figures("side.2 = 1", "side.2 = 0"), flows);
}

}  // namespace

base::Result<Traffic> ask_traffic(Engine& engine, const Scope& scope, GroupBy by, std::uint64_t top) {
    // The totals are those of all groups: the flows are read once.
    const std::string sql = fmt::format(
        "SELECT name, peer, sum(flows), sum(problems), sum(sent) AS all_sent, sum(received) AS all_received, "
        "sum(sent_packets), sum(received_packets), sum(sent_messages), count() FROM ({}) GROUP BY name, peer WITH "
        "TOTALS "
        "ORDER BY all_sent + all_received DESC, name, peer LIMIT {}{}",
        groups_query(scope, by), top, settings);
    auto rows = engine.ask(sql, 10);
    if (!rows) return base::Failure{rows.error()};
    Traffic out;
    if (rows->empty()) return out;
    const std::vector<std::string> totals = std::move(rows->back());
    rows->pop_back();
    out.all_groups = number_of(totals[9]);
    auto bytes = static_cast<double>(number_of(totals[4]));
    if (by == GroupBy::pair) bytes += static_cast<double>(number_of(totals[5]));
    for (const std::vector<std::string>& row : *rows) {
        TrafficGroup& group = out.groups.emplace_back();
        group.name = group.address = row[0];
        group.peer = group.peer_address = row[1];
        group.flows = number_of(row[2]);
        group.problems = number_of(row[3]);
        group.sent_bytes = number_of(row[4]);
        group.received_bytes = number_of(row[5]);
        group.sent_packets = number_of(row[6]);
        group.received_packets = number_of(row[7]);
        group.messages = number_of(row[8]);
        const std::uint64_t part = by == GroupBy::pair ? group.bytes() : group.sent_bytes;
        if (bytes > 0) group.share = static_cast<double>(part) / bytes;
    }
    return out;
}

base::Result<std::vector<HostState>> ask_hosts(Engine& engine, const Scope& scope, std::uint64_t top) {
    constexpr std::array<std::string_view, 6> wanted{"wire_bytes", "retransmitted_packets", "timeouts",
                                                     "rnr_naks",   "ecn_ce_packets",        "cnp_packets"};
    const std::string flows = fmt::format(
        "SELECT host, count(), sumIf(x_wire_bytes, x_own_end IN ('source', 'both')) AS sent, "
        "sumIf(x_wire_bytes, x_own_end IN ('destination', 'both')) AS received, sum(x_retransmitted_packets), "
        "sum(x_timeouts), sum(x_rnr_naks), sum(x_ecn_ce_packets), sum(x_cnp_packets) FROM ({}) GROUP BY host "
        "ORDER BY sent + received DESC, host LIMIT {}{}",
        flow_sums(scope, wanted), top, settings);
    auto of_flows = engine.ask(flows, 9);
    if (!of_flows) return base::Failure{of_flows.error()};
    const std::string health = fmt::format(
        "SELECT host, max(last), argMax(of_version, last), sum(dropped), argMax(of_spool, last), "
        "argMax(of_intervals, last) FROM (SELECT host, boot, max(end_ns) AS last, argMax(version, sequence) AS "
        "of_version, {} AS dropped, argMax(spool_bytes, sequence) AS of_spool, argMax(intervals_dropped, sequence) AS "
        "of_intervals FROM health WHERE {} GROUP BY host, boot) GROUP BY host{}",
        increase(scope, "kernel_dropped"), rows_of(scope), settings);
    auto of_daemons = engine.ask(health, 6);
    if (!of_daemons) return base::Failure{of_daemons.error()};
    std::vector<HostState> out;
    std::map<std::string, std::size_t> places;
    for (const std::vector<std::string>& row : *of_flows) {
        places.emplace(row[0], out.size());
        out.push_back({row[0], number_of(row[1]), number_of(row[2]), number_of(row[3]), number_of(row[4]),
                       number_of(row[5]), number_of(row[6]), number_of(row[7]), number_of(row[8])});
    }
    for (const std::vector<std::string>& row : *of_daemons) {
        const auto [at, is_new] = places.try_emplace(row[0], out.size());
        if (is_new && out.size() >= top) continue;
        if (is_new) out.push_back({.host = row[0]});
        HostState& state = out[at->second];
        state.last_ns = signed_of(row[1]);
        state.version = row[2];
        state.kernel_dropped = number_of(row[3]);
        state.spool_bytes = number_of(row[4]);
        state.intervals_dropped = number_of(row[5]);
    }
    return out;
}

}  // namespace fleet::questions
