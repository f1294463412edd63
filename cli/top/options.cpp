#include "cli/top/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>

#include "base/quantities.h"
#include "base/similar.h"
#include "exporters/filter/flow_filter.h"
#include "exporters/flow_fields.h"
#include "tui/model/columns.h"
#include "tui/view/theme.h"

namespace cli::top {

namespace {

using options::Section;
using Row = options::Option<TopOptions>;

constexpr std::uint64_t least_interval_ns = 100'000'000;
constexpr std::uint64_t most_interval_ns = 10'000'000'000;
constexpr int most_screen_cells = 1000;  ///< in a row or a column

std::string take_speed(TopOptions& options, const std::string& value) {
    if (value == "max") {
        options.speed = 0;
        return {};
    }
    const char* const end = value.data() + value.size();
    double given = 0;
    const auto [rest, error] = std::from_chars(value.data(), end, given);
    const bool whole = error == std::errc{} && (rest == end || std::string_view(rest, end) == "x");
    if (!whole || !(given >= 0.001 && given <= 1'000'000)) return "a number from 0.001 to 1000000, or max,";
    options.speed = given;
    return {};
}

std::string take_size(TopOptions& options, const std::string& value) {
    const std::size_t times = std::min(value.find('x'), value.size());
    const auto take = [](std::string_view text, int& number) {
        const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        return error == std::errc{} && rest == text.data() + text.size() && number >= 1 && number <= most_screen_cells;
    };
    const std::string_view text(value);
    Size given;
    if (times == text.size() || !take(text.substr(0, times), given.width) ||
        !take(text.substr(times + 1), given.height))
        return "columns and rows, as in 132x43,";
    options.size = given;
    return {};
}

/// The views that need no flow to be chosen first.
constexpr std::array first_views{tui::View::flows,   tui::View::hosts,    tui::View::congestion, tui::View::events,
                                 tui::View::packets, tui::View::counters, tui::View::io,         tui::View::paths};

std::string take_view(TopOptions& options, const std::string& value) {
    std::vector<std::string_view> names;
    for (const tui::View view : first_views) {
        names.push_back(tui::name_of(view));
        if (names.back() != value) continue;
        options.view = view;
        return {};
    }
    return options::listed(names);
}

std::string take_theme(TopOptions& options, const std::string& value) {
    if (tui::find_theme(value) == nullptr) return options::listed({tui::theme_names.begin(), tui::theme_names.end()});
    options.theme = value;
    return {};
}

std::string take_columns(TopOptions& options, const std::string& value) {
    options::append_words(options.columns, value);
    return options.columns.empty() ? "a list such as flow,goodput,latency_p99," : "";
}

constexpr std::array own{
    Row{{0, "interval", "TIME", "new figures every TIME, from 100ms to 10s (default 1s)"},
        Section::measuring,
        [](TopOptions& o, const std::string& value) { return take_interval(value, o.interval_ns.emplace()); }},
    Row{{0, "speed", "N", "of a file or a history: N times as fast as it happened, or max (default 1)"},
        Section::measuring,
        take_speed},
    Row{{0, "paused", {}, "of a file or a history: stand still at the beginning"},
        Section::measuring,
        options::turn_on<&TopOptions::paused>},
    Row{{0, "view", "NAME",
         "begin with flows, hosts, congestion, events, packets, counters, io or paths (default flows)"},
        Section::printing,
        take_view},
    Row{{0, "filter", "TEXT", "only these flows: `cause` (a problem), a word, or 'goodput > 1Gbit && resent > 0'"},
        Section::printing,
        options::store<&TopOptions::filter>},
    Row{{0, "columns", "LIST", "these columns, with commas between; `help` lists them"},
        Section::printing,
        take_columns},
    options::sort<TopOptions>,
    Row{{0, "theme", "NAME", "colours: safe, classic, light or plain"}, Section::printing, take_theme},
    Row{{0, "no-color", {}, "no colours: bold and reverse alone; so does NO_COLOR"},
        Section::printing,
        options::turn_off<&TopOptions::color>},
    Row{{0, "ascii", {}, "plain ASCII, also where the terminal has UTF-8"},
        Section::printing,
        options::turn_on<&TopOptions::ascii>},
    Row{{0, "no-mouse", {}, "leave the mouse to the terminal, to mark and copy text"},
        Section::printing,
        options::turn_off<&TopOptions::mouse>},
    Row{{0, "once", {}, "print one picture as text and exit: after an interval, or of all of a file"},
        Section::printing,
        options::turn_on<&TopOptions::once>},
    Row{{0, "size", "COLSxROWS", "of the picture of --once (default: COLUMNS and LINES, or the terminal's)"},
        Section::printing,
        take_size},
};

std::string unknown_column(std::string_view option, std::string_view name) {
    std::vector<std::string_view> known = exporters::field_names();
    // `flows` takes a group for all of its columns; a table that is as wide as a terminal has them one by one.
    for (const std::string_view one : known)
        if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '.' && tui::column_named(one))
            return fmt::format("{} {}: a group of columns; one column is expected, such as {}", option, name, one);
    std::erase_if(known, [](std::string_view one) { return !tui::column_named(one); });
    for (const tui::Column& column : tui::usual_columns()) known.push_back(column.name);
    return fmt::format("{} {}: there is no such column{}; `rdmascope top --columns help` lists them", option, name,
                       base::did_you_mean(name, known));
}

std::string top_contradiction(const TopOptions& options) {
    for (const std::string& name : options.columns)
        if (!tui::column_named(name)) return unknown_column("--columns", name);
    if (!options.sort.empty()) {
        const std::string_view name = std::string_view(options.sort).substr(options.sort.front() == '-' ? 1 : 0);
        if (!tui::column_named(name)) return unknown_column("--sort", name);
    }
    if (const auto filter = exporters::filter::FlowFilter::compile(options.filter); !filter)
        return fmt::format("--filter {}: {}", options.filter, filter.error().text());
    if (!options.plays_back() && options.speed) return "--speed is of files (-r) and of a history (--from)";
    if (!options.plays_back() && options.paused) return "--paused is of files (-r) and of a history (--from)";
    if (options.paused && options.once) return "--paused and --once are given: a picture is of what was played";
    if (options.size && !options.once) return "--size is of --once: a screen is as large as its terminal";
    return {};
}

}  // namespace

std::string take_interval(const std::string& value, std::uint64_t& into) {
    std::uint64_t given = 0;
    if (!base::take_duration(value, given).empty() || given < least_interval_ns || given > most_interval_ns)
        return "a time from 100ms to 10s";
    into = given;
    return {};
}

std::optional<options::UsageError> parse_options(const std::vector<std::string>& arguments, TopOptions& out) {
    auto error = analysis::parse(arguments, option_table(), out);
    if (out.column_help()) return {};
    if (error || out.help || out.version) return error;
    return options::usage_error_if(top_contradiction(out));
}

options::OptionTable<TopOptions> option_table() {
    return options::OptionTable<TopOptions>().add(analysis::shared_options()).without("counters").add(own);
}

std::string help_text() {
    return options::help_page(
        "Usage: rdmascope top -i IFACE [OPTION]... [EXPRESSION]\n"
        "       rdmascope top [-r] FILE... [OPTION]... [EXPRESSION]\n"
        "       rdmascope top --connect [OPTION]...\n"
        "       rdmascope top [--history DIR] [--from TIME] [--to TIME] [OPTION]...\n\n"
        "The live screen: every queue pair's conversation as it goes, what is wrong with it, and why. Files and what "
        "a\n"
        "daemon recorded are played back on the same screen. Press ? there for all keys; what is chosen with them is "
        "kept\n"
        "for the next time, in ~/.config/rdmascope/top.toml.\n"
        "EXPRESSION is a pcap-filter(7) expression.\n",
        option_table().options(),
        "\nExamples:\n"
        "  rdmascope top -i eth0\n"
        "      what passes on an interface now\n"
        "  rdmascope top\n"
        "      what this machine's daemon sees\n"
        "  rdmascope top -r rdma.pcapng --speed 10\n"
        "      a capture, ten times as fast as it happened\n"
        "  rdmascope top --from -1h --filter 'resent > 0'\n"
        "      the last hour, and of it the flows that had to repeat something\n"
        "  rdmascope top -r rdma.pcapng --once --sort=latency_p99 --size 160x50\n"
        "      one picture, for a file or a mail\n"
        "\nExit status: 0 done, 1 the work failed, 2 usage. Manual: rdmascope-top(1).\n");
}

tui::Settings overridden(tui::Settings settings, const TopOptions& options) {
    if (!options.columns.empty()) settings.columns = options.columns;
    if (!options.sort.empty()) settings.sort = options.sort;
    if (!options.theme.empty()) settings.theme = options.theme;
    if (options.interval_ns) settings.interval_ns = *options.interval_ns;
    if (!options.names) settings.names = false;
    return settings;
}

}  // namespace cli::top
