#include "cli/fleet/fleet.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <span>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/analysis/session.h"
#include "cli/console.h"
#include "cli/fleet/fleet_pages.h"
#include "cli/fleet/options.h"
#include "fleet/questions/having_filter.h"
#include "fleet/questions/io_question.h"
#include "fleet/questions/path_question.h"
#include "fleet/schema/sql.h"

namespace cli::fleet {
namespace {

namespace questions = ::fleet::questions;
namespace schema = ::fleet::schema;

constexpr std::string_view beginning =
    "Usage: rdmascope fleet schema [--cluster NAME] [--replicated] [--ttl DAYS] [--server VERSION] [--grants]\n"
    "       rdmascope fleet top|flows|hosts|io|paths|pairs|why --url URL [--from TIME] [--to TIME] [OPTION]...\n\n"
    "Questions about all hosts whose daemons send rows to ClickHouse (clickhouse.url of rdmascope.toml(5)).\n"
    "  schema  print the statements that make the tables\n"
    "  top     the hosts, or pairs of hosts, with the most traffic\n"
    "  flows   flows with all their figures, each as the daemon of one host saw it\n"
    "  hosts   the hosts that have a daemon, and how the daemons are\n"
    "  io      commands of upper layers: how many, how long, where their time went\n"
    "  paths   which entropies carry what between two hosts, and which path loses\n"
    "  pairs   both ends of each flow side by side: what was sent, what arrived\n"
    "  why     what flows with a trouble share, and others do not\n";
constexpr std::string_view end = "\nManual: rdmascope-fleet(1).\n";

/// The result of a part of the command, or why the part failed.
using Text = base::Result<std::string>;

Text schema_text(const FleetOptions& options) {
    schema::SchemaOptions how;
    if (!options.server.empty()) {
        const auto dialect = schema::Dialect::of(options.server);
        if (!dialect) return base::failure("--server: " + dialect.error().message);
        how.dialect = *dialect;
    }
    how.database = options.database;
    how.cluster = options.cluster;
    how.replicated = options.replicated;
    how.ttl_days = options.ttl_days;
    if (options.migrate_from) return schema::migration_text(how, *options.migrate_from);
    return options.grants ? how.dialect.grants(how.database) : schema::schema_text(how);
}

base::Result<::fleet::client::Access> access_of(const FleetOptions& options) {
    ::fleet::client::Access access;
    access.url = options.url;
    access.database = options.database;
    access.user = options.user;
    access.ca_file = options.ca_path;
    access.verify_tls = options.verify_tls;
    access.timeout_ms = 300'000;
    if (options.password_path.empty()) return access;
    constexpr std::size_t most = 4096;
    const auto text = base::read_file(options.password_path, most);
    if (!text) return base::failure("--password-file: it cannot be read", options.password_path);
    access.password = base::trimmed(std::string_view(*text).substr(0, text->find('\n')));
    return access;
}

/// A line `ADDRESS RACK` each; empty lines and those that begin with # are left out.
base::Result<questions::Racks> read_racks(const std::string& path) {
    questions::Racks racks;
    if (path.empty()) return racks;
    const auto text = base::read_file(path);
    if (!text) return base::failure("--racks: it cannot be read", path);
    std::string_view rest = *text;
    for (std::uint64_t number = 1; !rest.empty(); ++number) {
        const std::size_t at = std::min(rest.find('\n'), rest.size());
        const std::string_view line = base::trimmed(rest.substr(0, at));
        rest.remove_prefix(std::min(at + 1, rest.size()));
        if (line.empty() || line.front() == '#') continue;
        const std::size_t blank = line.find_first_of(" \t");
        if (blank == std::string_view::npos)
            return base::failure(fmt::format("--racks: line {}: an address and a rack are expected", number), path);
        const std::string address(line.substr(0, blank));
        if (!questions::add_rack(racks, address, base::trimmed(line.substr(blank))))
            return base::failure(fmt::format("--racks: line {}: '{}' is not an IP address", number, address), path);
    }
    return racks;
}

/// What every question needs.
struct Asked {
    const FleetOptions& options;
    questions::Engine& engine;
    questions::Scope scope;
    const analysis::Names& names;
};

/// The order that --sort asks for, of one of these figures.
struct Order {
    const questions::Figure* figure = nullptr;
    bool descending = true;
};
base::Result<Order> order_of(const FleetOptions& options, std::span<const questions::Figure> figures) {
    Order order;
    if (options.sort.empty()) return order;
    const bool reversed = options.sort.starts_with('-');
    const std::string name = options.sort.substr(reversed ? 1 : 0);
    order.figure = questions::find_figure(figures, name);
    if (order.figure == nullptr) {
        std::string known;
        for (const questions::Figure& figure : figures)
            known += fmt::format("{}{}", known.empty() ? "" : ", ", figure.path);
        return base::failure(fmt::format("--sort {}: the engine cannot sort by it; it has: {}", name, known));
    }
    order.descending = order.figure->is_text == reversed;
    return order;
}

base::Result<questions::FlowChoice> flow_choice_of(const FleetOptions& options) {
    auto having = questions::having_of(options.filter);
    if (!having) return base::Failure{having.error()};
    const auto order = order_of(options, questions::flow_figures());
    if (!order) return base::Failure{order.error()};
    return questions::FlowChoice{*std::move(having), order->figure, order->descending, options.top};
}

constexpr std::array io_groups{
    std::pair<std::string_view, questions::IoGroupBy>{"", questions::IoGroupBy::connection},
    std::pair<std::string_view, questions::IoGroupBy>{"pair", questions::IoGroupBy::pair},
    std::pair<std::string_view, questions::IoGroupBy>{"initiator", questions::IoGroupBy::initiator},
    std::pair<std::string_view, questions::IoGroupBy>{"target", questions::IoGroupBy::target},
    std::pair<std::string_view, questions::IoGroupBy>{"protocol", questions::IoGroupBy::protocol},
    std::pair<std::string_view, questions::IoGroupBy>{"all", questions::IoGroupBy::all},
};
constexpr std::array traffic_groups{
    std::pair<std::string_view, exporters::GroupBy>{"", exporters::GroupBy::host},
    std::pair<std::string_view, exporters::GroupBy>{"host", exporters::GroupBy::host},
    std::pair<std::string_view, exporters::GroupBy>{"pair", exporters::GroupBy::pair},
};
template <class Choices>
bool has_choice(const Choices& choices, std::string_view name) {
    return std::ranges::any_of(choices, [name](const auto& one) { return one.first == name; });
}
/// The choice of this name. contradiction_of() has refused others.
template <class Choices>
auto chosen(const Choices& choices, std::string_view name) {
    return std::ranges::find_if(choices, [name](const auto& one) { return one.first == name; })->second;
}

Text ask_flows(const Asked& asked) {
    std::string error;
    const exporters::FlowColumns columns = flow_columns_of(asked.options.columns, error);
    if (!error.empty()) return base::failure(error);
    const auto choice = flow_choice_of(asked.options);
    if (!choice) return base::Failure{choice.error()};
    const auto flows = questions::ask_flows(asked.engine, asked.scope, *choice);
    if (!flows) return base::Failure{flows.error()};
    if (asked.options.json) return flows_json(*flows, columns, asked.names, asked.scope);
    return flows_table(*flows, columns, asked.names);
}

Text ask_top(const Asked& asked) {
    const exporters::GroupBy by = chosen(traffic_groups, asked.options.by);
    const auto traffic = questions::ask_traffic(asked.engine, asked.scope, by, asked.options.top);
    if (!traffic) return base::Failure{traffic.error()};
    if (asked.options.json) return traffic_json(*traffic, by, asked.scope);
    return traffic_table(*traffic, by);
}

Text ask_hosts(const Asked& asked) {
    const auto hosts = questions::ask_hosts(asked.engine, asked.scope, asked.options.top);
    if (!hosts) return base::Failure{hosts.error()};
    return asked.options.json ? hosts_json(*hosts, asked.scope) : hosts_table(*hosts);
}

Text ask_io(const Asked& asked) {
    questions::IoChoice choice;
    choice.by = chosen(io_groups, asked.options.by);
    choice.top = asked.options.top;
    auto having = questions::having_of(asked.options.filter, questions::io_figures());
    if (!having) return base::Failure{having.error()};
    choice.having = *std::move(having);
    const auto order = order_of(asked.options, questions::io_figures());
    if (!order) return base::Failure{order.error()};
    choice.order = order->figure;
    choice.descending = order->descending;
    const auto groups = questions::ask_io(asked.engine, asked.scope, choice);
    if (!groups) return base::Failure{groups.error()};
    const bool is_grouped = choice.by != questions::IoGroupBy::connection;
    return asked.options.json ? io_json(*groups, is_grouped, asked.names, asked.scope)
                              : io_table(*groups, is_grouped, asked.names);
}

Text ask_paths(const Asked& asked) {
    const auto paths = questions::ask_paths(asked.engine, asked.scope, asked.options.top);
    if (!paths) return base::Failure{paths.error()};
    std::vector<std::uint64_t> counts{2, 4, 8, 16, 32};
    if (asked.options.path_count) counts = {*asked.options.path_count};
    return asked.options.json ? paths_json(*paths, counts, asked.names, asked.scope)
                              : paths_table(*paths, counts, asked.names);
}

Text ask_pairs(const Asked& asked) {
    const auto pairs = questions::ask_pairs(asked.engine, asked.scope, asked.options.top);
    if (!pairs) return base::Failure{pairs.error()};
    return asked.options.json ? pairs_json(*pairs, asked.scope) : pairs_table(*pairs);
}

Text ask_why(const Asked& asked) {
    const auto racks = read_racks(asked.options.racks_path);
    if (!racks) return base::Failure{racks.error()};
    const auto findings = questions::ask_why(asked.engine, asked.scope, *racks);
    if (!findings) return base::Failure{findings.error()};
    return asked.options.json ? why_json(*findings, asked.scope) : why_page(*findings, asked.scope);
}

struct Question {
    std::string_view name;
    Text (*ask)(const Asked& asked);
};
constexpr std::array all_questions{Question{"top", ask_top}, Question{"flows", ask_flows}, Question{"hosts", ask_hosts},
                                   Question{"io", ask_io},   Question{"paths", ask_paths}, Question{"pairs", ask_pairs},
                                   Question{"why", ask_why}};

Text ask(const Question& question, const FleetOptions& options) {
    auto access = access_of(options);
    if (!access) return base::Failure{access.error()};
    questions::Engine engine(*std::move(access));
    const std::int64_t now_ns = base::wall_ns();
    constexpr std::int64_t usual_length_ns = 3'600 * base::ns_per_sec;
    const std::int64_t to_ns = options.to_ns.value_or(now_ns);
    const analysis::Names names(options.names);
    return question.ask(
        {options, engine,
         questions::scope_of(options.from_ns.value_or(to_ns - usual_length_ns), to_ns, now_ns, options.resolution),
         names});
}

/// An option that one or two of the questions have.
struct OptionOfParts {
    std::string_view option;
    bool (*is_given)(const FleetOptions& options);
    std::string_view part;
    std::string_view other_part = {};
};
constexpr std::array options_of_parts{
    OptionOfParts{"--filter", [](const FleetOptions& given) { return !given.filter.empty(); }, "flows", "io"},
    OptionOfParts{"--sort", [](const FleetOptions& given) { return !given.sort.empty(); }, "flows", "io"},
    OptionOfParts{"--columns", [](const FleetOptions& given) { return !given.columns.empty(); }, "flows"},
    OptionOfParts{"--by", [](const FleetOptions& given) { return !given.by.empty(); }, "top", "io"},
    OptionOfParts{"--paths", [](const FleetOptions& given) { return given.path_count.has_value(); }, "paths"},
    OptionOfParts{"--racks", [](const FleetOptions& given) { return !given.racks_path.empty(); }, "why"},
};

std::string misplaced_option_of(std::string_view part, const FleetOptions& options) {
    for (const OptionOfParts& one : options_of_parts) {
        if (!one.is_given(options) || part == one.part || part == one.other_part) continue;
        const std::string other = one.other_part.empty() ? "" : fmt::format(" and {}", one.other_part);
        return fmt::format("{} is an option of {}{}, not of {}", one.option, one.part, other, part);
    }
    return {};
}

std::string contradiction_of(std::string_view part, const FleetOptions& options, bool is_question) {
    if (!schema::is_name(options.database)) return "--database: a name of letters, digits and _ is expected";
    if (!options.cluster.empty() && !schema::is_name(options.cluster))
        return "--cluster: a name of letters, digits and _ is expected";
    if (!is_question) return {};
    if (std::string misplaced = misplaced_option_of(part, options); !misplaced.empty()) return misplaced;
    if (part == "io" && !has_choice(io_groups, options.by))
        return "--by: pair, initiator, target, protocol or all is expected";
    if (part == "top" && !has_choice(traffic_groups, options.by)) return "--by: host or pair is expected";
    if (options.url.empty()) return "--url URL is missing: the HTTP interface of a ClickHouse server";
    if (!::fleet::client::is_url(options.url)) return "--url: a URL such as https://clickhouse-1:8443 is expected";
    if (!options.from_ns || *options.from_ns < options.to_ns.value_or(base::wall_ns())) return {};
    return options.to_ns ? "--from is not before --to" : "--from is in the future";
}

int refuse(std::string_view reason) {
    print_message("rdmascope fleet: {}; `rdmascope help fleet` shows how", reason);
    return exit_usage;
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    constexpr std::string_view parts = "schema, top, flows, hosts, io, paths, pairs and why";
    if (arguments.empty()) return refuse(fmt::format("a part is missing; the parts are {}", parts));
    const std::string& part = arguments.front();
    if (part == "--help" || part == "-h" || part == "help") return print(help());
    if (part == "--version") return print(version_text(environment.version));
    const auto* const question = std::ranges::find(all_questions, part, &Question::name);
    const bool is_question = question != all_questions.end();
    if (!is_question && part != "schema")
        return refuse(fmt::format("there is no part '{}', the parts are {}", part, parts));
    FleetOptions options;
    std::vector<std::string> operands;
    auto error = option_table().parse({arguments.begin() + 1, arguments.end()}, options, operands);
    if (!error && !operands.empty())
        error = options::UsageError{fmt::format("'{}' is not an option", operands.front())};
    if (!error && !options.help && !options.version)
        error = options::usage_error_if(contradiction_of(part, options, is_question));
    if (const auto status = answered(environment, "fleet", error, options, help)) return *status;
    const Text text = is_question ? ask(*question, options) : schema_text(options);
    if (text) return print(*text);
    print_errors("fleet " + part, {text.error()});
    return exit_failed;
}

std::string help() { return options::help_page(beginning, option_table().options(), end); }

std::vector<options::CommandOptions> option_lists() { return {{"fleet", option_table().options()}}; }

}  // namespace cli::fleet
