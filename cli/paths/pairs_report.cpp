#include "cli/paths/pairs_report.h"

#include <algorithm>
#include <fmt/core.h>

#include "base/quantities.h"
#include "exporters/path_json.h"
#include "exporters/text_table.h"
#include "exporters/value.h"

namespace cli::paths {

namespace {

using exporters::Value;
using metrics::PathPair;
using metrics::PathRow;

base::Style column() { return {base::Spacing::column}; }
/// Rows of a pair that people read.
constexpr std::size_t most_rows = 64;

std::string receiver_text(metrics::ReceiverClass receiver) {
    switch (receiver) {
        case metrics::ReceiverClass::in_order: return "; receives in order";
        case metrics::ReceiverClass::selective: return "; asks again only for what is missing";
        case metrics::ReceiverClass::placing: return "; places packets out of order";
        case metrics::ReceiverClass::unknown: break;
    }
    return {};
}

std::string heading_text(const PathPair& pair, const metrics::HostNames& names) {
    const metrics::Evenness even = metrics::evenness_of(pair.bytes());
    std::string text =
        fmt::format("{} > {}  DSCP {}  {}, effective {}, fairness {}, max/mean {}", names.text(pair.source),
                    names.text(pair.destination), pair.dscp,
                    base::format_counted(pair.entropies, "entropy", "entropies"), base::format_decimal(even.effective),
                    base::format_decimal(even.fairness), base::format_decimal(even.max_over_mean));
    if (pair.median_max_over_mean)
        text += fmt::format(" ({} in 0.1 s)", base::format_decimal(*pair.median_max_over_mean));
    if (pair.entropy_changes > 0)
        text += fmt::format("; changes inside queue pairs {}", base::group_digits(pair.entropy_changes));
    if (pair.hop_limits.size() > 1) text += "; paths of different lengths";
    return text + receiver_text(pair.receiver) + "\n";
}

std::string ns_cell(const std::optional<std::uint64_t>& ns) {
    return base::format_duration(ns ? std::optional(static_cast<double>(*ns)) : std::nullopt, column());
}

std::string p_cell(const std::optional<double>& p) {
    if (!p) return "-";
    return *p < 0.001 ? fmt::format("{:.0e}", *p) : fmt::format("{:.3f}", *p);
}

std::vector<std::string> row_cells(const PathRow& row, std::uint64_t all_bytes) {
    const auto bytes = static_cast<double>(row.figures.wire_bytes);
    const std::string_view problem = exporters::name_of(row.problem);
    return {metrics::to_text(row.figures.entropy),
            fmt::format("{}", row.flows.size()),
            base::format_count(static_cast<double>(row.figures.packets)),
            base::format_size(bytes, column()),
            base::format_percent(all_bytes == 0 ? std::nullopt : std::optional(bytes / static_cast<double>(all_bytes)),
                                 column()),
            fmt::format("{}", row.figures.loss_episodes),
            fmt::format("{}", row.figures.late_packets),
            fmt::format("{}", row.figures.ecn_ce_packets),
            ns_cell(row.round_trip_min_ns),
            ns_cell(row.round_trip_ns.quantile(0.5)),
            p_cell(row.p_loss),
            std::string(problem)};
}

void append_rows(std::string& out, const PathPair& pair) {
    exporters::Table table({{"entropy", true, 0},
                            {"flows", false, 0},
                            {"packets", false, 0},
                            {"bytes", false, 0},
                            {"share", false, 0},
                            {"losses", false, 0},
                            {"late", false, 0},
                            {"CE", false, 0},
                            {"rtt min", false, 0},
                            {"rtt p50", false, 0},
                            {"p", false, 0},
                            {"problem", true, 0}});
    // Those with a problem come first, then the heaviest.
    std::vector<const PathRow*> rows;
    for (const PathRow& row : pair.rows) rows.push_back(&row);
    std::ranges::stable_sort(rows, [](const PathRow* one, const PathRow* other) {
        const bool first = one->problem != metrics::PathProblem::none;
        const bool second = other->problem != metrics::PathProblem::none;
        return first != second ? first : one->figures.wire_bytes > other->figures.wire_bytes;
    });
    const std::uint64_t all_bytes = pair.wire_bytes();
    for (std::size_t i = 0; i < std::min(rows.size(), most_rows); ++i) table.add(row_cells(*rows[i], all_bytes));
    table.flush(out);
    if (rows.size() > most_rows)
        out += fmt::format("and {} (--json and --csv have all)\n",
                           base::format_counted(rows.size() - most_rows, "entropy", "entropies"));
}

/// What chance does to the same number of entropies with these bytes.
void append_expectations(std::string& out, const PathPair& pair, std::span<const std::uint64_t> paths) {
    if (pair.rows.size() < 2) return;
    exporters::Table table({{"if hashed over", true, 0},
                            {"used", false, 0},
                            {"fairness", false, 0},
                            {"max/mean", false, 0},
                            {"collision", false, 0}});
    const std::vector<std::uint64_t> bytes = pair.bytes();
    for (const std::uint64_t count : paths) {
        const metrics::Expectation expected = metrics::expectation_of(bytes, count);
        table.add({base::format_counted(count, "path"), base::format_decimal(expected.used),
                   base::format_decimal(expected.fairness), base::format_decimal(expected.max_over_mean),
                   base::format_percent(expected.collision, column())});
    }
    table.flush(out);
}

Value value_of(const std::optional<std::uint64_t>& value) { return value ? Value{*value} : Value{}; }

}  // namespace

void append_table(std::string& out, std::span<const PathPair> pairs, std::span<const std::uint64_t> paths,
                  const metrics::HostNames& names) {
    bool first = true;
    for (const PathPair& pair : pairs) {
        if (!first) out += '\n';
        first = false;
        out += heading_text(pair, names);
        append_rows(out, pair);
        append_expectations(out, pair, paths);
        if (pair.packets_needed > 0)
            out += fmt::format("losses: too few to blame a path; about {} more packets of an entropy are needed\n",
                               base::group_digits(pair.packets_needed));
    }
}

std::string csv_header() {
    return "source,destination,transport,traffic_class,entropy,flows,packets,bytes,loss_episodes,ce,late,repeated,"
           "rtt_min_ns,rtt_median_ns,p_loss,verdict\n";
}

void append_csv(std::string& out, std::span<const PathPair> pairs, const metrics::HostNames& names,
                std::string_view before) {
    for (const PathPair& pair : pairs)
        for (const PathRow& row : pair.rows) {
            out += before;
            const std::array<Value, 16> values{names.text(pair.source),
                                               names.text(pair.destination),
                                               std::string(metrics::name_of(pair.transport)),
                                               std::uint64_t{pair.dscp},
                                               metrics::to_text(row.figures.entropy),
                                               std::uint64_t{row.flows.size()},
                                               row.figures.packets,
                                               row.figures.wire_bytes,
                                               row.figures.loss_episodes,
                                               row.figures.ecn_ce_packets,
                                               row.figures.late_packets,
                                               row.figures.repeated_packets,
                                               value_of(row.round_trip_min_ns),
                                               value_of(row.round_trip_ns.quantile(0.5)),
                                               row.p_loss ? Value{*row.p_loss} : Value{},
                                               std::string(exporters::name_of(row.problem))};
            bool first = true;
            for (const Value& value : values) {
                if (!first) out += ',';
                first = false;
                exporters::append_csv(out, value);
            }
            out += '\n';
        }
}

}  // namespace cli::paths
