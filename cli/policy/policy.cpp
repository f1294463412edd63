#include "cli/policy/policy.h"

#include <string_view>

#include "base/error.h"
#include "cli/analysis/session.h"
#include "cli/console.h"
#include "cli/policy/check_options.h"
#include "cli/policy/compliance_page.h"
#include "policy/compliance.h"
#include "policy/rules.h"

namespace cli::policy {
namespace {

constexpr std::string_view beginning =
    "Usage: rdmascope policy check --rules FILE [-r] CAPTURE... [OPTION]... [EXPRESSION]\n"
    "       rdmascope policy check --rules FILE -i IFACE [OPTION]... [EXPRESSION]\n"
    "       rdmascope policy check --rules FILE --connect [OPTION]...\n\n"
    "Compares the class of each flow with a file of rules, and lists the flows that differ, with the commands that\n"
    "repair them. EXPRESSION is a pcap-filter(7) expression.\n";
constexpr std::string_view end =
    "\nExit status: 0 the traffic keeps to the rules, 1 the work failed, 2 usage, 3 a rule is broken, 4 no flow was\n"
    "seen. Manual: rdmascope-policy(1).\n";

/// The capture to name in commands. Several files are one only for this run.
std::string path_to_read(const CheckOptions& options) {
    return options.read_paths.size() == 1 && options.read_paths.front() != "-" ? options.read_paths.front()
                                                                               : std::string();
}

int check(const std::vector<std::string>& arguments, const Environment& environment) {
    CheckOptions options;
    auto error = analysis::parse(arguments, check_option_table(), options);
    if (!error && !options.help && !options.version && options.rules_path.empty())
        error = options::UsageError{"--rules FILE is missing: the rules that traffic must keep to"};
    if (const auto status = answered(environment, "policy", error, options, help)) return *status;
    const auto rules = ::policy::read_rules(options.rules_path);
    if (!rules) {
        print_message_line(base::text_of(rules.error()));
        return exit_usage;
    }
    options.commands = true;  // a rule may choose flows by their upper layer
    analysis::Session session(options, "policy check");
    if (!session.run()) return session.status();
    exporters::Context context{&session.names(), session.crc_verified(), {}};
    const ::policy::Compliance compliance = ::policy::check(*rules, session.snapshot(), context);
    const int printed = print(options.json ? compliance_json(compliance, context)
                                           : compliance_page(compliance, context, path_to_read(options)));
    if (printed != exit_done) return printed;
    session.report_summary();
    if (session.failed()) return exit_failed;
    if (session.snapshot().flows.empty()) return exit_nothing;
    return compliance.broken() ? exit_found : exit_done;
}

int refuse(std::string_view reason) {
    print_message("rdmascope policy: {}; `rdmascope help policy` shows how", reason);
    return exit_usage;
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    if (arguments.empty()) return refuse("what shall it do? check");
    const std::string& part = arguments.front();
    if (part == "--help" || part == "-h" || part == "help") return print(help());
    if (part == "--version") return print(version_text(environment.version));
    if (part != "check") return refuse("there is no part '" + part + "', the part is check");
    return check({arguments.begin() + 1, arguments.end()}, environment);
}

std::string help() { return options::help_page(beginning, check_option_table().options(), end); }

std::vector<options::CommandOptions> option_lists() { return {{"policy", check_option_table().options()}}; }

}  // namespace cli::policy
