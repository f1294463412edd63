#include "plugins/extcap/arguments.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>
#include <optional>
#include <string_view>

#include "base/option_parser.h"
#include "capture/files/file_source.h"
#include "control/client.h"

namespace plugins::extcap {
namespace {

using Fault = std::string;  ///< empty if there is no fault

using Value = base::OptionValue;

/// What an option asks for by itself, if no other call is given.
enum class Asks : std::uint8_t { nothing, filter_check, version };

struct Option {
    std::string_view name;
    Value value;
    Fault (*take)(Arguments&, const std::string& value);
    Asks asks = Asks::nothing;
};

Fault call(Arguments& arguments, Call wanted) {
    arguments.call = wanted;
    return {};
}

std::optional<std::uint32_t> number(std::string_view text, std::uint32_t most) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > most) return {};
    return value;
}

Fault take_flag(const std::string& value, bool& into) {
    if (value != "true" && value != "false") return "true or false";
    into = value == "true";
    return {};
}

Fault take_snaplen(Arguments& arguments, const std::string& value) {
    const auto octets = number(value, capture::max_snaplen);
    if (!octets) return fmt::format("a number of bytes from 0 (whole frames) to {}", capture::max_snaplen);
    arguments.snaplen = *octets;
    return {};
}

Fault take_ports(Arguments& arguments, const std::string& value) {
    constexpr const char* wanted = "TCP ports from 1 to 65535, separated by commas, such as 4420,5001";
    arguments.iwarp_ports.clear();
    for (std::size_t at = 0; !value.empty() && at <= value.size();) {
        const std::size_t end = std::min(value.find(',', at), value.size());
        std::string_view word = std::string_view(value).substr(at, end - at);
        while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
        while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
        const auto port = number(word, 65535);
        if (!port || *port == 0) return wanted;
        arguments.iwarp_ports.push_back(static_cast<std::uint16_t>(*port));
        at = end + 1;
    }
    return {};
}

Fault take_timestamps(Arguments& arguments, const std::string& value) {
    using capture::TimestampSource;
    if (value == "automatic")
        arguments.timestamps = TimestampSource::automatic;
    else if (value == "hardware")
        arguments.timestamps = TimestampSource::hardware;
    else if (value == "software")
        arguments.timestamps = TimestampSource::software;
    else
        return "automatic, hardware or software";
    return {};
}

Fault take_interface(Arguments& arguments, const std::string& value) {
    arguments.interface = value;
    if (value == daemon_name || value == recorder_name) {
        arguments.kind = value == daemon_name ? Kind::daemon : Kind::recorder;
        return {};
    }
    const std::string_view prefix = live_prefix;
    if (!value.starts_with(prefix) || value.size() == prefix.size()) return "an interface of --extcap-interfaces";
    arguments.kind = Kind::live;
    arguments.device = value.substr(prefix.size());
    return {};
}

template <std::string Arguments::*member>
Fault keep(Arguments& arguments, const std::string& value) {
    arguments.*member = value;
    return {};
}
Fault pass_over(Arguments&, const std::string&) { return {}; }

constexpr std::array options{
    Option{"help", Value::none, [](Arguments& a, const std::string&) { return call(a, Call::help); }},
    Option{"version", Value::none, [](Arguments& a, const std::string&) { return call(a, Call::version); }},
    // With a value, Wireshark states its own version.
    Option{"extcap-version", Value::optional, pass_over, Asks::version},
    Option{"extcap-interfaces", Value::none,
           [](Arguments& a, const std::string&) { return call(a, Call::interfaces); }},
    Option{"extcap-dlts", Value::none, [](Arguments& a, const std::string&) { return call(a, Call::dlts); }},
    Option{"extcap-config", Value::none, [](Arguments& a, const std::string&) { return call(a, Call::config); }},
    Option{"capture", Value::none, [](Arguments& a, const std::string&) { return call(a, Call::capture); }},
    Option{"extcap-interface", Value::required, take_interface},
    Option{"extcap-reload-option", Value::required, keep<&Arguments::reload>},
    Option{"extcap-capture-filter", Value::required, keep<&Arguments::filter>, Asks::filter_check},
    Option{"extcap-control-in", Value::required, pass_over},
    Option{"extcap-control-out", Value::required, pass_over},
    Option{"fifo", Value::required, keep<&Arguments::fifo>},
    Option{"headers-only", Value::optional,
           [](Arguments& a, const std::string& value) {
               return take_flag(value.empty() ? "true" : value, a.headers_only);
           }},
    Option{"snaplen", Value::required, take_snaplen},
    Option{"iwarp-ports", Value::required, take_ports},
    Option{"promiscuous", Value::required,
           [](Arguments& a, const std::string& value) { return take_flag(value, a.promiscuous); }},
    Option{"timestamps", Value::required, take_timestamps},
    Option{"socket", Value::required, keep<&Arguments::socket>},
};

std::vector<base::OptionSyntax> syntax() {
    std::vector<base::OptionSyntax> all;
    for (const Option& option : options)
        all.push_back({option.name == "help" ? 'h' : '\0', option.name, option.value, {}});
    return all;
}

Fault unknown(const std::string& message) { return message + "; --help lists those that there are"; }

/// What a call needs in addition to itself.
Fault incomplete(const Arguments& arguments, bool filter_given) {
    const Call call = arguments.call;
    const bool of_one = call == Call::dlts || call == Call::config || call == Call::capture || filter_given;
    if (of_one && arguments.interface.empty()) return "--extcap-interface is needed: which one?";
    if (call == Call::capture && arguments.fifo.empty()) return "--fifo is needed: where shall the frames go?";
    return {};
}

}  // namespace

base::Result<Arguments, std::string> parse(const std::vector<std::string>& words) {
    Arguments arguments;
    arguments.socket = control::default_socket;
    bool filter_given = false;
    bool version_asked = false;
    base::OptionParser parser(syntax(), words, {.abbreviations = false});
    for (auto step = parser.next(); step.found || step.error; step = parser.next()) {
        if (step.error) return base::Failure{step.error->unknown ? unknown(step.error->message) : step.error->message};
        const Option& option = options[step.found->index];
        const std::string& value = step.found->value;
        if (const Fault wanted = option.take(arguments, value); !wanted.empty())
            return base::Failure{fmt::format("--{} {}: {} is expected", option.name, value, wanted)};
        filter_given = filter_given || option.asks == Asks::filter_check;
        version_asked = version_asked || (option.asks == Asks::version && value.empty());
    }
    if (!parser.operands().empty())
        return base::Failure{unknown(fmt::format("there is no option {}", parser.operands().front()))};
    if (arguments.call == Call::help && filter_given) arguments.call = Call::check_filter;
    if (arguments.call == Call::help && version_asked) arguments.call = Call::version;
    if (Fault fault = incomplete(arguments, filter_given); !fault.empty()) return base::Failure{std::move(fault)};
    return arguments;
}

std::string fifo_of(const std::vector<std::string>& words) {
    constexpr std::string_view name = "--fifo";
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == name && i + 1 < words.size()) return words[i + 1];
        if (words[i].starts_with(name) && words[i][name.size()] == '=') return words[i].substr(name.size() + 1);
    }
    return {};
}

}  // namespace plugins::extcap
