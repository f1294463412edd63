#include "cli/paths/paths.h"

#include <fmt/core.h>
#include <unistd.h>

#include "cli/analysis/session.h"
#include "cli/console.h"
#include "cli/paths/options.h"
#include "cli/paths/pairs_report.h"
#include "cli/text_output.h"
#include "exporters/path_json.h"
#include "exporters/value.h"

namespace cli::paths {

namespace {

std::vector<metrics::PathPair> chosen_pairs(const metrics::Snapshot& snapshot, const PathsOptions& options) {
    std::vector<metrics::PathPair> pairs = metrics::path_pairs(snapshot);
    if (options.top && pairs.size() > *options.top) pairs.resize(static_cast<std::size_t>(*options.top));
    return pairs;
}

/// A row of CSV begins with the time at which its interval begins (UTC, ISO 8601).
void append_interval(std::string& out, const PathsOptions& options, const analysis::Session::Interval& interval,
                     const analysis::Session& session) {
    const std::vector<metrics::PathPair> pairs = chosen_pairs(interval.difference, options);
    if (pairs.empty()) return;
    const std::string time = exporters::iso_time(interval.start_ns);
    switch (options.form) {
        case Form::table:
            out += fmt::format("{}\n", time);
            append_table(out, pairs, options.path_counts(), session.names());
            out += '\n';
            break;
        case Form::csv: append_csv(out, pairs, session.names(), time + ","); break;
        case Form::json:
            out += exporters::path_interval_json(interval.start_ns, interval.length_ns, pairs, options.path_counts(),
                                                 &session.names());
            break;
    }
}

void append_report(std::string& out, const PathsOptions& options, const analysis::Session& session) {
    const std::vector<metrics::PathPair> pairs = chosen_pairs(session.snapshot(), options);
    switch (options.form) {
        case Form::table: return append_table(out, pairs, options.path_counts(), session.names());
        case Form::csv: out += csv_header(); return append_csv(out, pairs, session.names(), {});
        case Form::json:
            out += exporters::path_pairs_json(session.snapshot(), pairs, options.path_counts(), &session.names(),
                                              session.crc_verified());
    }
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    PathsOptions options;
    const auto error = parse_options(arguments, options);
    if (const auto status = answered(environment, "paths", error, options, help)) return *status;
    analysis::Session session(options, "paths");
    TextOutput output(STDOUT_FILENO);
    if (options.interval_ns) {
        if (options.form == Form::csv) output.text() += "interval," + csv_header();
        session.by_interval(*options.interval_ns, [&](const analysis::Session::Interval& interval) {
            append_interval(output.text(), options, interval, session);
            return output.flush();
        });
    }
    if (!session.run()) return session.status();
    if (!options.interval_ns) append_report(output.text(), options, session);
    output.flush();
    if (output.reader_is_gone()) {
        session.end_by_broken_pipe();
        return exit_failed;
    }
    if (output.failed()) session.fail(output.error());
    session.report_summary();
    return session.failed() ? exit_failed : exit_done;
}

std::string help() { return help_text(); }

std::vector<options::CommandOptions> option_lists() { return {{"paths", option_table().options()}}; }

}  // namespace cli::paths
