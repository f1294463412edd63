#include "cli/daemon/options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/core.h>

#include "cli/options/setters.h"
#include "cli/options/shared.h"

namespace cli::daemon {

namespace {

using options::Section;
using Row = options::Option<DaemonOptions>;

std::string set(DaemonOptions& options, const char* key, const std::string& value) {
    service::Config scratch;
    if (const auto accepted = service::set_key(scratch, key, {value}); !accepted) return accepted.error().text();
    options.settings.emplace_back(key, value);
    return {};
}

/// The command line may have a path relative to the present folder; the file may not.
std::string set_path(DaemonOptions& options, const char* key, const std::string& value) {
    if (value.empty()) return "a path, or `off`,";
    if (value == "off") return set(options, key, "");
    std::error_code code;
    const std::filesystem::path path = std::filesystem::absolute(value, code).lexically_normal();
    return set(options, key, code ? value : path.string());
}

template <options::Words Key>
std::string take_setting(DaemonOptions& options, const std::string& value) {
    return set(options, Key.text, value);
}

template <options::Words Key>
std::string take_path(DaemonOptions& options, const std::string& value) {
    return set_path(options, Key.text, value);
}

/// The last of two actions counts. A command line that asks for help never starts a daemon.
template <Action action>
std::string choose(DaemonOptions& options, const std::string& /*value*/) {
    if (options.action != Action::help && options.action != Action::version) options.action = action;
    return {};
}

std::string take_interface(DaemonOptions& options, const std::string& value) {
    service::Config scratch;
    if (!service::set_key(scratch, "capture.interfaces", {value}))
        return "a name or a pattern such as eth0, en* or any";
    options.interfaces.push_back(value);
    return {};
}

std::string take_listener(DaemonOptions& options, const std::string& value) {
    if (!value.empty() && set(options, "prometheus.listen", value == "off" ? "" : value).empty()) return {};
    return "an address and a port such as 127.0.0.1:14791, [::1]:14791 or :14791, or `off`,";
}

std::string take_trigger(DaemonOptions& options, const std::string& value) {
    if (value.empty() || value.find('\n') != std::string::npos) return "a reason of one line, for the recording,";
    options.reason = value;
    options.action = Action::trigger;
    return {};
}

constexpr std::array rows{
    Row{{0, "config", "FILE", "read FILE, as rdmascope.toml(5) has it; options go before what it says"},
        Section::configuration,
        options::store_nonempty<"a file", &DaemonOptions::config_path>},
    Row{{0, "check", {}, "say what is wrong with the configuration, and exit"},
        Section::configuration,
        choose<Action::check>},
    Row{{0, "print-config", {}, "print a complete file, every key with its default, and exit"},
        Section::configuration,
        choose<Action::print_config>},

    Row{{0, "status", {}, "ask the daemon that runs how it is: interfaces, losses, memory, history, recordings"},
        Section::work,
        choose<Action::status>},
    Row{{0, "trigger", "REASON", "have the daemon that runs save what its flight recorder holds, and what follows"},
        Section::work,
        take_trigger},
    Row{{0, "reload", {}, "have the daemon that runs read its configuration again, as SIGHUP does"},
        Section::work,
        choose<Action::reload>},
    Row{{0, "json", {}, "print the answer of --status, --trigger or --reload as JSON"},
        Section::work,
        options::turn_on<&DaemonOptions::json>},

    Row{{'i', "interface", "IFACE",
         "capture on IFACE, on all that match a pattern (`en*`), or on `any` (the default); repeatable"},
        Section::capturing,
        take_interface},
    Row{{'s', "snaplen", "BYTES", "keep BYTES of each frame (default 192: all headers); 0 keeps all"},
        Section::capturing,
        take_setting<"capture.snaplen">},

    Row{{0, "prometheus", "ADDR:PORT", "where Prometheus is answered (default 127.0.0.1:14791), or `off`"},
        Section::publishing,
        take_listener},
    Row{{0, "socket", "PATH", "the socket of local clients (default /run/rdmascope/rdmascope.sock), or `off`"},
        Section::publishing,
        take_path<"control.socket">},

    Row{{0, "history", "DIR", "keep history in DIR, or `off` (the default)"},
        Section::keeping,
        take_path<"history.directory">},
    Row{{0, "record", "DIR", "save the flight recorder's files in DIR, or `off` (the default)"},
        Section::keeping,
        take_path<"recorder.directory">},

    Row{{0, "foreground", {}, "stay in the foreground, which is the default"},
        Section::other,
        [](DaemonOptions&, const std::string&) { return std::string{}; }},
    Row{{0, "log-level", "LEVEL", "error, warning, info (the default) or debug"},
        Section::other,
        take_setting<"log.level">},
    Row{options::help_text, Section::other, choose<Action::help>},
    Row{options::version_text, Section::other, choose<Action::version>},
};

void apply(const DaemonOptions& options, service::Config& config) {
    if (!options.interfaces.empty()) config.capture.interfaces = options.interfaces;
    // Each value was valid when it was read.
    for (const auto& [key, value] : options.settings) static_cast<void>(service::set_key(config, key, {value}));
}

}  // namespace

options::OptionTable<DaemonOptions> option_table() { return options::OptionTable<DaemonOptions>().add(rows); }

std::optional<options::UsageError> parse_options(const std::vector<std::string>& arguments, DaemonOptions& out) {
    std::vector<std::string> words;
    if (auto error = option_table().parse(arguments, out, words)) return error;
    if (!words.empty() && out.action != Action::help)
        return options::UsageError{
            fmt::format("'{}' is no option; what is captured is said by -i, and by capture.filter of the file",
                        options::joined(words))};
    const bool asks = out.action == Action::status || out.action == Action::trigger || out.action == Action::reload;
    if (out.json && !asks) return options::UsageError{"--json is of --status, --trigger and --reload"};
    return {};
}

std::string help_text() {
    return options::help_page(
        "Usage: rdmascope daemon [--config FILE] [OPTION]...\n"
        "       rdmascope daemon --status | --trigger REASON | --reload [--socket PATH] [--json]\n\n"
        "Captures RDMA traffic for as long as it runs: measures every flow, answers Prometheus and local clients,\n"
        "keeps history, and saves the packets around every incident. Logs to standard error; ready when it has\n"
        "printed `ready` there, and told systemd.\n",
        option_table().options(),
        "\nSignals:\n"
        "  HUP                         read the configuration again, without losing a packet\n"
        "  USR1                        save what the flight recorder holds, and what follows\n"
        "  TERM, INT                   write what is held, and end\n"
        "\nExamples:\n"
        "  rdmascope daemon -i eth0\n"
        "      measure eth0, answer http://127.0.0.1:14791/metrics\n"
        "  rdmascope daemon --config /etc/rdmascope/rdmascope.toml --check\n"
        "      before `systemctl reload rdmascope`\n"
        "  rdmascope daemon --trigger 'it is slow now'\n"
        "      save the packets of the last moments and of the next\n"
        "  rdmascope daemon -i 'en*' --history /var/lib/rdmascope/history --record /var/lib/rdmascope/recordings\n"
        "      remember, and save incidents\n"
        "\nExit status: 0 done, 1 the work failed, 2 usage. Manual: rdmascope-daemon(1), rdmascope.toml(5).\n");
}

base::Result<service::Config, service::ConfigErrors> load_config(const DaemonOptions& options) {
    service::Config config;
    if (options.config_path) {
        auto read = service::read_config(*options.config_path);
        if (!read) return read;
        config = std::move(read).value();
    }
    apply(options, config);
    service::ConfigErrors wrong{service::contradictions(config)};
    if (!wrong.lines.empty()) return base::Failure{std::move(wrong)};
    return config;
}

}  // namespace cli::daemon
