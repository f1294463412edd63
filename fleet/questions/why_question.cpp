#include "fleet/questions/why_question.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "fleet/questions/flow_sums.h"
#include "fleet/rows/flow_rows.h"
#include "fleet/schema/sql.h"
#include "metrics/figures/path_figures.h"

namespace fleet::questions {
namespace {

constexpr std::array<std::string_view, 9> trouble_counters{
    "timeouts",    "retransmitted_packets", "rnr_naks", "ecn_ce_packets",
    "cnp_packets", "missing_packets",       "icrc_bad", "crc_bad",
    "terminates"};

constexpr std::size_t most_groups = 3;
constexpr double least_fit = 0.5;
/// Groups of each kind that the engine returns for a trouble: those with the most troubled flows. A group has no fewer
/// flows than troubled ones, so that least_fit needs least_fit / (2 - least_fit) of all troubled flows: a third. Groups
/// of one kind have no flow in common, so no more of them can have as many.
constexpr auto candidates = static_cast<unsigned>((2 - least_fit) / least_fit);
/// The kind of the group that has all flows.
constexpr std::string_view everything = "all";

/// The label of an address, from a list in the statement.
std::string rack_of(std::string_view column, const Racks& racks) {
    std::string addresses;
    std::string labels;
    for (const auto& [address, label] : racks) {
        addresses += (addresses.empty() ? "" : ", ") + schema::text(address);
        labels += (labels.empty() ? "" : ", ") + schema::text(label);
    }
    return fmt::format("transform({}, [{}], [{}], '')", column, addresses, labels);
}

/// What flows can share: a list of pairs, the kind and its value.
std::string shared_things(const Racks& racks) {
    std::string list = fmt::format("('{0}', '{0}'), ", everything);
    list +=
        "('destination', x_destination_address), ('source', x_source_address), "
        "('pair', concat(x_source_address, ' > ', x_destination_address)), "
        "('path', if(y_entropy = 0, '', concat(x_source_address, ' > ', x_destination_address, ' ', "
        "toString(y_entropy)))), "
        "('traffic class', toString(y_traffic_class))";
    if (racks.empty()) return list;
    const std::string source = rack_of("x_source_address", racks);
    const std::string destination = rack_of("x_destination_address", racks);
    return fmt::format(
        "{}, ('source rack', {}), ('destination rack', {}), ('pair of racks', if({} = '' OR {} = '', '', "
        "concat({}, ' > ', {})))",
        list, source, destination, source, destination, source, destination);
}

/// The entropy of each flow: between the same hosts, it chooses the path.
MoreColumns with_paths() { return {", argMax(entropy, sequence) AS x_entropy", ", max(x_entropy) AS y_entropy"}; }

/// Flows of each group; for each trouble, how many of them have it, and how much of it.
std::string groups_query(const Scope& scope, const Racks& racks) {
    std::string sums;
    for (const Trouble& trouble : troubles())
        sums += fmt::format(", countIf({0} > 0) AS t_{1}, toUInt64(sum({0})) AS a_{1}", trouble.measure, trouble.name);
    return fmt::format(
        "SELECT thing.1 AS shared, thing.2 AS value, count() AS flows, max(if(shared = 'destination', "
        "x_destination_host, if(shared = 'source', x_source_host, ''))) AS host{} FROM (SELECT *, arrayJoin([{}]) AS "
        "thing FROM ({})) WHERE thing.2 != '' GROUP BY shared, value",
        sums, shared_things(racks), joined_flows(scope, trouble_counters, with_paths()));
}

/// A row for each trouble of each group that can explain it, and of the group of all flows.
std::string candidates_query(const Scope& scope, const Racks& racks) {
    std::string list;
    for (const Trouble& trouble : troubles())
        list += fmt::format("{0}('{1}', t_{1}, a_{1})", list.empty() ? "" : ", ", trouble.name);
    return fmt::format(
        "SELECT one.1 AS name, shared, value, flows, one.2 AS troubled, one.3, host FROM (SELECT *, arrayJoin([{}]) AS "
        "one FROM ({})) WHERE one.2 > 0 OR shared = '{}' ORDER BY name, shared, troubled DESC, flows, value LIMIT {} "
        "BY name, shared{}",
        list, groups_query(scope, racks), everything, candidates, settings);
}

/// The engine has entropies as numbers, which people cannot read.
std::string path_text(const std::string& shared, const std::string& value) {
    const std::size_t at = value.rfind(' ');
    if (shared != "path" || at == std::string::npos) return value;
    return fmt::format("{}, entropy {}", value.substr(0, at),
                       metrics::to_text(metrics::Entropy(number_of(value.substr(at + 1)))));
}

/// When each trouble began: a flow's last state without it, the earliest of all flows. The rows are read once, and only
/// those of flows that have a trouble.
base::Result<void> add_beginnings(Engine& engine, const Scope& scope, std::vector<Finding>& findings) {
    std::string states = "end_ns";
    for (const Finding& finding : findings) states += fmt::format(", {}", finding.trouble->counter);
    std::string sums;
    std::string earliest;
    std::string any;
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const std::string_view counter = findings[i].trouble->counter;
        const std::string before = at_beginning(scope, counter);
        const std::string has_it = fmt::format("argMax({}, sequence) > {}", counter, before);
        sums += fmt::format(
            ", {1} AS x_before_{0}, {2} AS x_has_{0}, arrayReduce('max', arrayMap(s -> s.1, arrayFilter(s -> s.{3} <= "
            "x_before_{0}, groupArray(({4}))))) AS x_since_{0}",
            i, before, has_it, i + 2, states);
        earliest += fmt::format("{0}minIf(x_since_{1}, x_has_{1})", i == 0 ? "" : ", ", i);
        any += fmt::format("{}{}", i == 0 ? "" : " OR ", has_it);
    }
    const std::string sql = fmt::format(
        "SELECT {0} FROM (SELECT host, boot, flow{1} FROM {2} WHERE {3} AND (host, boot, flow) GLOBAL IN (SELECT host, "
        "boot, flow FROM {2} WHERE {3} GROUP BY host, boot, flow HAVING ({4}) AND max(end_ns) > {5}) GROUP BY host, "
        "boot, flow){6}",
        earliest, sums, schema::table_name(rows::flows_table(), scope.resolution), rows_of(scope), any, scope.from_ns,
        settings);
    auto rows = engine.ask(sql, findings.size());
    if (!rows) return base::Failure{rows.error()};
    for (std::size_t i = 0; i < findings.size(); ++i) {
        findings[i].since_ns = scope.from_ns;
        if (!rows->empty()) findings[i].since_ns = std::max(scope.from_ns, signed_of(rows->front()[i]));
    }
    return {};
}

/// The troubles that there are, and the groups that explain them: the flows are read once.
base::Result<Findings> find_troubles(Engine& engine, const Scope& scope, const Racks& racks) {
    const auto rows = engine.ask(candidates_query(scope, racks), 7);
    if (!rows) return base::Failure{rows.error()};
    Findings out;
    for (const Trouble& trouble : troubles()) {
        Finding finding{.trouble = &trouble};
        for (const std::vector<std::string>& row : *rows) {
            if (row[0] != trouble.name) continue;
            if (row[1] == everything) {
                out.flows = finding.flows = number_of(row[3]);
                finding.troubled = number_of(row[4]);
                finding.amount = number_of(row[5]);
            } else {
                finding.groups.push_back(
                    {row[1], path_text(row[1], row[2]), number_of(row[3]), number_of(row[4]), row[6]});
            }
        }
        if (finding.troubled == 0) continue;
        choose_groups(finding.groups, finding.flows, finding.troubled);
        out.list.push_back(std::move(finding));
    }
    std::ranges::sort(out.list, [](const Finding& one, const Finding& other) {
        if (one.troubled != other.troubled) return one.troubled > other.troubled;
        return one.trouble->name < other.trouble->name;
    });
    return out;
}

}  // namespace

const std::vector<Trouble>& troubles() {
    static const std::vector<Trouble> all{
        {"timeouts", "time-outs", "y_timeouts", "timeouts"},
        {"retransmissions", "packets sent again", "y_retransmitted_packets", "retransmitted_packets"},
        {"rnr", "receiver-not-ready answers", "y_rnr_naks", "rnr_naks"},
        {"congestion", "congestion marks or notifications", "y_ecn_ce_packets + y_cnp_packets",
         "ecn_ce_packets + cnp_packets"},
        {"loss", "packets lost before a tap", "x_sent_missing_packets + x_arrived_missing_packets", "missing_packets"},
        {"corruption", "packets with a wrong CRC", "y_icrc_bad + y_crc_bad", "icrc_bad + crc_bad"},
        {"terminates", "Terminate messages", "y_terminates", "terminates"},
    };
    return all;
}

/// The tables have addresses as metrics::to_text() writes them.
bool add_rack(Racks& racks, const std::string& address, std::string_view rack) {
    const metrics::Address known = rows::address_of(address);
    if (known.family == wire::AddressFamily::none) return false;
    racks[metrics::to_text(known)] = rack;
    return true;
}

double fit(const Group& group, std::uint64_t troubled) {
    const double all = static_cast<double>(group.flows) + static_cast<double>(troubled);
    return all == 0 ? 0 : 2 * static_cast<double>(group.troubled) / all;
}

void choose_groups(std::vector<Group>& groups, std::uint64_t flows, std::uint64_t troubled) {
    std::erase_if(groups, [&](const Group& group) {
        if (fit(group, troubled) < least_fit) return true;
        // Of what all flows share, none is the cause.
        if (group.flows >= flows) return true;
        const double inside = static_cast<double>(group.troubled) / static_cast<double>(group.flows);
        const double outside = static_cast<double>(troubled - std::min(troubled, group.troubled)) /
                               static_cast<double>(flows - group.flows);
        return inside <= outside;
    });
    std::ranges::stable_sort(groups, [&](const Group& one, const Group& other) {
        const double first = fit(one, troubled);
        const double second = fit(other, troubled);
        return first != second ? first > second : one.flows < other.flows;
    });
    if (groups.size() > most_groups) groups.resize(most_groups);
}

base::Result<Findings> ask_why(Engine& engine, const Scope& scope, const Racks& racks) {
    auto findings = find_troubles(engine, scope, racks);
    if (!findings || findings->list.empty()) return findings;
    if (const auto added = add_beginnings(engine, scope, findings->list); !added) return base::Failure{added.error()};
    return findings;
}

}  // namespace fleet::questions
