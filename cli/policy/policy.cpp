#include "cli/policy/policy.h"

#include <optional>
#include <string_view>

#include "base/text_format.h"
#include "cli/analysis/session.h"
#include "cli/console.h"
#include "cli/policy/check_options.h"
#include "cli/policy/compliance_page.h"
#include "policy/compliance.h"
#include "policy/learn.h"
#include "policy/rules.h"

namespace cli::policy {
namespace {

using ::policy::Compliance;

constexpr std::string_view beginning =
    "Usage: rdmascope policy check --rules FILE [-r] CAPTURE... [OPTION]... [EXPRESSION]\n"
    "       rdmascope policy check --rules FILE -i IFACE [OPTION]... [EXPRESSION]\n"
    "       rdmascope policy check [--rules FILE] --connect [OPTION]...\n"
    "       rdmascope policy learn [-r] CAPTURE... | -i IFACE | --connect [OPTION]... [EXPRESSION]\n\n"
    "check compares the class of each flow with a file of rules, and lists the flows that differ, with the commands\n"
    "that repair them. learn prints a first file of rules from what is seen. EXPRESSION: pcap-filter(7).\n";
constexpr std::string_view end =
    "\nExit status: 0 the traffic keeps to the rules, 1 the work failed, 2 usage, 3 a rule is broken, 4 no flow was\n"
    "seen. Manual: rdmascope-policy(1).\n";

/// The capture to name in commands. Several files are one only for this run.
std::string path_to_read(const CheckOptions& options) {
    return options.read_paths.size() == 1 && options.read_paths.front() != "-" ? options.read_paths.front()
                                                                               : std::string();
}

/// Without value if there are mistakes, which were printed.
std::optional<::policy::Rules> read_rules(const std::string& path) {
    auto rules = ::policy::read_rules(path);
    if (rules) return std::move(rules).value();
    print_errors("policy check", rules.error());
    return {};
}

bool fails(const Compliance& compliance, FailOn fail_on) {
    switch (fail_on) {
        case FailOn::wrong: return compliance.broken_share() >= minor_share;
        case FailOn::minor: return compliance.broken();
        case FailOn::unruled: return compliance.broken() || compliance.unruled != 0;
        case FailOn::never: break;
    }
    return false;
}

int check(const std::vector<std::string>& arguments, const Environment& environment) {
    CheckOptions options;
    auto error = analysis::parse(arguments, check_option_table(), options);
    if (!error && !options.help && !options.version && options.rules_path.empty() && !options.connect)
        error = options::UsageError{"--rules FILE is missing: the rules that traffic must keep to"};
    if (const auto status = answered(environment, "policy", error, options, help)) return *status;
    std::optional<::policy::Rules> rules;
    if (!options.rules_path.empty()) {
        rules = read_rules(options.rules_path);
        if (!rules) return exit_usage;
    }
    options.commands = true;  // a rule may choose flows by their upper layer
    analysis::Session session(options, "policy check");
    if (!session.run()) return session.status();
    if (!rules) {
        if (session.policy_file().empty()) {
            print_message(
                "rdmascope policy check: the daemon has no rules; name some with --rules FILE, or set "
                "policy.file in its configuration");
            return exit_usage;
        }
        rules = read_rules(session.policy_file());
        if (!rules) return exit_failed;
    }
    exporters::Context context{&session.names(), session.crc_verified(), {}};
    const Compliance compliance = ::policy::check(*rules, session.snapshot(), context);
    const int printed = print(options.json ? compliance_json(compliance, context)
                                           : compliance_page(compliance, context, path_to_read(options)));
    if (printed != exit_done) return printed;
    session.report_summary();
    if (session.failed()) return exit_failed;
    if (compliance.saw_nothing()) return exit_nothing;
    return fails(compliance, options.fail_on.value_or(FailOn::minor)) ? exit_found : exit_done;
}

std::string contradiction_of_learn(const CheckOptions& options) {
    if (!options.rules_path.empty()) return "learn makes rules; leave out --rules";
    if (options.json) return "learn prints rules as TOML; leave out --json";
    if (options.fail_on) return "learn judges nothing; leave out --fail-on";
    return {};
}

/// What rules were learnt from, for the first line of their file.
std::string origin_of(const CheckOptions& options) {
    if (!options.read_paths.empty()) {
        std::string names;
        for (const std::string& path : options.read_paths)
            base::append_printable(names, (names.empty() ? "" : ", ") + path.substr(path.rfind('/') + 1));
        return names;
    }
    return options.interfaces.empty() ? "the daemon" : "the traffic of this machine";
}

int learn(const std::vector<std::string>& arguments, const Environment& environment) {
    CheckOptions options;
    auto error = analysis::parse(arguments, check_option_table(), options);
    if (!error && !options.help && !options.version) error = options::usage_error_if(contradiction_of_learn(options));
    if (const auto status = answered(environment, "policy", error, options, help)) return *status;
    options.commands = true;
    analysis::Session session(options, "policy learn");
    if (!session.run()) return session.status();
    exporters::Context context{&session.names(), session.crc_verified(), {}};
    const ::policy::Rules rules = ::policy::learn(session.snapshot(), context);
    if (rules.empty()) {
        session.report_summary();
        return session.failed() ? exit_failed : exit_nothing;
    }
    const int printed = print(::policy::rules_text(rules, origin_of(options)));
    if (printed != exit_done) return printed;
    session.report_summary();
    return session.failed() ? exit_failed : exit_done;
}

int refuse(std::string_view reason) {
    print_message("rdmascope policy: {}; `rdmascope help policy` shows how", reason);
    return exit_usage;
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    if (arguments.empty()) return refuse("what shall it do? check or learn");
    const std::string& part = arguments.front();
    if (part == "--help" || part == "-h" || part == "help") return print(help());
    if (part == "--version") return print(version_text(environment.version));
    const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
    if (part == "check") return check(rest, environment);
    if (part == "learn") return learn(rest, environment);
    return refuse("there is no part '" + part + "', the parts are check and learn");
}

std::string help() { return options::help_page(beginning, check_option_table().options(), end); }

std::vector<options::CommandOptions> option_lists() { return {{"policy", check_option_table().options()}}; }

}  // namespace cli::policy
