#include "cli/daemon/options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/core.h>

#include "cli/option_scan.h"

namespace cli::daemon {

namespace {

enum class Group : std::uint8_t { configuration, capturing, publishing, keeping, other };
using G = Group;

/// An option, and what it does to settings. `apply` returns what is wanted in place of the value.
struct Row {
    OptionText text;
    Group group;
    std::string (*apply)(DaemonOptions& options, const std::string& value);
};

std::string set(DaemonOptions& options, const char* key, const std::string& value) {
    service::Config scratch;
    std::string wanted = service::set_key(scratch, key, {value});
    if (wanted.empty()) options.settings.emplace_back(key, value);
    return wanted;
}

/// A person at a terminal may give a path of where they are; the file may not.
std::string set_path(DaemonOptions& options, const char* key, const std::string& value) {
    if (value.empty()) return "a path, or `off`,";
    if (value == "off") return set(options, key, "");
    std::error_code code;
    const std::filesystem::path path = std::filesystem::absolute(value, code).lexically_normal();
    return set(options, key, code ? value : path.string());
}

/// Of two actions the last counts, but nobody who asks for help starts a daemon.
std::string act(DaemonOptions& options, Action action) {
    if (options.action != Action::help && options.action != Action::version) options.action = action;
    return {};
}

constexpr std::array rows{
    Row{{0, "config", "FILE", "read FILE, as rdmascope.toml(5) has it; options go before what it says"},
        G::configuration,
        [](DaemonOptions& o, const std::string& v) {
            o.config_path = v;
            return std::string(v.empty() ? "a file" : "");
        }},
    Row{{0, "check", "", "say what is wrong with the configuration, and exit"},
        G::configuration,
        [](DaemonOptions& o, const std::string&) { return act(o, Action::check); }},
    Row{{0, "print-config", "", "print a complete file, every key with its default, and exit"},
        G::configuration,
        [](DaemonOptions& o, const std::string&) { return act(o, Action::print_config); }},

    Row{{'i', "interface", "IFACE",
         "capture on IFACE, on all that match a pattern (`en*`), or on `any` (the default); repeatable"},
        G::capturing,
        [](DaemonOptions& o, const std::string& v) {
            service::Config scratch;
            if (!service::set_key(scratch, "capture.interfaces", {v}).empty())
                return std::string("a name or a pattern such as eth0, en* or any");
            o.interfaces.push_back(v);
            return std::string{};
        }},
    Row{{'s', "snaplen", "OCTETS", "keep OCTETS of each frame (default 192: all headers); 0 keeps all"},
        G::capturing,
        [](DaemonOptions& o, const std::string& v) { return set(o, "capture.snaplen", v); }},

    Row{{0, "prometheus", "ADDR:PORT", "where Prometheus is answered (default 127.0.0.1:9879), or `off`"},
        G::publishing,
        [](DaemonOptions& o, const std::string& v) {
            if (!v.empty() && set(o, "prometheus.listen", v == "off" ? "" : v).empty()) return std::string{};
            return std::string("an address and a port such as 127.0.0.1:9879, [::1]:9879 or :9879, or `off`,");
        }},
    Row{{0, "socket", "PATH", "the socket of local clients (default /run/rdmascope/rdmascope.sock), or `off`"},
        G::publishing,
        [](DaemonOptions& o, const std::string& v) { return set_path(o, "control.socket", v); }},

    Row{{0, "history", "DIR", "keep history in DIR, or `off` (the default)"},
        G::keeping,
        [](DaemonOptions& o, const std::string& v) { return set_path(o, "history.directory", v); }},
    Row{{0, "record", "DIR", "save the flight recorder's files in DIR, or `off` (the default)"},
        G::keeping,
        [](DaemonOptions& o, const std::string& v) { return set_path(o, "recorder.directory", v); }},

    Row{{0, "foreground", "", "stay in the foreground, which is the default"},
        G::other,
        [](DaemonOptions&, const std::string&) { return std::string{}; }},
    Row{{0, "log-level", "LEVEL", "error, warning, info (the default) or debug"},
        G::other,
        [](DaemonOptions& o, const std::string& v) { return set(o, "log.level", v); }},
    Row{{'h', "help", "", "print this and exit"},
        G::other,
        [](DaemonOptions& o, const std::string&) { return act(o, Action::help); }},
    Row{{0, "version", "", "print the version and exit"},
        G::other,
        [](DaemonOptions& o, const std::string&) { return act(o, Action::version); }},
};

constexpr std::string_view heading(Group group) {
    switch (group) {
        case G::configuration: return "Configuration";
        case G::capturing: return "What is captured";
        case G::publishing: return "Who may ask";
        case G::keeping: return "What is kept";
        case G::other: return "Other";
    }
    return {};
}

void apply(const DaemonOptions& options, service::Config& config) {
    if (!options.interfaces.empty()) config.capture.interfaces = options.interfaces;
    // Each was good when it was read.
    for (const auto& [key, value] : options.settings) static_cast<void>(service::set_key(config, key, {value}));
}

}  // namespace

std::string parse_options(const std::vector<std::string>& arguments, DaemonOptions& out) {
    std::vector<OptionText> texts;
    for (const Row& row : rows) texts.push_back(row.text);
    OptionScanner scanner(texts, arguments);
    for (;;) {
        const OptionScanner::Found found = scanner.next();
        if (!found.error.empty()) return found.error;
        if (found.index < 0) break;
        const Row& row = rows[static_cast<std::size_t>(found.index)];
        const std::string wanted = row.apply(out, found.value);
        if (!wanted.empty())
            return fmt::format("{} {}: {} is wanted", spelling(row.text), found.value.empty() ? "''" : found.value,
                               wanted);
    }
    if (const std::string rest = scanner.rest(); !rest.empty() && out.action != Action::help)
        return fmt::format("'{}' is no option; what is captured is said by -i, and by capture.filter of the file",
                           rest);
    return {};
}

std::string help_text() {
    std::string out =
        "Usage: rdmascope daemon [--config FILE] [OPTION]...\n\n"
        "Captures RDMA traffic for as long as it runs: measures every flow, answers Prometheus and local clients,\n"
        "keeps history, and saves the packets around every incident. Logs to standard error; ready when it has\n"
        "printed `ready` there, and told systemd.\n";
    for (const Group group : {G::configuration, G::capturing, G::publishing, G::keeping, G::other}) {
        out += fmt::format("\n{}:\n", heading(group));
        for (const Row& row : rows)
            if (row.group == group) append_help(out, row.text);
    }
    return out +
           "\nSignals:\n"
           "  HUP                         read the configuration again, without losing a packet\n"
           "  USR1                        save what the flight recorder holds, and what follows\n"
           "  TERM, INT                   write what is held, and end\n"
           "\nExamples:\n"
           "  rdmascope daemon -i eth0\n"
           "      measure eth0, answer http://127.0.0.1:9879/metrics\n"
           "  rdmascope daemon --config /etc/rdmascope/rdmascope.toml --check\n"
           "      before `systemctl reload rdmascope`\n"
           "  rdmascope daemon -i 'en*' --history /var/lib/rdmascope/history --record /var/lib/rdmascope/recordings\n"
           "      remember, and save incidents\n"
           "\nExit status: 0 done, 1 the work failed, 2 usage. Manual: rdmascope-daemon(1), rdmascope.toml(5).\n";
}

wire::Result<service::Config, service::ConfigErrors> load_config(const DaemonOptions& options) {
    service::Config config;
    if (options.config_path) {
        auto read = service::read_config(*options.config_path);
        if (!read) return read;
        config = std::move(read).value();
    }
    apply(options, config);
    service::ConfigErrors wrong{service::contradictions(config)};
    if (!wrong.lines.empty()) return wire::Failure{std::move(wrong)};
    return config;
}

}  // namespace cli::daemon
