#include "cli/report/options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "cli/options/setters.h"

namespace cli::report {

namespace {

using options::Section;
using Row = options::Option<ReportOptions>;

constexpr std::array own{
    Row{{0, "flow", "ID", "about this flow and its reverse alone; `rdmascope flows` lists the IDs"},
        Section::selection,
        options::number<0, std::numeric_limits<std::uint64_t>::max(), &ReportOptions::flow>},
    Row{{'o', "output", "FILE", "write the page to FILE; `-` is standard output (default: CAPTURE-report.html)"},
        Section::printing,
        options::store_nonempty<"a file", &ReportOptions::output_path>},
    Row{{0, "title", "TEXT", "the heading of the page (default: the name of the capture)"},
        Section::printing,
        options::store<&ReportOptions::title>},
    Row{{0, "anonymous", {}, "replace addresses and names, each always by the same substitute"},
        Section::printing,
        options::turn_on<&ReportOptions::anonymous>},
    Row{{0, "perfetto", "FILE",
         "with -r: also write a trace for ui.perfetto.dev: messages and commands as slices, repairs and marks as "
         "instants and arrows"},
        Section::printing,
        options::store_nonempty<"a file", &ReportOptions::perfetto_path>},
};

}  // namespace

options::OptionTable<ReportOptions> option_table() {
    return options::OptionTable<ReportOptions>().add(analysis::shared_options()).add(own);
}

std::string contradiction_of_trace(const ReportOptions& options) {
    const bool again =
        !options.read_paths.empty() && std::ranges::find(options.read_paths, "-") == options.read_paths.end();
    return !options.perfetto_path || again ? "" : "--perfetto is of files: read them with -r FILE";
}

std::string help_text() {
    return options::help_page(
        "Usage: rdmascope report [-r] FILE... [OPTION]... [EXPRESSION]\n"
        "       rdmascope report -i IFACE --seconds N [OPTION]... [EXPRESSION]\n"
        "       rdmascope report --connect [OPTION]...\n"
        "       rdmascope report [--history DIR] [--from TIME] [--to TIME] [OPTION]...\n\n"
        "Writes one HTML page that shows what a capture holds: the answers of `why`, a time line, all flows, commands\n"
        "and hosts, and plots of the flows with problems. The page needs no network and no other file.\n"
        "EXPRESSION is a pcap-filter(7) expression.\n",
        option_table().options(),
        "\nExamples:\n"
        "  rdmascope report -r rdma.pcapng\n"
        "      writes rdma-report.html\n"
        "  rdmascope report -r rdma.pcapng --anonymous --title 'Ticket 4711' -o ticket.html\n"
        "      a page to send, without addresses and names\n"
        "  rdmascope report -i eth0 --seconds 10 -o now.html\n"
        "      captures for ten seconds\n"
        "\nExit status: 0 done, 1 the work failed, 2 usage. Manual: rdmascope-report(1).\n");
}

std::string default_output_path(const ReportOptions& options) {
    std::string name = "rdmascope";
    if (!options.read_paths.empty() && options.read_paths.front() != "-") {
        std::filesystem::path path = std::filesystem::path(options.read_paths.front()).filename();
        for (const char* ending : {".gz", ".zst", ".lz4", ".pcapng", ".pcap", ".cap", ".erf"})
            if (path.extension() == ending && !path.stem().empty()) path = path.stem();
        name = path.string();
    }
    return name + "-report.html";
}

}  // namespace cli::report
