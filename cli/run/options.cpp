#include "cli/run/options.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstddef>
#include <fmt/core.h>

#include "cli/analysis/options.h"
#include "cli/option_table.h"
#include "text/quantities.h"

namespace cli::launch {

namespace {

/// An option sets a variable of the stack's environment, or does something here.
struct Row {
    OptionText text;
    const char* variable;
    std::string (*wanted)(const std::string& value);  ///< in place of the value; empty: it is understood
    void (*apply)(Options& options, const std::string& value);
};

std::string want_switch(const std::string& value) {
    bool on = false;
    return text::take_switch(value, on);
}

std::string want_address(const std::string& value) {
    std::array<std::byte, sizeof(in6_addr)> octets{};
    const bool numeric =
        inet_pton(AF_INET, value.c_str(), octets.data()) == 1 || inet_pton(AF_INET6, value.c_str(), octets.data()) == 1;
    return numeric ? "" : "an IPv4 or IPv6 address of this machine";
}

/// pid_t of Linux, /proc/sys/kernel/pid_max at most.
std::string want_process(const std::string& value) {
    int process = 0;
    return take_number(value, 1, 1 << 22, process);
}

std::string want_file(const std::string& value) { return value.empty() ? "a file to write to" : ""; }

std::pair<std::optional<std::vector<std::string>>, std::string> take_kernel_events(const std::string& value) {
    std::optional<std::vector<std::string>> events;
    std::string wanted = analysis::take_kernel_events(value, {}, events);
    return {std::move(events), std::move(wanted)};
}

std::string want_revision(const std::string& value) { return value == "1" || value == "2" ? "" : "1 or 2"; }

std::string want_ulpdu(const std::string& value) {
    std::uint32_t octets = 0;
    if (value == "0") return {};
    std::string wanted = take_number(value, 128, 64768, octets);
    return wanted.empty() ? wanted : "0 or " + wanted;
}

std::string want_patience(const std::string& value) {
    std::uint32_t ms = 0;
    return take_number(value, 0, 600'000, ms);
}

constexpr const char* address_variable = "RDMASCOPE_SOFTWARE_ADDRESS";

constexpr std::array rows{
    Row{{0, "software", "", "over the software iWARP stack, whatever hardware there is"},
        nullptr,
        nullptr,
        [](Options& o, const std::string&) { o.software = true; }},
    Row{{0, "trace", "FILE",
         "write what the program does with its queue pairs to FILE, for flows --trace and top --trace"},
        nullptr,
        want_file,
        [](Options& o, const std::string& value) {
            o.traced = true;
            o.tracing.file = value;
        }},
    Row{{0, "kernel-events", "[LIST]",
         "the kernel's trace events of RDMA too, of all of the machine: groups, or GROUP:EVENT, with commas between "
         "(default: all groups there are)"},
        nullptr,
        [](const std::string& value) { return take_kernel_events(value).second; },
        [](Options& o, const std::string& value) {
            o.traced = true;
            o.tracing.kernel_events = take_kernel_events(value).first;
        }},
    Row{{0, "attach", "PID", "trace a process that runs already, in place of a program, until SIGINT"},
        nullptr,
        want_process,
        [](Options& o, const std::string& value) { (void)take_number(value, 1, 1 << 22, o.process.emplace()); }},
    Row{{0, "summary", "on|off",
         "what each queue pair did, on standard error, when the program has ended (default on)"},
        nullptr,
        want_switch,
        [](Options& o, const std::string& value) { (void)text::take_switch(value, o.tracing.summary); }},
    Row{{0, "address", "ADDR",
         "an address of this machine that the device has; may be repeated (default: all of them)"},
        address_variable,
        want_address,
        nullptr},
    Row{{0, "crc", "on|off", "ask for the CRC of MPA (default on); it is used if either end asks"},
        "RDMASCOPE_SOFTWARE_CRC",
        want_switch,
        nullptr},
    Row{{0, "markers", "on|off", "ask for MPA markers in what is received (default off)"},
        "RDMASCOPE_SOFTWARE_MARKERS",
        want_switch,
        nullptr},
    Row{{0, "mpa-revision", "1|2", "MPA revision asked for, or at most answered (default 2)"},
        "RDMASCOPE_SOFTWARE_MPA_REVISION",
        want_revision,
        nullptr},
    Row{{0, "peer-to-peer", "on|off",
         "the initiator begins with a ready-to-receive message (RFC 6581), revision 2 only (default on)"},
        "RDMASCOPE_SOFTWARE_PEER_TO_PEER",
        want_switch,
        nullptr},
    Row{{0, "strict", "on|off",
         "data reach memory only after their CRC (RFC 5044); else as they come, which is faster (default off)"},
        "RDMASCOPE_SOFTWARE_STRICT",
        want_switch,
        nullptr},
    Row{{0, "max-ulpdu", "OCTETS", "longest ULPDU sent, 128 to 64768; 0: what fits a segment of the path (default 0)"},
        "RDMASCOPE_SOFTWARE_MAX_ULPDU",
        want_ulpdu,
        nullptr},
    Row{{0, "receive-patience", "MS",
         "how long a message waits for a receive before the connection is terminated, 0 to 600000 ms (default 5000)"},
        "RDMASCOPE_SOFTWARE_RECEIVE_PATIENCE",
        want_patience,
        nullptr},
    Row{{0, "verbose", "on|off", "say on standard error why connections failed or ended (default off)"},
        "RDMASCOPE_SOFTWARE_VERBOSE",
        want_switch,
        nullptr},
    Row{{'h', "help", "", "print this and exit"},
        nullptr,
        nullptr,
        [](Options& o, const std::string&) { o.help = true; }},
    Row{{0, "version", "", "print the version and exit"},
        nullptr,
        nullptr,
        [](Options& o, const std::string&) { o.version = true; }},
};

/// A repeated address joins a list; of the others the last one counts.
void set_variable(Options& out, const std::string& name, const std::string& value) {
    const auto known = std::ranges::find_if(out.variables, [&](const auto& one) { return one.first == name; });
    if (known == out.variables.end())
        out.variables.emplace_back(name, value);
    else
        known->second = name == address_variable ? known->second + "," + value : value;
}

}  // namespace

std::string parse(const std::vector<std::string>& arguments, Options& out) {
    std::vector<OptionText> texts;
    texts.reserve(rows.size());
    for (const Row& row : rows) texts.push_back(row.text);
    OptionScanner scanner(texts, arguments, nullptr, OptionScanner::Order::first);
    for (;;) {
        const OptionScanner::Found found = scanner.next();
        if (!found.error.empty()) return found.error;
        if (found.index < 0) break;
        const Row& row = rows[static_cast<std::size_t>(found.index)];
        if (row.wanted != nullptr)
            if (const std::string wanted = row.wanted(found.value); !wanted.empty())
                return fmt::format("{} '{}': {} is wanted", spelling(row.text), found.value, wanted);
        if (row.variable != nullptr)
            set_variable(out, row.variable, found.value);
        else
            row.apply(out, found.value);
    }
    out.command = scanner.words();
    if (out.help || out.version) return {};
    if (out.process) {
        if (!out.command.empty()) return fmt::format("either a program or --attach: '{}' is one", out.command.front());
        if (out.software) return "a process that runs already cannot be given another stack: --attach or --software";
        return {};
    }
    if (out.command.empty()) return "which program? It stands behind the options: rdmascope run --software -- rping -s";
    if (!out.software && !out.variables.empty())
        return "the software stack has options, but was not asked for: --software";
    return {};
}

std::string help_text() {
    std::string out =
        "Usage: rdmascope run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
        "       rdmascope run [OPTION]... --attach PID\n\n"
        "Runs a program of libibverbs and librdmacm as it is, on the adapter that it has, and records what it does "
        "with\n"
        "its queue pairs: posts, completions, connections. With --software it runs over the software iWARP stack: "
        "RDMA\n"
        "on any machine, without an adapter and without a driver. It sees one device, rdmascope0, and speaks with any\n"
        "iWARP peer; it is traced where --trace is said.\n\nOptions:\n";
    for (const Row& row : rows) append_help(out, row.text);
    out +=
        "\nExamples:\n"
        "  rdmascope run --trace trace -- ib_write_bw -R 192.0.2.1\n"
        "      ib_write_bw with its posts and completions in a file; flows -r CAPTURE --trace trace joins them with "
        "packets\n"
        "  rdmascope run --software -- rping -s -V\n"
        "      rping's server; in another terminal: rdmascope run --software -- rping -c -a 127.0.0.1 -C 5 -V\n"
        "  rdmascope run --software --crc off -- ib_write_bw -R 192.0.2.1\n"
        "      how fast Writes to 192.0.2.1 are, where rdmascope run --software -- ib_write_bw -R waits\n"
        "\nExit status: the program's own; 2 usage, 126 the program cannot be run so, 127 there is no such program.\n"
        "Manual: rdmascope-run(1).\n";
    return out;
}

}  // namespace cli::launch
