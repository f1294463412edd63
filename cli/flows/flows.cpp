#include "cli/flows/flows.h"

#include <unistd.h>

#include "cli/analysis/session.h"
#include "cli/console.h"
#include "cli/flows/options.h"
#include "cli/flows/report.h"
#include "cli/text_output.h"

namespace cli::flows {

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    FlowsOptions options;
    const auto error = parse_options(arguments, options);
    if (const auto status = answered(environment, "flows", error, options, help)) return *status;
    if (options.column_help()) return print(exporters::column_reference());
    if (options.column_names()) return print(exporters::column_names());

    options.commands = shows_commands(options);
    analysis::Session session(options, "flows");
    TextOutput output(STDOUT_FILENO);
    Report report(options, session.names(), output);
    if (options.interval_ns)
        session.by_interval(*options.interval_ns, [&](const analysis::Session::Interval& interval) {
            report.crc_verified(session.crc_verified() && exporters::can_verify(interval.difference.capture));
            return report.interval(interval);
        });
    if (options.by && options.form != Form::csv && !options.connect && !options.recalls())
        session.bytes_over_time(exporters::FlowTimeline::least_length_ns,
                                [&](std::span<const metrics::FlowBytes> flows, std::int64_t start_ns) {
                                    return report.over_time(flows, start_ns);
                                });
    if (!session.run()) return session.status();
    report.crc_verified(session.crc_verified());
    report.finish(session.snapshot(), session.devices());
    if (output.reader_is_gone()) {
        session.end_by_broken_pipe();
        return exit_failed;
    }
    if (output.failed()) session.fail(output.error());
    session.report_summary();
    if (report.hides_all()) print_message("no flow matches --filter {}", options.filter);
    if (report.shows_goodput())
        print_message("goodput: bytes of messages per second, without headers and packets sent again");
    if (report.latencies_are_of_one_operation())
        print_message("p50, p99: latency of the operation that a flow does most, the one that its row names");
    return session.failed() ? exit_failed : exit_done;
}

std::string help() { return help_text(); }

std::vector<options::CommandOptions> option_lists() { return {{"flows", option_table().options()}}; }

}  // namespace cli::flows
