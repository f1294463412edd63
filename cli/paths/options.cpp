#include "cli/paths/options.h"

#include <array>

#include "cli/options/setters.h"

namespace cli::paths {

namespace {

using options::Section;
using Row = options::Option<PathsOptions>;

constexpr std::uint64_t most_paths = 4096;

template <Form form>
std::string choose(PathsOptions& options, const std::string& /*value*/) {
    options.two_forms = options.two_forms || (options.form != Form::table && options.form != form);
    options.form = form;
    return {};
}

constexpr std::array own{
    Row{{0, "json", {}, "one JSON object with all there is to know"}, Section::printing, choose<Form::json>},
    Row{{0, "csv", {}, "comma-separated values, one row an entropy, a header first"},
        Section::printing,
        choose<Form::csv>},
    Row{{0, "paths", "N", "the network has N equal paths: what random hashing over N gives (default: 2, 4, 8, 16, 32)"},
        Section::printing,
        options::number<1, most_paths, &PathsOptions::path_count>},
    Row{{0, "top", "N", "the first N pairs of hosts alone, those with the most bytes"},
        Section::printing,
        options::number<1, 1'000'000'000, &PathsOptions::top>},
    Row{{0, "interval", "TIME", "the same for every TIME (100ms, 1s) with traffic"},
        Section::printing,
        options::duration<&PathsOptions::interval_ns>},
};

}  // namespace

std::vector<std::uint64_t> PathsOptions::path_counts() const {
    if (path_count) return {*path_count};
    return {2, 4, 8, 16, 32};
}

options::OptionTable<PathsOptions> option_table() {
    return options::OptionTable<PathsOptions>().add(analysis::shared_options()).add(own);
}

std::optional<options::UsageError> parse_options(const std::vector<std::string>& arguments, PathsOptions& out) {
    auto error = analysis::parse(arguments, option_table(), out);
    if (error || out.help || out.version) return error;
    if (out.two_forms) return options::UsageError{"--json and --csv are given: one or the other"};
    return {};
}

std::string help_text() {
    return options::help_page(
        "Usage: rdmascope paths [-r] FILE... [OPTION]... [EXPRESSION]\n"
        "       rdmascope paths -i IFACE [OPTION]... [EXPRESSION]\n"
        "       rdmascope paths --connect [OPTION]...\n"
        "       rdmascope paths [--history DIR] [--from TIME] [--to TIME] [OPTION]...\n\n"
        "Which entropies (UDP source ports, flow labels, TCP ports, LIDs) carry what between two hosts, how even they\n"
        "are, and whether the path of one of them loses more than the others. Switches choose a path by the entropy.\n"
        "EXPRESSION is a pcap-filter(7) expression.\n",
        option_table().options(),
        "\nExamples:\n"
        "  rdmascope paths -r rdma.pcapng\n"
        "      a table for each pair of hosts\n"
        "  rdmascope paths -r rdma.pcapng --paths 8\n"
        "      what to expect of a network with eight equal paths\n"
        "  rdmascope paths -r rdma.pcapng --json | jq '.pairs[].rows[] | select(.verdict)'\n"
        "      the entropies with a problem\n"
        "  rdmascope paths -i eth0 --seconds 10\n"
        "      look at live traffic for ten seconds\n"
        "\nExit status: 0 done, 1 the work failed, 2 usage. Manual: rdmascope-paths(1).\n");
}

}  // namespace cli::paths
