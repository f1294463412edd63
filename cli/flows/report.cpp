#include "cli/flows/report.h"

#include <algorithm>
#include <unistd.h>

#include "cli/console.h"

namespace cli::flows {

namespace {

/// The columns of the terminal; enough for every table if the output is not a terminal.
std::size_t width_of_table() {
    constexpr std::size_t unlimited = 1000;
    return is_terminal(STDOUT_FILENO) ? terminal_columns(STDOUT_FILENO) : unlimited;
}

exporters::FlowColumns chosen_columns(const FlowsOptions& options) {
    const bool by_interval = options.interval_ns.has_value();
    if (options.every_column()) return exporters::all_columns(by_interval);
    std::string error;
    exporters::FlowColumns columns = columns_of(options.columns, error);
    if (columns.empty() && options.form == Form::json) return exporters::all_columns(by_interval);
    if (columns.empty() && options.form == Form::csv) return exporters::csv_columns(by_interval);
    if (columns.empty() || !options.interval_ns) return columns;
    // A time series without its times would be none.
    const exporters::FlowField* start = exporters::find_fields("interval.start_ns").front();
    if (std::find(columns.begin(), columns.end(), start) == columns.end()) columns.insert(columns.begin(), start);
    return columns;
}

exporters::FlowOrder chosen_order(const FlowsOptions& options) {
    std::string error;
    return order_of(options, error);
}

exporters::filter::FlowFilter chosen_filter(const FlowsOptions& options) {
    std::string error;
    return filter_of(options, error);
}

}  // namespace

Report::Report(const FlowsOptions& options, const analysis::Names& names, TextOutput& output)
    : options_(options),
      output_(output),
      context_{&names, options.verify_crc, {}},
      order_(chosen_order(options)),
      filter_(chosen_filter(options)),
      columns_(chosen_columns(options)),
      document_(columns_) {}

bool Report::interval(const analysis::Session::Interval& interval) {
    if (!context_.capture_start_ns) context_.capture_start_ns = exporters::start_of(interval.difference.capture);
    exporters::Context context = context_;
    context.interval = exporters::Interval{interval.start_ns, interval.length_ns};
    // What is live is looked at while it happens.
    return print(interval.difference, context) &&
           ((options_.interfaces.empty() && !options_.connect) || output_.flush());
}

std::uint64_t Report::over_time(const analysis::Session::Interval& interval) {
    return timeline_.add(interval.difference, interval.start_ns);
}

bool Report::finish(const metrics::Snapshot& snapshot, const metrics::DeviceFigures& devices) {
    if (!context_.capture_start_ns) context_.capture_start_ns = exporters::start_of(snapshot.capture);
    if (options_.by) return print_groups(snapshot);
    if (!options_.interval_ns) {
        if (options_.form == Form::json) document_.begin(output_.text(), snapshot.capture, context_);
        begun_ = true;
        if (!print(snapshot, context_)) return false;
    } else if (!begun_) {
        print({}, context_);
    }
    if (options_.form == Form::json) document_.end(output_.text(), snapshot, context_, &devices);
    return output_.flush();
}

bool Report::print(const metrics::Snapshot& snapshot, exporters::Context context) {
    metrics::FlowProblems problems;
    if (asks_for_problems()) {
        problems = metrics::flow_problems(snapshot);
        context.problems = &problems;
    }
    std::string& out = output_.text();
    if (!begun_ && options_.form == Form::json) document_.begin(out);
    if ((!begun_ || !options_.interval_ns) && options_.form == Form::csv) exporters::append_csv_header(out, columns_);
    begun_ = true;
    exporters::FlowChooser chooses;
    if (!filter_.everything()) chooses = [this](const exporters::FlowRow& row) { return filter_.matches(row); };
    const auto flows = exporters::ordered_flows(snapshot, context, order_, options_.top, chooses);
    hidden_ = snapshot.flows.size() > 0 && flows.empty() && chooses != nullptr;
    if (options_.form == Form::table) return print_table(flows, context);
    for (const metrics::FlowSnapshot* flow : flows) {
        const exporters::FlowRow row{*flow, context};
        if (options_.form == Form::json)
            document_.flow(out, row);
        else
            exporters::append_csv_row(out, columns_, row);
        if (!output_.settle()) return false;
    }
    return true;
}

/// Computing the answers for a million flows takes long: only if the output shows them.
bool Report::asks_for_problems() const {
    const auto is_of_problem = [](const exporters::FlowField* field) {
        return field->rank || field->path.starts_with("problem.");
    };
    return columns_.empty() || order_.field->rank || !filter_.everything() ||
           std::any_of(columns_.begin(), columns_.end(), is_of_problem);
}

bool Report::print_groups(const metrics::Snapshot& snapshot) {
    const metrics::FlowProblems problems = metrics::flow_problems(snapshot);
    exporters::Context context = context_;
    context.problems = &problems;
    std::vector<exporters::FlowRow> rows;
    for (const metrics::FlowSnapshot& flow : snapshot.flows) {
        const exporters::FlowRow row{flow, context};
        if (filter_.everything() || filter_.matches(row)) rows.push_back(row);
    }
    hidden_ = !snapshot.flows.empty() && rows.empty();
    std::vector<exporters::TrafficGroup> groups = exporters::traffic_groups(rows, *options_.by, timeline_);
    if (options_.reverse) std::reverse(groups.begin(), groups.end());
    if (options_.top && groups.size() > *options_.top) groups.resize(static_cast<std::size_t>(*options_.top));
    std::string& out = output_.text();
    switch (options_.form) {
        case Form::json: {
            const std::uint64_t cell_ns = timeline_.empty() ? 0 : timeline_.length_ns();
            exporters::append_group_json(out, groups, *options_.by, cell_ns, snapshot.capture, context);
            break;
        }
        case Form::csv: exporters::append_group_csv(out, groups, *options_.by); break;
        case Form::table:
            if (!groups.empty()) exporters::append_group_table(out, groups, *options_.by, width_of_table());
            break;
    }
    return output_.flush();
}

bool Report::print_table(const std::vector<const metrics::FlowSnapshot*>& flows, const exporters::Context& context) {
    if (flows.empty()) return true;
    if (!table_) {
        if (columns_.empty()) {
            std::vector<exporters::FlowRow> rows;
            rows.reserve(flows.size());
            for (const metrics::FlowSnapshot* flow : flows) rows.push_back({*flow, context});
            std::optional<std::size_t> width;
            if (is_terminal(STDOUT_FILENO)) width = terminal_columns(STDOUT_FILENO);
            columns_ = exporters::default_columns(rows, options_.interval_ns.has_value(), width);
        }
        table_ = exporters::flow_table(columns_, options_.interval_ns.has_value());
    }
    const bool shows_latency = std::any_of(columns_.begin(), columns_.end(), [](const exporters::FlowField* field) {
        return field->path == "latency_p50" || field->path == "latency_p99";
    });
    for (const metrics::FlowSnapshot* flow : flows) {
        const auto measured = std::count_if(flow->operations.begin(), flow->operations.end(),
                                            [](const auto& figures) { return !figures.latency_ns.empty(); });
        latencies_of_one_ = latencies_of_one_ || (shows_latency && measured > 1);
        table_->widen(cells_of(*flow, context));
    }
    // Cells are made twice, so that the text of a million rows is never held at once.
    for (const metrics::FlowSnapshot* flow : flows) {
        table_->add(cells_of(*flow, context));
        table_->flush(output_.text());
        if (!output_.settle()) return false;
    }
    return true;
}

std::vector<std::string> Report::cells_of(const metrics::FlowSnapshot& flow, const exporters::Context& context) const {
    std::vector<std::string> cells;
    cells.reserve(columns_.size());
    for (const exporters::FlowField* field : columns_) cells.push_back(exporters::cell(*field, {flow, context}));
    return cells;
}

}  // namespace cli::flows
