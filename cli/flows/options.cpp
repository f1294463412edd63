#include "cli/flows/options.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "base/similar.h"

namespace cli::flows {

namespace {

using options::Section;
using Row = options::Option<FlowsOptions>;

template <Form form>
std::string choose(FlowsOptions& options, const std::string& /*value*/) {
    options.two_forms = options.two_forms || (options.form != Form::table && options.form != form);
    options.form = form;
    return {};
}

std::string take_columns(FlowsOptions& options, const std::string& value) {
    options::append_words(options.columns, value);
    return options.columns.empty() ? "a list such as flow,packets,latency_ns.write" : "";
}

std::string take_by(FlowsOptions& options, const std::string& value) {
    for (const auto by : {exporters::GroupBy::host, exporters::GroupBy::pair, exporters::GroupBy::process}) {
        if (value != name_of(by)) continue;
        options.by = by;
        return {};
    }
    return "host, pair or process";
}

/// Options that contradict --by.
std::string contradiction_of_groups(const FlowsOptions& options) {
    if (!options.by) return {};
    std::string_view given;
    if (!options.columns.empty()) given = "--columns";
    if (!options.sort.empty()) given = "--sort";
    if (options.interval_ns) given = "--interval";
    if (given.empty()) return {};
    return fmt::format("--by and {} are given: a table of groups has its own columns and order", given);
}

constexpr std::array own{
    Row{{0, "json", {}, "one JSON object with all there is to know"}, Section::printing, choose<Form::json>},
    Row{{0, "csv", {}, "comma-separated values of the table's columns, a header first"},
        Section::printing,
        choose<Form::csv>},
    Row{{0, "columns", "LIST",
         "these columns, or groups of columns, with commas between; `all`; `help` and `names` list them"},
        Section::printing,
        take_columns},
    Row{{0, "filter", "TEXT", "only these flows: `cause` (a problem), a word, or 'goodput > 1Gbit && resent > 0'"},
        Section::printing,
        options::store<&FlowsOptions::filter>},
    Row{{0, "by", "WHAT", "a row for each host, pair (of hosts) or process, with bytes and share, instead of flows"},
        Section::printing,
        take_by},
    options::sort<FlowsOptions>,
    Row{{0, "reverse", {}, "the other way round"}, Section::printing, options::turn_on<&FlowsOptions::reverse>},
    Row{{0, "top", "N", "the first N flows alone; without --sort those with the most bytes on the wire"},
        Section::printing,
        options::number<1, 1'000'000'000, &FlowsOptions::top>},
    Row{{0, "interval", "TIME", "a row for every TIME (100ms, 1s) in which the flow had traffic"},
        Section::printing,
        options::duration<&FlowsOptions::interval_ns>},
};

std::string unknown(std::string_view option, std::string_view name) {
    std::vector<std::string_view> known = exporters::field_names();
    // Several columns may have one heading; such a heading chooses none of them.
    for (const auto* table : {&exporters::brief_fields(), &exporters::flow_fields()})
        for (const exporters::FlowField& field : *table)
            if (exporters::chosen_columns(std::span(&field.title, 1))) known.push_back(field.title);
    return fmt::format("{} {}: there is no such column{}; `rdmascope flows --columns help` lists them", option, name,
                       base::did_you_mean(name, known));
}

}  // namespace

std::optional<options::UsageError> parse_options(const std::vector<std::string>& arguments, FlowsOptions& out) {
    auto error = analysis::parse(arguments, option_table(), out);
    if (out.column_help() || out.column_names()) return {};
    if (error || out.help || out.version) return error;
    if (out.two_forms) return options::UsageError{"--json and --csv are given: one or the other"};
    std::string reason;
    if (!out.every_column()) columns_of(out.columns, reason);
    if (reason.empty()) order_of(out, reason);
    if (reason.empty()) filter_of(out, reason);
    if (reason.empty()) reason = contradiction_of_groups(out);
    return options::usage_error_if(std::move(reason));
}

options::OptionTable<FlowsOptions> option_table() {
    return options::OptionTable<FlowsOptions>().add(analysis::shared_options()).add(own);
}

std::string help_text() {
    return options::help_page(
        "Usage: rdmascope flows [-r] FILE... [OPTION]... [EXPRESSION]\n"
        "       rdmascope flows -i IFACE [OPTION]... [EXPRESSION]\n"
        "       rdmascope flows --connect [OPTION]...\n"
        "       rdmascope flows [--history DIR] [--from TIME] [--to TIME] [OPTION]...\n\n"
        "One row for every direction of every queue pair's conversation, with what was sent, how long it took, what\n"
        "was waiting, what went wrong, and where the time went. EXPRESSION is a pcap-filter(7) expression.\n",
        option_table().options(),
        "\nExamples:\n"
        "  rdmascope flows -r rdma.pcapng --sort latency_p99 --top 10\n"
        "      the ten flows with the longest tails\n"
        "  rdmascope flows -r rdma.pcapng --filter cause\n"
        "      those with a problem, the worst first\n"
        "  rdmascope flows -r rdma.pcapng --by host\n"
        "      which host sends most\n"
        "  rdmascope flows -r rdma.pcapng --json | jq '.flows[] | select(.retransmitted_packets > 0)'\n"
        "      those that had to repeat something\n"
        "  rdmascope flows -r rdma.pcapng --interval 100ms --csv --columns interval,id,goodput_bytes_per_sec\n"
        "      a time series for a plot\n"
        "  rdmascope flows -i eth0 --seconds 10 udp port 4791\n"
        "      look at live traffic for ten seconds\n"
        "  rdmascope flows --connect --interval 1s --seconds 10\n"
        "      what a running daemon sees, second by second\n"
        "  rdmascope flows --from 10:00 --to 10:05 --interval 1m\n"
        "      what the daemon recorded then, minute by minute\n"
        "\nExit status: 0 done, 1 the work failed, 2 usage. Manual: rdmascope-flows(1).\n");
}

exporters::FlowColumns columns_of(const std::vector<std::string>& names, std::string& error) {
    auto columns = exporters::chosen_columns(names);
    if (columns) return std::move(columns).value();
    if (error.empty()) error = unknown("--columns", columns.error().name);
    return {};
}

exporters::filter::FlowFilter filter_of(const FlowsOptions& options, std::string& error) {
    auto filter = exporters::filter::FlowFilter::compile(options.filter);
    if (filter) return std::move(filter).value();
    if (error.empty()) error = fmt::format("--filter {}: {}", options.filter, filter.error().text());
    return {};
}

bool shows_commands(const FlowsOptions& options) {
    // A word of the filter may be the name of an upper layer; a cause may be one of commands.
    if (options.columns.empty() || options.every_column() || !options.filter.empty()) return true;
    const auto is_of_commands = [](const exporters::FlowField* field) {
        return field->rank || field->path == "upper" || field->path.starts_with("io.") ||
               field->path.starts_with("problem.");
    };
    std::string error;
    const exporters::FlowOrder order = order_of(options, error);
    const exporters::FlowColumns columns = columns_of(options.columns, error);
    return is_of_commands(order.field) || std::any_of(columns.begin(), columns.end(), is_of_commands);
}

exporters::FlowOrder order_of(const FlowsOptions& options, std::string& error) {
    // A series of intervals, and what programs read, keep the order in which flows began.
    if (options.sort.empty() && !options.top && !options.interval_ns && options.form != Form::json) {
        exporters::FlowOrder order = exporters::worst_first();
        order.descending = !options.reverse;
        return order;
    }
    auto order = exporters::flow_order(options.sort, options.top.has_value());
    if (!order) {
        const exporters::NoOrder& reason = order.error();
        error = reason.group == nullptr ? unknown("--sort", reason.name)
                                        : fmt::format("--sort {}: a group of columns is no order; {} is one of them",
                                                      reason.name, reason.group->path);
        return {};
    }
    order->descending = order->descending != options.reverse;
    return *order;
}

}  // namespace cli::flows
