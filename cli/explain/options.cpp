#include "cli/explain/options.h"

#include <algorithm>
#include <array>

#include "cli/options/setters.h"
#include "control/client.h"

namespace cli::explain {

namespace {

using options::Section;
using Row = options::Option<ExplainOptions>;

constexpr std::array rows{
    Row{{'r', "read-file", "FILE",
         "find the packets of the lines in a pcap, pcapng or ERF file, also compressed; repeatable: files are merged "
         "by time"},
        Section::source,
        options::append<&ExplainOptions::read_paths>},
    Row{{0, "connect", options::optional_path("SOCKET"),
         "find them in what a running daemon knows (default /run/rdmascope/rdmascope.sock)"},
        Section::source,
        [](ExplainOptions& settings, const std::string& value) {
            settings.connect = value.empty() ? control::default_socket : value;
            return std::string();
        }},
    Row{{0, "history", "DIR",
         "find them in what a daemon has recorded in DIR (default /var/lib/rdmascope/history where only --from or "
         "--to is given)"},
        Section::source,
        options::store_nonempty<"a directory", &ExplainOptions::history>},
    Row{{0, "from", "TIME", "of the history, what was after TIME: 10:00, '2026-11-21 10:00', -1h"},
        Section::source,
        options::moment<&ExplainOptions::from_ns>},
    Row{{0, "to", "TIME", "of the history, what was before TIME"},
        Section::source,
        options::moment<&ExplainOptions::to_ns>},

    Row{{'f', "follow", {}, "read a log, or standard input, as it grows, and print each new cause once"},
        Section::work,
        options::turn_on<&ExplainOptions::follow>},

    Row{{0, "json", {}, "print one JSON array; with --follow one object a line"},
        Section::printing,
        options::turn_on<&ExplainOptions::json>},
    options::no_names<ExplainOptions>,
    options::node_names<ExplainOptions>,

    options::help<ExplainOptions>,
    options::version<ExplainOptions>,
};

}  // namespace

options::OptionTable<ExplainOptions> option_table() { return options::OptionTable<ExplainOptions>().add(rows); }

std::string contradiction_of_words(const ExplainOptions& options) {
    const auto reads_input = static_cast<std::size_t>(std::ranges::count(options.words, std::string("-")) +
                                                      std::ranges::count(options.read_paths, std::string("-")));
    if (reads_input > 1) return "standard input can be read once: for lines, or for packets";
    if (options.follow && options.words.size() > 1) return "--follow reads one log";
    const int sources = (options.read_paths.empty() ? 0 : 1) + (options.connect ? 1 : 0) + (options.recalls() ? 1 : 0);
    if (sources > 1) return "packets come from one source: -r, --connect or --history";
    return options.recalls() ? analysis::contradiction(options) : std::string();
}

}  // namespace cli::explain
