#include "cli/analysis/options.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/core.h>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "cli/live.h"
#include "daemon/control/client.h"
#include "text/moment.h"
#include "text/quantities.h"

namespace cli::analysis {

namespace {

using Row = OptionRow<AnalysisOptions>;
using G = Group;

constexpr std::array shared{
    Row{{'i', "interface", "IFACE", "capture on IFACE, or on `any`; repeatable"},
        G::source,
        [](AnalysisOptions& o, const std::string& v) { return o.interfaces.push_back(v), std::string{}; }},
    Row{{'r', "read-file", "FILE",
         "read a pcap or pcapng file, also compressed; `-` is standard input; repeatable: files are merged by time"},
        G::source,
        [](AnalysisOptions& o, const std::string& v) { return o.read_paths.push_back(v), std::string{}; }},
    Row{{0, "trace", "FILE",
         "beside -r: what programs did meanwhile, as `rdmascope run --trace FILE` recorded it (beside -i, programs "
         "that are traced are read without being asked for)"},
        G::source,
        [](AnalysisOptions& o, const std::string& v) {
            return o.trace_path = v, std::string(v.empty() ? "a file" : "");
        }},
    Row{{0, "counters", "FILE",
         "beside -r: what the devices of a host counted meanwhile, as `flows -i IFACE --json` printed it there (beside "
         "-i and --connect they are read without being asked for)"},
        G::source,
        [](AnalysisOptions& o, const std::string& v) {
            return o.counters_path = v, std::string(v.empty() ? "a file" : "");
        }},
    Row{{0, "kernel-events", "[LIST]",
         "beside -i: the kernel's trace events of RDMA too: groups, or GROUP:EVENT, with commas between (default "
         "rdma_cma: who makes connections and queue pairs)"},
        G::source,
        [](AnalysisOptions& o, const std::string& v) { return take_kernel_events(v, {"rdma_cma"}, o.kernel_events); }},
    Row{{0, "connect", "[SOCKET]",
         "ask a running daemon (default /run/rdmascope/rdmascope.sock; asked where no source is given, if it runs)"},
        G::source,
        [](AnalysisOptions& o, const std::string& v) {
            return o.connect = v.empty() ? service::default_socket : v, std::string{};
        }},
    Row{{0, "history", "DIR",
         "what a daemon has recorded in DIR (default /var/lib/rdmascope/history where only --from or --to is given)"},
        G::source,
        [](AnalysisOptions& o, const std::string& v) {
            return o.history = v, std::string(v.empty() ? "a directory" : "");
        }},
    Row{{0, "from", "TIME", "of the history, what was after TIME: 10:00, '2026-11-21 10:00', -1h (default: all)"},
        G::source,
        [](AnalysisOptions& o, const std::string& v) {
            return text::take_moment(v, base::wall_ns(), o.from_ns.emplace());
        }},
    Row{{0, "to", "TIME", "of the history, what was before TIME"},
        G::source,
        [](AnalysisOptions& o, const std::string& v) {
            return text::take_moment(v, base::wall_ns(), o.to_ns.emplace());
        }},
    Row{{'s', "snapshot-length", "OCTETS", "capture at most OCTETS of each frame (default 262144; 0 is the default)"},
        G::source,
        [](AnalysisOptions& o, const std::string& v) {
            std::string wanted = take_number(v, 0, capture::max_snaplen, o.snaplen);
            if (o.snaplen == 0) o.snaplen = capture::max_snaplen;
            return wanted;
        }},
    Row{{'B', "buffer-size", "KIB", "the kernel's capture buffer, in KiB"},
        G::source,
        [](AnalysisOptions& o, const std::string& v) { return take_number(v, 1, 2'097'151, o.buffer_kib); }},
    Row{{'p', "no-promiscuous-mode", "", "no promiscuous mode"},
        G::source,
        [](AnalysisOptions& o, const std::string&) { return o.promiscuous = false, std::string{}; }},

    Row{{'c', "", "COUNT", "stop after COUNT packets that the expression selects"},
        G::selection,
        [](AnalysisOptions& o, const std::string& v) {
            return take_number(v, 1, std::numeric_limits<std::int64_t>::max(), o.max_packets.emplace());
        }},
    Row{{0, "seconds", "N", "stop N seconds after the beginning; of a file, by its own clock"},
        G::selection,
        [](AnalysisOptions& o, const std::string& v) { return text::take_duration(v, o.duration_ns.emplace()); }},
    Row{{'a', "autostop", "duration:N", "the same, as tshark has it; packets:N is -c N"},
        G::selection,
        [](AnalysisOptions& o, const std::string& v) -> std::string {
            const std::string_view text(v);
            if (text.starts_with("duration:")) return text::take_duration(v.substr(9), o.duration_ns.emplace());
            if (text.starts_with("packets:"))
                return take_number(v.substr(8), 1, std::numeric_limits<std::int64_t>::max(), o.max_packets.emplace());
            return "duration:SECONDS or packets:COUNT";
        }},
    Row{{'F', "", "FILE", "take the pcap-filter expression from FILE"},
        G::selection,
        [](AnalysisOptions& o, const std::string& v) { return o.expression_path = v, std::string{}; }},

    Row{{'K', "no-crc", "", "do not verify ICRC and MPA CRC: faster; how many were bad is then unknown"},
        G::measuring,
        [](AnalysisOptions& o, const std::string&) { return o.verify_crc = false, std::string{}; }},
    Row{{0, "crc", "", "verify them, which is the default"},
        G::measuring,
        [](AnalysisOptions& o, const std::string&) { return o.verify_crc = true, std::string{}; }},
    Row{{0, "threads", "N", "number of worker threads; the figures are the same for any number (default 1)"},
        G::measuring,
        [](AnalysisOptions& o, const std::string& v) { return take_number(v, 1, 256, o.threads); }},
    Row{{0, "link-rate", "BITS", "what the hosts' links carry, as in 100G (default: learnt from what they send)"},
        G::measuring,
        [](AnalysisOptions& o, const std::string& v) { return text::take_rate(v, o.link_bits_per_sec.emplace()); }},
    Row{{0, "max-flows", "N", "remember at most N flows; the idlest goes first (default 1000000)"},
        G::measuring,
        [](AnalysisOptions& o, const std::string& v) { return take_number(v, 1, 100'000'000, o.max_flows); }},

    Row{{'n', "", "", "addresses as numbers, not as the names that /etc/hosts has"},
        G::printing,
        [](AnalysisOptions& o, const std::string&) { return o.names = false, std::string{}; }},

    Row{{'h', "help", "", "print this and exit"},
        G::other,
        [](AnalysisOptions& o, const std::string&) { return o.help = true, std::string{}; }},
    Row{{0, "version", "", "print the version and exit"},
        G::other,
        [](AnalysisOptions& o, const std::string&) { return o.version = true, std::string{}; }},
};

constexpr std::array headings{
    std::pair<Group, std::string_view>{G::source, "Where packets come from"},
    std::pair<Group, std::string_view>{G::selection, "Which packets"},
    std::pair<Group, std::string_view>{G::measuring, "How they are measured"},
    std::pair<Group, std::string_view>{G::printing, "What is printed"},
    std::pair<Group, std::string_view>{G::other, "Other"},
};

/// What is said of packets has no meaning where they were looked at before, by `who`.
std::string contradiction_of_figures(const AnalysisOptions& options, std::string_view source, std::string_view who) {
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
    if (options.threads != untouched.threads) given = "--threads";
    if (options.link_bits_per_sec) given = "--link-rate";
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
        return fmt::format("--from ({}) is not before --to ({})", text::moment(*options.from_ns),
                           text::moment(*options.to_ns));
    return contradiction_of_figures(options, source, "the daemon that recorded the history");
}

}  // namespace

std::span<const OptionRow<AnalysisOptions>> shared_options() { return shared; }

void choose_default_source(AnalysisOptions& options) {
    if (options.read_paths.empty() && options.interfaces.empty() && !options.connect && !options.recalls() &&
        service::daemon_listens(service::default_socket))
        options.connect = service::default_socket;
}

std::string contradiction(const AnalysisOptions& options) {
    if (options.recalls()) return contradiction_of_history(options);
    if (options.connect)
        return contradiction_of_figures(options, "--connect", fmt::format("the daemon at {}", *options.connect));
    if (!options.read_paths.empty() && !options.interfaces.empty())
        return "-i and -r are given: packets come from one or the other";
    if (options.read_paths.empty() && options.interfaces.empty())
        return source_choices(options.expression,
                              fmt::format(", --history DIR reads what a daemon recorded, --connect asks a running one "
                                          "(none answers at {})",
                                          service::default_socket));
    if (options.trace_path && options.read_paths.empty())
        return "--trace is of a file of packets, -r FILE; beside -i, programs that are traced are read anyway";
    if (options.counters_path && options.read_paths.empty())
        return "--counters is of a file of packets, -r FILE; beside -i, this machine's are read anyway";
    if (options.kernel_events && options.interfaces.empty())
        return "--kernel-events is of what happens now: beside -i IFACE; `run --trace FILE --kernel-events` keeps them "
               "for -r FILE --trace FILE";
    std::size_t standard_input = 0;
    for (const std::string& path : options.read_paths) standard_input += path == "-" ? 1U : 0U;
    if (standard_input > 1) return "-r - is given twice: standard input can be read once";
    return {};
}

std::string help_page(std::string_view beginning, const GroupedOptions<Group>& options, std::string_view ending) {
    return cli::help_page<Group>(beginning, options, headings, ending);
}

void append_words(std::vector<std::string>& words, std::string_view list) {
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        if (comma > 0) words.emplace_back(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
}

std::string take_kernel_events(const std::string& value, std::vector<std::string> usual,
                               std::optional<std::vector<std::string>>& into) {
    std::vector<std::string> events = into.value_or(std::vector<std::string>{});
    const std::size_t before = events.size();
    append_words(events, value);
    const bool plain = std::all_of(events.begin(), events.end(), [](const std::string& event) {
        return event.find('/') == std::string::npos && event.front() != ':' && event.back() != ':';
    });
    if ((events.size() == before && !value.empty()) || !plain)
        return "groups or GROUP:EVENT with commas between, as in rdma_cma,rdma_core:cq_poll,";
    if (value.empty()) events = std::move(usual);
    into = std::move(events);
    return {};
}

std::string take_sort(const std::string& value, std::string& into) {
    into = value;
    return value.empty() || value == "-" ? "a column, as `--columns help` lists them," : "";
}

}  // namespace cli::analysis
