#include "cli/flows/options.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "text/quantities.h"
#include "text/similar.h"

namespace cli::flows {

namespace {

using analysis::Group;
using Row = analysis::OptionRow<FlowsOptions>;

std::string choose(FlowsOptions& options, Form form) {
    options.two_forms = options.two_forms || (options.form != Form::table && options.form != form);
    options.form = form;
    return {};
}

constexpr std::array own{
    Row{{0, "json", "", "one JSON object with all there is to know"},
        Group::printing,
        [](FlowsOptions& o, const std::string&) { return choose(o, Form::json); }},
    Row{{0, "csv", "", "comma-separated values, a header in front"},
        Group::printing,
        [](FlowsOptions& o, const std::string&) { return choose(o, Form::csv); }},
    Row{{0, "columns", "LIST", "these columns, or groups of columns, with commas between; `help` lists them"},
        Group::printing,
        [](FlowsOptions& o, const std::string& v) {
            analysis::append_words(o.columns, v);
            return std::string(o.columns.empty() ? "a list such as flow,packets,latency_ns.write" : "");
        }},
    Row{{0, "sort", "COLUMN", "begin with the greatest number or the first text; -COLUMN the other way round"},
        Group::printing,
        [](FlowsOptions& o, const std::string& v) { return analysis::take_sort(v, o.sort); }},
    Row{{0, "reverse", "", "the other way round"},
        Group::printing,
        [](FlowsOptions& o, const std::string&) { return o.reverse = true, std::string{}; }},
    Row{{0, "top", "N", "the first N flows alone; without --sort those with the most octets on the wire"},
        Group::printing,
        [](FlowsOptions& o, const std::string& v) { return text::take_number(v, 1, 1'000'000'000, o.top.emplace()); }},
    Row{{0, "interval", "TIME", "a row for every TIME (100ms, 1s) in which the flow had traffic"},
        Group::printing,
        [](FlowsOptions& o, const std::string& v) { return text::take_duration(v, o.interval_ns.emplace()); }},
};

std::string unknown(std::string_view option, std::string_view name) {
    const auto known = exporters::field_names();
    return fmt::format("{} {}: there is no such column{}; `rdmascope flows --columns help` lists them", option, name,
                       text::did_you_mean(name, known));
}

}  // namespace

std::string parse_options(const std::vector<std::string>& arguments, FlowsOptions& out) {
    std::string reason = analysis::parse<FlowsOptions>(arguments, own, out);
    if (out.column_help() || out.help || out.version) return out.column_help() ? std::string{} : reason;
    if (!reason.empty()) return reason;
    if (out.two_forms) return "--json and --csv are given: one or the other";
    columns_of(out.columns, reason);
    if (reason.empty()) order_of(out, reason);
    return reason;
}

std::string help_text() {
    return analysis::help_page(
        "Usage: rdmascope flows -r FILE [OPTION]... [EXPRESSION]\n"
        "       rdmascope flows -i IFACE [OPTION]... [EXPRESSION]\n"
        "       rdmascope flows --connect [OPTION]...\n"
        "       rdmascope flows [--history DIR] [--from TIME] [--to TIME] [OPTION]...\n\n"
        "One row for every direction of every queue pair's conversation, with what was sent, how long it took, what\n"
        "was waiting, what went wrong, and where the time went. EXPRESSION is a pcap-filter(7) expression.\n",
        analysis::all_options<FlowsOptions>(own),
        "\nExamples:\n"
        "  rdmascope flows -r rdma.pcapng --sort latency_p99 --top 10\n"
        "      the ten flows with the longest tails\n"
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
    std::string none;
    exporters::FlowColumns columns = exporters::chosen_columns(names, none);
    if (!none.empty() && error.empty()) error = unknown("--columns", none);
    return columns;
}

exporters::FlowOrder order_of(const FlowsOptions& options, std::string& error) {
    exporters::NoOrder reason;
    auto order = exporters::flow_order(options.sort, options.top.has_value(), reason);
    if (!order) {
        error = reason.group == nullptr ? unknown("--sort", reason.name)
                                        : fmt::format("--sort {}: a group of columns is no order; {} is one of them",
                                                      reason.name, reason.group->path);
        return {};
    }
    order->descending = order->descending != options.reverse;
    return *order;
}

}  // namespace cli::flows
