#include "cli/why/why.h"

#include <optional>
#include <unistd.h>
#include <utility>

#include "base/quantities.h"
#include "cli/analysis/session.h"
#include "cli/console.h"
#include "cli/fabric/subnet_reader.h"
#include "cli/why/diff.h"
#include "cli/why/options.h"
#include "cli/why/page.h"
#include "cli/why/subnet_evidence.h"
#include "metrics/answers/counters.h"
#include "policy/policy_answers.h"

namespace cli::why {

PageStyle style_for(const WhyOptions& options) {
    PageStyle style = style_for_terminal(STDOUT_FILENO);
    if (options.color != options::Color::automatic) style.color = options.color == options::Color::always;
    style.verbose = options.verbose;
    style.read_paths = options.read_paths;
    return style;
}

namespace {

constexpr std::string_view usage =
    "Usage: rdmascope why [-r] FILE... [OPTION]... [EXPRESSION]\n"
    "       rdmascope why -i IFACE [OPTION]... [EXPRESSION]\n"
    "       rdmascope why --connect [OPTION]...\n"
    "       rdmascope why [--history DIR] [--from TIME] [--to TIME] [OPTION]...\n"
    "       rdmascope why --diff BEFORE AFTER [OPTION]... [EXPRESSION]\n\n"
    "Answers the five questions about RDMA traffic: why not more bandwidth, why such latency, is the QP cache\n"
    "thrashed, is there congestion, how full are the queues; a sixth about commands (NVMe, NFS, SCSI, SMB), if there\n"
    "are any; a seventh about the classes that rules expect (--policy). What is wrong comes first, with what to do.\n"
    "EXPRESSION is a pcap-filter(7) expression.\n";
constexpr std::string_view ending = "\nManual: rdmascope-why(1), which lists all verdicts.\n";

/// No rules if there is no file.
base::Result<::policy::Rules, base::Errors> read_policy(const std::string& path) {
    if (path.empty()) return ::policy::Rules();
    return ::policy::read_rules(path);
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    WhyOptions options;
    auto error = analysis::parse(arguments, option_table(), options);
    if (!error && !options.help && !options.version) error = options::usage_error_if(diff_contradiction(options));
    if (const auto status = answered(environment, "why", error, options, help)) return *status;

    options.commands = true;
    // The sentences of JSON are the same on a terminal and in a pipe.
    if (options.json) base::set_charset(base::Charset::ascii);
    if (options.diff) return compare(options);
    auto rules = read_policy(options.policy_path);
    if (!rules) {
        print_errors("why", rules.error());
        return exit_usage;
    }
    std::optional<::fabric::Subnet> subnet;
    if (!options.fabric_path.empty()) {
        auto read = cli::fabric::read_file(options.fabric_path);
        if (!read) {
            print_message("rdmascope why: {}", read.error().text());
            return exit_failed;
        }
        subnet = std::move(read).value();
    }
    analysis::Session session(options, "why");
    if (!session.run()) return session.status();
    const metrics::Snapshot& snapshot = session.snapshot();
    if (options.flow && snapshot.flow(*options.flow) == nullptr) {
        print_message("rdmascope why: there is no flow {}; `rdmascope flows` lists all flows", *options.flow);
        return exit_failed;
    }
    std::vector<metrics::Answer> answers =
        metrics::answer(snapshot, session.names(), session.devices(), options.flow ? &*options.flow : nullptr);
    if (options.policy_path.empty()) {
        // The daemon's file may be for its own user alone.
        if (auto of_daemon = read_policy(session.policy_file())) rules = std::move(of_daemon);
    }
    if (!rules->empty())
        ::policy::add_answers(*rules, snapshot, session.names(), options.flow ? &*options.flow : nullptr, answers);
    if (subnet && add_subnet_evidence(*subnet, snapshot, answers) == 0 && !snapshot.flows.empty())
        print_message("rdmascope why: {} says nothing about these flows: it has none of their LIDs",
                      options.fabric_path);
    const int printed = print(options.json ? json(snapshot, answers, session.crc_verified())
                                           : exporters::why_page(snapshot, answers, style_for(options)));
    if (printed != exit_done) return printed;
    if (!options.json || snapshot.flows.empty()) session.report_summary();
    if (session.failed()) return exit_failed;
    if (!options.fail_on) return exit_done;
    const metrics::Grade grade = metrics::grade_of(snapshot, answers);
    if (grade == metrics::Grade::nothing) return exit_nothing;
    return grade >= *options.fail_on ? exit_found : exit_done;
}

std::string help() { return options::help_page(usage, option_table().options(), ending); }

std::vector<options::CommandOptions> option_lists() { return {{"why", option_table().options()}}; }

}  // namespace cli::why
