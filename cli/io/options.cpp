#include "cli/io/options.h"

#include <array>
#include <fmt/format.h>
#include <limits>

#include "cli/analysis/assignment_option.h"
#include "cli/file_words.h"
#include "cli/io/each_table.h"
#include "cli/io/kind_columns.h"
#include "cli/live.h"
#include "cli/options/setters.h"

namespace cli::io {

namespace {

using options::Section;
using Row = options::Option<IoOptions>;

template <Form form>
std::string choose_form(IoOptions& options, const std::string& /*value*/) {
    options.two_forms = options.two_forms || (options.form != Form::table && options.form != form);
    options.form = form;
    return {};
}

std::string take_columns(IoOptions& options, const std::string& value) {
    options::append_words(options.columns, value);
    return options.columns.empty() ? "a list such as kind,commands,p99" : "";
}

std::string take_by(IoOptions& options, const std::string& value) {
    options.by = group_named(value);
    return options.by ? "" : "pair, initiator, target, protocol, all or lba";
}

constexpr std::array io_rows{
    options::interface<IoOptions>,
    options::read_file<IoOptions>,
    options::snapshot_length<IoOptions>,
    options::buffer_size<IoOptions>,
    options::no_promiscuous<IoOptions>,

    options::packet_count<IoOptions>,
    options::seconds<IoOptions>,
    options::expression_file<IoOptions>,
    Row{{0, "flow", "ID", "only the connection of this flow; `rdmascope flows` lists the IDs"},
        Section::selection,
        options::number<0, std::numeric_limits<std::uint64_t>::max(), &IoOptions::flow>},

    analysis::assignment_option<IoOptions>,
    Row{{'K', "no-crc", {}, "do not verify ICRC and MPA CRC: faster; packets that a receiver dropped then count"},
        Section::measuring,
        options::turn_off<&IoOptions::verify_crc>},

    Row{{0, "each", {}, "one row a command, instead of one a kind of command on a connection"},
        Section::printing,
        options::turn_on<&IoOptions::each>},
    Row{{0, "json", {}, "one JSON object with all there is to know, with --each one a line"},
        Section::printing,
        choose_form<Form::json>},
    Row{{0, "csv", {}, "comma-separated values, a header in front"}, Section::printing, choose_form<Form::csv>},
    Row{{0, "columns", "LIST", "these columns, with commas between; `all`; `help` and `names` list them"},
        Section::printing,
        take_columns},
    Row{{0, "filter", "TEXT", "only these kinds, with --each these commands: a word, or 'errors > 0 && p99 > 1ms'"},
        Section::printing,
        options::store<&IoOptions::filter>},
    options::sort<IoOptions>,
    Row{{0, "top", "N", "the first N rows alone; without --sort those that took most time"},
        Section::printing,
        options::number<1, 1'000'000'000, &IoOptions::top>},
    Row{{0, "by", "WHAT",
         "a heading for each pair (of hosts), initiator, target, protocol, all or lba (1 GiB of a target), instead of "
         "connections"},
        Section::printing,
        take_by},
    Row{{0, "interval", "TIME", "a row for every TIME (100ms, 1s) in which commands of the kind ended"},
        Section::printing,
        options::duration<&IoOptions::interval_ns>},
    options::no_names<IoOptions>,
    options::node_names<IoOptions>,

    options::help<IoOptions>,
    options::version<IoOptions>,
};

/// The first mistake in --columns, --sort and --filter.
template <class EachRow>
std::string unknown_column(const ColumnSet<EachRow>& columns, const IoOptions& options) {
    std::string error;
    columns.choose(options.columns, error);
    if (error.empty()) error = unknown_order(columns, options.sort);
    if (!error.empty()) return error;
    const auto filter = columns.filter(options.filter);
    return filter ? std::string() : fmt::format("--filter {}: {}", options.filter, filter.error().text());
}

/// Options that choose columns and order where these are fixed.
std::string contradiction_of_rows(const IoOptions& options) {
    std::string_view given;
    if (options.top) given = "--top";
    if (!options.sort.empty()) given = "--sort";
    if (!options.columns.empty()) given = "--columns";
    if (options.by && !given.empty())
        return fmt::format("--by and {} are given: a table of groups has its own columns and order", given);
    if (options.by == GroupBy::lba && !options.filter.empty())
        return "--by lba and --filter are given: a range of blocks has kinds of several connections";
    if (options.form != Form::json || given.empty()) return {};
    if (!options.columns.empty()) return "--json and --columns are given: JSON has all there is to know";
    if (options.each) return {};
    return fmt::format("--json and {} are given: JSON is in the order of connections; with --each it has one", given);
}

std::string contradiction_of(const IoOptions& options) {
    if (!options.read_paths.empty() && !options.interfaces.empty())
        return "-i and -r are given: packets come from one or the other";
    if (options.read_paths.empty() && options.interfaces.empty()) return source_choices();
    std::size_t standard_input = 0;
    for (const std::string& path : options.read_paths) standard_input += path == "-" ? 1U : 0U;
    if (standard_input > 1) return "-r - is given twice: standard input can be read once";
    if (options.flow && !options.interfaces.empty())
        return "-i and --flow are given: flows of a capture that goes on have no IDs yet";
    if (options.flow && standard_input > 0)
        return "-r - and --flow are given: the capture is read twice, and standard input can be read once";
    if (options.two_forms) return "--json and --csv are given: one or the other";
    if (options.by && options.each) return "--by and --each are given: rows are groups, or single commands";
    if (options.each && options.interval_ns)
        return "--each and --interval are given: rows are single commands, or kinds in an interval";
    if (std::string error = contradiction_of_rows(options); !error.empty()) return error;
    return options.each ? unknown_column(each_columns(), options) : unknown_column(kind_columns(), options);
}

}  // namespace

options::OptionTable<IoOptions> option_table() { return options::OptionTable<IoOptions>().add(io_rows); }

std::optional<options::UsageError> parse_options(const std::vector<std::string>& arguments, IoOptions& out) {
    std::vector<std::string> words;
    if (auto error = option_table().parse(arguments, out, words)) return error;
    if (out.read_paths.empty() && out.interfaces.empty()) out.read_paths = take_captures(words, words.size());
    if (!out.expression_path) out.expression = options::joined(words);  // as tcpdump: -F goes first
    if (out.help || out.version || out.column_help() || out.column_names()) return {};
    return options::usage_error_if(contradiction_of(out));
}

std::string help_text() {
    return options::help_page(
        "Usage: rdmascope io [-r] FILE... [OPTION]... [EXPRESSION]\n"
        "       rdmascope io -i IFACE [OPTION]... [EXPRESSION]\n\n"
        "Commands of upper layers (NVMe, NFS, SCSI, SMB, RDS) on RoCE, InfiniBand and iWARP: how many of each\n"
        "kind on each connection, how long they took, and where their time went. The five parts of a command sum\n"
        "to its latency.\n"
        "EXPRESSION is a pcap-filter(7) expression.\n",
        option_table().options(),
        "\nExamples:\n"
        "  rdmascope io -r nvme.pcapng\n"
        "      kinds of commands on each connection\n"
        "  rdmascope io -r nvme.pcapng --each --sort latency --top 10\n"
        "      the ten slowest commands, with their frames\n"
        "  rdmascope io -r nfs.pcapng --filter 'errors > 0 || p99 > 10ms' --sort p99\n"
        "      kinds of commands with errors or long tails, the longest first\n"
        "  rdmascope io -r nvme.pcapng --each --csv\n"
        "      every command, for another program\n"
        "  rdmascope io -i eth0 --interval 1s\n"
        "      live, second by second\n"
        "  rdmascope io -r headers.pcap --as 5000=nvme\n"
        "      a target on a port of its own, in a capture without the connections' beginnings\n"
        "\nExit status: 0 done, 1 the work failed, 2 usage. Manual: rdmascope-io(1).\n");
}

}  // namespace cli::io
