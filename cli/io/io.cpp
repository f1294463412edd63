#include "cli/io/io.h"

#include <algorithm>
#include <unistd.h>

#include "cli/analysis/session.h"
#include "cli/console.h"
#include "cli/io/capture_run.h"
#include "cli/io/connection_choice.h"
#include "cli/io/each_table.h"
#include "cli/io/interval_report.h"
#include "cli/io/kind_list.h"
#include "cli/io/kinds_report.h"
#include "cli/io/options.h"
#include "cli/io/range_groups.h"
#include "cli/text_output.h"
#include "dissect/subnet/learning_sink.h"
#include "metrics/measure/commands/command_measure.h"
#include "upper/reader.h"

namespace cli::io {

namespace {

void append_groups(std::string& out, const IoOptions& options, const std::vector<Group>& groups) {
    switch (options.form) {
        case Form::table: return append_table(out, groups);
        case Form::json: return append_json(out, groups);
        case Form::csv: return append_csv(out, groups);
    }
}

void append_list(std::string& out, const KindList& list, const ConnectionFigures& connections, Form form) {
    const std::vector<KindRow> rows = list.rows(connections);
    if (form == Form::csv) {
        list.append_csv_header(out);
        for (const KindRow& row : rows) list.append_csv(out, row);
        return;
    }
    if (rows.empty()) return;
    exporters::Table table = list.table({});
    for (const KindRow& row : rows) table.add(list.cells(row, {}));
    table.flush(out);
}

void append_report(std::string& out, const IoOptions& options, const KindList& list,
                   const ConnectionFigures& connections, const Extent& extent, const analysis::Names& names) {
    if (options.form == Form::json) return append_json(out, connections, extent, names);
    if (options.form == Form::table && !list.is_asked_for()) return append_table(out, connections, names);
    append_list(out, list, connections, options.form);
}

/// What `--columns help` and `--columns names` print.
template <class Row>
std::string column_text(const ColumnSet<Row>& columns, const IoOptions& options) {
    return options.column_help() ? columns.reference() : columns.name_lines();
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    IoOptions options;
    const auto error = parse_options(arguments, options);
    if (const auto status = answered(environment, "io", error, options, help)) return *status;
    if (options.column_help() || options.column_names())
        return print(options.each ? column_text(each_columns(), options) : column_text(kind_columns(), options));

    analysis::Names names(options.names, options.node_names_path);
    if (!names.errors().empty()) {
        print_errors("io", names.errors());
        return exit_failed;
    }
    ConnectionChoice flow;
    if (const std::optional<int> status = flow.find(options)) return *status;
    TextOutput output(STDOUT_FILENO);
    EachTable each(options, names, output);
    RangeGroups ranges(names);
    KindList list(options, names, flow);
    metrics::CommandMeasure::RecordSink sink;
    if (options.each)
        sink = [&](const metrics::CommandConnectionFigures& connection, const metrics::CommandRecord& record) {
            if (flow.has(connection)) each.add(connection, record);
        };
    else if (options.by == GroupBy::lba)
        sink = [&](const metrics::CommandConnectionFigures& connection, const metrics::CommandRecord& record) {
            if (flow.has(connection)) ranges.add(connection, record);
        };
    metrics::CommandMeasure measure(std::move(sink));
    upper::ReaderOptions reading;
    reading.assignments = options.assignments;
    upper::Reader reader(reading, nullptr, &measure);
    dissect::subnet::LearningSink learner(reader);
    names.look_up_in(learner.names());
    CaptureRun capture(options, learner, {.reads_again = options.flow.has_value()});
    IntervalReport intervals(options, names, output, {reader, measure, ranges, list});
    if (options.interval_ns) capture.on_time([&intervals](std::int64_t time_ns) { return intervals.pass(time_ns); });
    if (!capture.run()) return capture.status();
    reader.finish();

    const ConnectionFigures all = measure.figures();
    const ConnectionFigures connections = options.each || options.interval_ns ? all : list.passing(all);
    if (options.each)
        each.finish();
    else if (options.interval_ns)
        intervals.finish();
    else if (options.by == GroupBy::lba)
        append_groups(output.text(), options, ranges.take(connections));
    else if (options.by)
        append_groups(output.text(), options, grouped(connections, *options.by, names));
    else
        append_report(output.text(), options, list, connections, capture.extent(), names);
    output.flush();
    if (output.reader_is_gone()) {
        capture.end_by_broken_pipe();
        return exit_failed;
    }
    if (output.failed()) capture.fail(output.error());
    if (options.each ? each.hides_all() : list.hides_all())
        print_message("rdmascope io: no command matches --filter {}", options.filter);
    const bool has_flow = std::ranges::any_of(all, [&flow](const auto& connection) { return flow.has(connection); });
    if (!all.empty() && !has_flow && !capture.failed())
        print_message("rdmascope io: flow {} has no commands of an upper layer", options.flow.value_or(0));
    if (all.empty() && !capture.failed())
        print_message(
            "rdmascope io: no commands of an upper layer in {} frames; `rdmascope flows` shows what RDMA there is, "
            "--as names a protocol that nothing else shows",
            capture.extent().packets);
    return capture.failed() ? exit_failed : exit_done;
}

std::string help() { return help_text(); }

std::vector<options::CommandOptions> option_lists() { return {{"io", option_table().options()}}; }

}  // namespace cli::io
