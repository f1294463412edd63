#include "cli/run/options.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fmt/core.h>
#include <system_error>

#include "base/quantities.h"
#include "cli/options/setters.h"

namespace cli::run {

namespace {

using options::Section;
using Row = options::Option<Options>;

/// Returns what is expected in place of the value; empty if the value is understood.
using Judge = std::string (*)(const std::string& value);

std::string judge_switch(const std::string& value) {
    bool on = false;
    return base::take_switch(value, on);
}

std::string judge_address(const std::string& value) {
    std::array<std::byte, sizeof(in6_addr)> octets{};
    const bool numeric =
        inet_pton(AF_INET, value.c_str(), octets.data()) == 1 || inet_pton(AF_INET6, value.c_str(), octets.data()) == 1;
    return numeric ? "" : "an IPv4 or IPv6 address of this machine";
}

std::string judge_revision(const std::string& value) { return value == "1" || value == "2" ? "" : "1 or 2"; }

std::string judge_ulpdu(const std::string& value) {
    if (value == "0") return {};
    std::uint64_t octets = 0;
    const std::string expected = base::take_number(value, 128, 64768, octets);
    return expected.empty() ? expected : "0 or " + expected;
}

std::string judge_patience(const std::string& value) {
    std::uint64_t ms = 0;
    return base::take_number(value, 0, 600'000, ms);
}

constexpr const char* address_variable = "RDMASCOPE_SOFTWARE_ADDRESS";

/// Repeated addresses make a list. Of other repeated options the last one counts.
void set_variable(Options& out, const std::string& name, const std::string& value) {
    const auto known = std::ranges::find_if(out.variables, [&](const auto& one) { return one.first == name; });
    if (known == out.variables.end())
        out.variables.emplace_back(name, value);
    else
        known->second = name == address_variable ? known->second + "," + value : value;
}

/// Sets a variable of the stack's environment.
template <options::Words Variable, Judge judge>
std::string take_variable(Options& out, const std::string& value) {
    std::string expected = judge(value);
    if (expected.empty()) set_variable(out, Variable.text, value);
    return expected;
}

std::string take_trace(Options& out, const std::string& value) {
    if (value.empty()) return "a file to write to";
    out.traced = true;
    out.tracing.file = value;
    return {};
}

std::string take_mads(Options& out, const std::string& value) {
    if (value.empty()) return "a file to write to";
    if (value == "-") return "a file other than standard output";
    out.traced = true;
    out.tracing.mads = value;
    return {};
}

std::string take_kernel_events(Options& out, const std::string& value) {
    out.traced = true;
    return options::take_kernel_events(value, {}, out.tracing.kernel_events);
}

/// pid_t of Linux: /proc/sys/kernel/pid_max at most.
constexpr std::uint64_t most_traced_processes = 1 << 22;

constexpr std::array rows{
    Row{{0, "software", {}, "over the software iWARP stack, whatever hardware there is"},
        Section::options,
        options::turn_on<&Options::software>},
    Row{{0, "trace", "FILE",
         "write what the program does with its queue pairs to FILE, for flows --trace and top --trace"},
        Section::options,
        take_trace},
    Row{{0, "mads", "FILE",
         "write the management datagrams that the program sends and receives by libibumad to FILE, a capture (pcap by "
         "its name, else pcapng)"},
        Section::options,
        take_mads},
    Row{{0, "kernel-events", options::optional("LIST"),
         "the kernel's trace events of RDMA too, of all of the machine: groups, or GROUP:EVENT, with commas between "
         "(default: all groups there are)"},
        Section::options,
        take_kernel_events},
    Row{{0, "attach", "PID", "trace a process that runs already, in place of a program, until SIGINT"},
        Section::options,
        options::number<1, most_traced_processes, &Options::process>},
    Row{{0, "summary", "on|off",
         "what each queue pair did and which datagrams passed, on standard error, when the program has ended (default "
         "on)"},
        Section::options,
        options::on_off<&Options::tracing, &Tracing::summary>},
    Row{{0, "address", "ADDR",
         "an address of this machine that the device has; may be repeated (default: all of them)"},
        Section::options,
        take_variable<"RDMASCOPE_SOFTWARE_ADDRESS", judge_address>},
    Row{options::mpa_crc, Section::options, take_variable<"RDMASCOPE_SOFTWARE_CRC", judge_switch>},
    Row{options::mpa_markers, Section::options, take_variable<"RDMASCOPE_SOFTWARE_MARKERS", judge_switch>},
    Row{options::mpa_revision, Section::options, take_variable<"RDMASCOPE_SOFTWARE_MPA_REVISION", judge_revision>},
    Row{{0, "peer-to-peer", "on|off",
         "the initiator begins with a ready-to-receive message (RFC 6581), revision 2 only (default on)"},
        Section::options,
        take_variable<"RDMASCOPE_SOFTWARE_PEER_TO_PEER", judge_switch>},
    Row{{0, "strict", "on|off",
         "data reach memory only after their CRC (RFC 5044); else as they come, which is faster (default off)"},
        Section::options,
        take_variable<"RDMASCOPE_SOFTWARE_STRICT", judge_switch>},
    Row{{0, "max-ulpdu", "BYTES", "longest ULPDU sent, 128 to 64768; 0: what fits a segment of the path (default 0)"},
        Section::options,
        take_variable<"RDMASCOPE_SOFTWARE_MAX_ULPDU", judge_ulpdu>},
    Row{{0, "receive-patience", "MS",
         "how long a message waits for a receive before the connection is terminated, 0 to 600000 ms (default 5000)"},
        Section::options,
        take_variable<"RDMASCOPE_SOFTWARE_RECEIVE_PATIENCE", judge_patience>},
    Row{{0, "verbose", "on|off",
         "say on standard error why every connection failed or ended, or nothing of that (default: only which request "
         "of "
         "which side was at fault)"},
        Section::options,
        take_variable<"RDMASCOPE_SOFTWARE_VERBOSE", judge_switch>},
    under(Section::options, options::help<Options>),
    under(Section::options, options::version<Options>),
};

/// Whether both names are of one file, which need not be there yet.
bool is_same_file(const std::string& one, const std::string& other) {
    const auto place = [](const std::string& name) {
        std::error_code unknown;
        return std::filesystem::weakly_canonical(std::filesystem::absolute(name, unknown), unknown);
    };
    const std::filesystem::path first = place(one);
    return one == other || (!first.empty() && first == place(other));
}

std::string contradiction(const Options& options) {
    if (options.process) {
        if (!options.command.empty())
            return fmt::format("either a program or --attach: '{}' is one", options.command.front());
        if (options.software)
            return "a process that runs already cannot be given another stack: --attach or --software";
        if (!options.tracing.mads.empty())
            return "a process that runs already does not show its datagrams: --mads needs a program";
        return {};
    }
    if (!options.tracing.mads.empty() && !options.tracing.file.empty() &&
        is_same_file(options.tracing.mads, options.tracing.file))
        return "--trace and --mads write different files: give each its own name";
    if (options.command.empty())
        return "which program? It stands after the options: rdmascope run --software -- rping -s";
    if (!options.software && !options.variables.empty())
        return "the software stack has options, but was not asked for: --software";
    return {};
}

}  // namespace

options::OptionTable<Options> option_table() {
    return options::OptionTable<Options>({.operands_end_options = true}).add(rows);
}

std::optional<options::UsageError> parse(const std::vector<std::string>& arguments, Options& out) {
    if (auto error = option_table().parse(arguments, out, out.command)) return error;
    if (out.help || out.version) return {};
    return options::usage_error_if(contradiction(out));
}

std::string help_text() {
    return options::help_page(
        "Usage: rdmascope run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
        "       rdmascope run [OPTION]... --attach PID\n\n"
        "Runs a program of libibverbs and librdmacm as it is, on the adapter that it has, and records what it does "
        "with\n"
        "its queue pairs: posts, completions, connections; of a program of libibumad the management datagrams. With\n"
        "--software it runs over the software iWARP stack: RDMA on any machine, without an adapter and without a "
        "driver.\n"
        "It sees one device, rdmascope0, and speaks with any iWARP peer; it is traced with --trace, --mads or "
        "--kernel-events.\n",
        option_table().options(),
        "\nExamples:\n"
        "  rdmascope run --trace trace -- ib_write_bw -R 192.0.2.1\n"
        "      ib_write_bw with its posts and completions in a file; flows -r CAPTURE --trace trace joins them with "
        "packets\n"
        "  rdmascope run --mads mads.pcapng -- saquery\n"
        "      which management datagrams saquery sent and received, for dump -r and Wireshark\n"
        "  rdmascope run --software -- rping -s -V\n"
        "      rping's server; in another terminal: rdmascope run --software -- rping -c -a 127.0.0.1 -C 5 -V\n"
        "  rdmascope run --software --crc off -- ib_write_bw -R 192.0.2.1\n"
        "      how fast Writes to 192.0.2.1 are, where rdmascope run --software -- ib_write_bw -R waits\n"
        "\nExit status: the program's own; 2 usage, 126 the program cannot be run so, 127 there is no such program.\n"
        "Manual: rdmascope-run(1).\n");
}

}  // namespace cli::run
