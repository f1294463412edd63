#include "cli/io/interval_report.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>

#include "base/clock.h"
#include "base/timestamp.h"
#include "cli/analysis/recall.h"

namespace cli::io {

namespace {

using metrics::CommandConnectionFigures;

/// "01:48:03.000": local time of day.
std::string clock_cell(std::int64_t time_ns, std::int64_t length_ns) {
    constexpr std::int64_t ns_per_ms = 1'000'000;
    constexpr std::size_t digits_below_ms = 3;
    std::string text;
    base::Timestamps(base::TimeStyle::time_of_day, false).append(text, time_ns);
    while (!text.empty() && text.back() == ' ') text.pop_back();
    if (length_ns % ns_per_ms == 0 && text.size() > digits_below_ms) text.resize(text.size() - digits_below_ms);
    return text;
}

const CommandConnectionFigures* find_connection(const ConnectionFigures& figures, std::uint64_t number) {
    const auto found = std::ranges::lower_bound(figures, number, {}, &CommandConnectionFigures::number);
    return found == figures.end() || found->number != number ? nullptr : &*found;
}

/// The figures of each connection since `before`. Connections without commands since then are left out.
ConnectionFigures added_since(const ConnectionFigures& before, const ConnectionFigures& now, std::int64_t since_ns) {
    const CommandConnectionFigures nothing;
    ConnectionFigures out;
    for (const CommandConnectionFigures& connection : now) {
        const CommandConnectionFigures* const earlier = find_connection(before, connection.number);
        CommandConnectionFigures added = connection;
        metrics::subtract(added, earlier == nullptr ? nothing : *earlier, since_ns);
        if (!added.kinds.empty()) out.push_back(std::move(added));
    }
    return out;
}

}  // namespace

IntervalReport::IntervalReport(const IoOptions& options, const analysis::Names& names, TextOutput& output,
                               Source source)
    : options_(options),
      names_(names),
      output_(output),
      source_(source),
      length_ns_(static_cast<std::int64_t>(options.interval_ns.value_or(1))) {}

bool IntervalReport::pass(std::int64_t time_ns) {
    if (!start_ns_) start_ns_ = analysis::begin_of(time_ns, length_ns_);
    if (time_ns < base::later(*start_ns_, static_cast<std::uint64_t>(length_ns_))) return true;
    const bool printed = close();
    start_ns_ = analysis::begin_of(time_ns, length_ns_);
    return printed;
}

bool IntervalReport::close() {
    metrics::CommandMeasure& measure = source_.measure;
    source_.reader.visit_connections([&measure](upper::Connection& connection) { measure.refresh(connection); });
    ConnectionFigures now = measure.figures();
    const ConnectionFigures added = source_.list.passing(added_since(before_, now, *start_ns_));
    if (!options_.by)
        print(added);
    else
        print(options_.by == GroupBy::lba ? source_.ranges.take(added) : grouped(added, *options_.by, names_));
    before_ = std::move(now);
    measure.forget_exhibits();
    // Live rows appear at once.
    return options_.interfaces.empty() ? output_.settle() : output_.flush();
}

void IntervalReport::finish() {
    if (start_ns_) close();
    begin();
    if (options_.form == Form::json) output_.text() += any_ ? "\n]}\n" : "]}\n";
}

void IntervalReport::begin() {
    if (begun_) return;
    begun_ = true;
    switch (options_.form) {
        case Form::csv:
            output_.text() += "interval_start_ns,interval_length_ns,";
            if (options_.by)
                output_.text() += groups_csv_header();
            else
                source_.list.append_csv_header(output_.text());
            return;
        case Form::json: output_.text() += "{\"intervals\": ["; return;
        case Form::table: break;
    }
    table_.emplace(options_.by ? kind_table({"interval", "protocol", "group"}, kind_columns_below_heading())
                               : source_.list.table({"interval"}));
}

void IntervalReport::print(const ConnectionFigures& figures) {
    if (figures.empty()) return;
    begin();
    switch (options_.form) {
        case Form::table: print_table(figures); break;
        case Form::json: print_json("connections", connections_text(figures, names_)); break;
        case Form::csv: print_csv(figures); break;
    }
    any_ = true;
}

void IntervalReport::print(const std::vector<Group>& groups) {
    if (groups.empty()) return;
    begin();
    switch (options_.form) {
        case Form::table: print_table(groups); break;
        case Form::json: print_json("groups", groups_text(groups)); break;
        case Form::csv: append_csv_rows(output_.text(), groups, csv_cells()); break;
    }
    any_ = true;
}

void IntervalReport::print_table(const ConnectionFigures& figures) {
    const std::string clock = clock_cell(*start_ns_, length_ns_);
    for (const KindRow& row : source_.list.rows(figures)) table_->add(source_.list.cells(row, {clock}));
    table_->flush(output_.text());
}

void IntervalReport::print_table(const std::vector<Group>& groups) {
    const std::string clock = clock_cell(*start_ns_, length_ns_);
    for (const Group& group : groups)
        for (std::vector<std::string>& cells : kind_rows(group.sum)) {
            std::vector<std::string> row{clock, group.sum.protocol.empty() ? "-" : group.sum.protocol, group.name};
            std::ranges::move(cells, std::back_inserter(row));
            table_->add(std::move(row));
        }
    table_->flush(output_.text());
}

void IntervalReport::print_csv(const ConnectionFigures& figures) {
    for (const KindRow& row : source_.list.rows(figures)) {
        output_.text() += csv_cells();
        source_.list.append_csv(output_.text(), row);
    }
}

void IntervalReport::print_json(std::string_view member, const std::string& objects) {
    output_.text() += fmt::format("{}\n{{\"start_ns\": {}, \"length_ns\": {}, \"{}\": {}}}", any_ ? "," : "",
                                  *start_ns_, length_ns_, member, objects);
}

std::string IntervalReport::csv_cells() const { return fmt::format("{},{},", *start_ns_, length_ns_); }

}  // namespace cli::io
