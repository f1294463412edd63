#include "cli/analysis/options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/core.h>
#include <sched.h>

#include "base/memory_size.h"
#include "base/moment.h"
#include "cli/analysis/assignment_option.h"
#include "cli/file_words.h"
#include "cli/live.h"
#include "cli/options/setters.h"
#include "control/client.h"

namespace cli::analysis {

namespace {

using options::Section;
using Row = options::Option<AnalysisOptions>;

std::string take_autostop(AnalysisOptions& options, const std::string& value) {
    const std::string_view text(value);
    if (text.starts_with("duration:"))
        return options::duration<&AnalysisOptions::duration_ns>(options,
                                                                value.substr(std::string_view("duration:").size()));
    if (text.starts_with("packets:"))
        return options::number<1, options::most_packets, &AnalysisOptions::max_packets>(
            options, value.substr(std::string_view("packets:").size()));
    return "duration:SECONDS or packets:COUNT";
}

std::string take_connect(AnalysisOptions& options, const std::string& value) {
    options.connect = value.empty() ? control::default_socket : value;
    return {};
}

constexpr std::array shared_rows{
    options::interface<AnalysisOptions>,
    options::read_file<AnalysisOptions>,
    Row{{0, "trace", "FILE",
         "with -r: what programs did meanwhile, as `rdmascope run --trace FILE` recorded it (with -i, programs "
         "that are traced are read without being asked for)"},
        Section::source,
        options::store_nonempty<"a file", &AnalysisOptions::trace_path>},
    Row{{0, "counters", "FILE",
         "with -r: what the devices of a host counted meanwhile, as `flows -i IFACE --json` printed it there (with "
         "-i and --connect they are read without being asked for)"},
        Section::source,
        options::store_nonempty<"a file", &AnalysisOptions::counters_path>},
    Row{{0, "kernel-events", options::optional("LIST"),
         "with -i: the kernel's trace events of RDMA too: groups, or GROUP:EVENT, with commas between (default "
         "rdma_cma: the processes that make connections and queue pairs)"},
        Section::source,
        [](AnalysisOptions& o, const std::string& value) {
            return options::take_kernel_events(value, {"rdma_cma"}, o.kernel_events);
        }},
    Row{{0, "connect", options::optional_path("SOCKET"),
         "ask a running daemon (default /run/rdmascope/rdmascope.sock; asked where no source is given, if it runs)"},
        Section::source,
        take_connect},
    Row{{0, "history", "DIR",
         "what a daemon has recorded in DIR (default /var/lib/rdmascope/history where only --from or --to is given)"},
        Section::source,
        options::store_nonempty<"a directory", &AnalysisOptions::history>},
    Row{{0, "from", "TIME", "of the history, what was after TIME: 10:00, '2026-11-21 10:00', -1h (default: all)"},
        Section::source,
        options::moment<&AnalysisOptions::from_ns>},
    Row{{0, "to", "TIME", "of the history, what was before TIME"},
        Section::source,
        options::moment<&AnalysisOptions::to_ns>},
    options::snapshot_length<AnalysisOptions>,
    options::buffer_size<AnalysisOptions>,
    options::no_promiscuous<AnalysisOptions>,

    options::packet_count<AnalysisOptions>,
    options::seconds<AnalysisOptions>,
    Row{{'a', "autostop", "duration:N", "the same, as tshark has it; packets:N is -c N"},
        Section::selection,
        take_autostop},
    options::expression_file<AnalysisOptions>,

    Row{{'K', "no-crc", {}, "do not verify ICRC and MPA CRC: faster; how many were bad is then unknown"},
        Section::measuring,
        options::turn_off<&AnalysisOptions::verify_crc>},
    Row{{0, "crc", {}, "verify them, which is the default"},
        Section::measuring,
        options::turn_on<&AnalysisOptions::verify_crc>},
    assignment_option<AnalysisOptions>,
    Row{{0, "threads", "N",
         "number of worker threads; the figures are the same for any number (default: one per processor for large "
         "files)"},
        Section::measuring,
        options::number<1, 256, &AnalysisOptions::threads>},
    Row{{0, "link-rate", "BITS", "what the hosts' links carry, as in 100G (default: learnt from what they send)"},
        Section::measuring,
        options::rate<&AnalysisOptions::link_bits_per_sec>},
    Row{{0, "max-flows", "N",
         "remember at most N flows; the idlest goes first (default: 1000000, or what a quarter of the memory holds)"},
        Section::measuring,
        options::number<1, 100'000'000, &AnalysisOptions::max_flows>},

    options::no_names<AnalysisOptions>,
    options::node_names<AnalysisOptions>,

    options::help<AnalysisOptions>,
    options::version<AnalysisOptions>,
};

/// Options about packets have no meaning if `who` has read the packets before.
std::string contradiction_of_figures(const AnalysisOptions& options, std::string_view source, std::string_view who) {
    if (!options.read_paths.empty() && options.recalls())
        return fmt::format("{0} and -r are given ({1}): {0} is of what a daemon recorded; leave one of them out",
                           source, options.read_paths.front());
    if (!options.read_paths.empty())
        return fmt::format("{} and -r are given: figures come from one or the other", source);
    if (!options.interfaces.empty())
        return fmt::format("{} and -i are given: figures come from one or the other", source);
    const AnalysisOptions untouched;
    std::string_view given;
    if (!options.expression.empty()) given = "an expression (a socket is given as --connect=SOCKET)";
    if (options.expression_path) given = "-F";
    if (options.max_packets) given = "-c";
    if (options.snaplen != untouched.snaplen) given = "-s";
    if (options.buffer_kib != 0) given = "-B";
    if (!options.promiscuous) given = "-p";
    if (!options.verify_crc) given = "-K";
    if (options.threads) given = "--threads";
    if (options.link_bits_per_sec) given = "--link-rate";
    if (!options.assignments.empty()) given = "--as";
    if (options.max_flows != untouched.max_flows) given = "--max-flows";
    if (options.trace_path) given = "--trace";
    if (options.kernel_events) given = "--kernel-events";
    if (options.counters_path) given = "--counters";
    if (given.empty()) return {};
    return fmt::format(
        "{} says how packets are to be looked at, and {} has done that already; leave it "
        "out, or capture with -i IFACE",
        given, who);
}

std::string contradiction_of_history(const AnalysisOptions& options) {
    const std::string_view source = options.history ? "--history" : options.from_ns ? "--from" : "--to";
    if (options.connect) return fmt::format("{} and --connect are given: figures come from one or the other", source);
    if (options.duration_ns) return "--seconds is of captures; of a history say --from and --to";
    if (options.from_ns && options.to_ns && *options.from_ns >= *options.to_ns)
        return fmt::format("--from ({}) is not before --to ({})", base::moment(*options.from_ns),
                           base::moment(*options.to_ns));
    return contradiction_of_figures(options, source, "the daemon that recorded the history");
}

}  // namespace

std::size_t default_max_flows() {
    // An ordinary flow with its figures. All pools of the engine together take no more than this for each flow of the
    // bound.
    constexpr std::uint64_t flow_bytes = 4096;
    constexpr std::uint64_t most = 1'000'000;
    constexpr std::uint64_t least = 10'000;
    return static_cast<std::size_t>(std::clamp(base::memory_size() / 4 / flow_bytes, least, most));
}

unsigned thread_count(const AnalysisOptions& options) {
    constexpr std::uintmax_t large = 16'000'000;
    constexpr unsigned most = 8;  // more threads would wait for the thread that reads the file
    if (options.threads) return *options.threads;
    std::uintmax_t size = 0;
    std::error_code ignored;
    for (const std::string& path : options.read_paths)
        if (std::filesystem::is_regular_file(path, ignored)) size += std::filesystem::file_size(path, ignored);
    cpu_set_t processors;
    if (size < large || ::sched_getaffinity(0, sizeof processors, &processors) != 0) return 1;
    return std::clamp(static_cast<unsigned>(CPU_COUNT(&processors)), 1U, most);
}

std::span<const options::Option<AnalysisOptions>> shared_options() { return shared_rows; }

namespace {

bool names_source(const AnalysisOptions& options) {
    return !options.read_paths.empty() || !options.interfaces.empty() || options.connect || options.recalls();
}

}  // namespace

void take_named_captures(AnalysisOptions& options, std::vector<std::string>& words) {
    // With --from, a file is taken as well, so that the error can name what does not go together.
    if (!names_source(options) || (options.recalls() && options.read_paths.empty()))
        options.read_paths = take_captures(words, words.size());
}

void choose_default_source(AnalysisOptions& options) {
    if (!names_source(options) && control::daemon_listens(control::default_socket))
        options.connect = control::default_socket;
}

std::string contradiction(const AnalysisOptions& options) {
    if (options.recalls()) return contradiction_of_history(options);
    if (options.connect)
        return contradiction_of_figures(options, "--connect", fmt::format("the daemon at {}", *options.connect));
    if (!options.read_paths.empty() && !options.interfaces.empty())
        return "-i and -r are given: packets come from one or the other";
    if (options.read_paths.empty() && options.interfaces.empty())
        return source_choices(
            fmt::format(", --history DIR reads what a daemon recorded, --connect asks a running one "
                        "(none answers at {})",
                        control::default_socket));
    if (options.trace_path && options.read_paths.empty())
        return "--trace is of a file of packets, -r FILE; with -i, programs that are traced are read anyway";
    if (options.counters_path && options.read_paths.empty())
        return "--counters is of a file of packets, -r FILE; with -i, this machine's are read anyway";
    if (options.kernel_events && options.interfaces.empty())
        return "--kernel-events is of what happens now, with -i IFACE; `run --trace FILE --kernel-events` keeps them "
               "for -r FILE --trace FILE";
    std::size_t standard_input = 0;
    for (const std::string& path : options.read_paths) standard_input += path == "-" ? 1U : 0U;
    if (standard_input > 1) return "-r - is given twice: standard input can be read once";
    return {};
}

}  // namespace cli::analysis
