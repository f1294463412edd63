#include "cli/paths/pairs_report.h"

#include <algorithm>
#include <fmt/core.h>

#include "base/quantities.h"
#include "exporters/path_columns.h"
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

void append_rows(std::string& out, const PathPair& pair) {
    std::vector<exporters::Table::Heading> headings;
    for (const exporters::PathColumn& each : exporters::path_columns())
        headings.push_back({std::string(each.title), each.left_aligned, 0});
    exporters::Table table(std::move(headings));
    // Those with a problem come first, then the heaviest.
    std::vector<const PathRow*> rows;
    for (const PathRow& row : pair.rows) rows.push_back(&row);
    std::ranges::stable_sort(rows, [](const PathRow* one, const PathRow* other) {
        const bool first = one->problem != metrics::PathProblem::none;
        const bool second = other->problem != metrics::PathProblem::none;
        return first != second ? first : one->figures.wire_bytes > other->figures.wire_bytes;
    });
    const std::uint64_t all_bytes = pair.wire_bytes();
    for (std::size_t i = 0; i < std::min(rows.size(), most_rows); ++i) {
        std::vector<std::string> cells;
        for (const exporters::PathColumn& each : exporters::path_columns())
            cells.push_back(each.text(*rows[i], all_bytes, column()));
        table.add(std::move(cells));
    }
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
        out += exporters::path_heading(pair, &names) + '\n';
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
