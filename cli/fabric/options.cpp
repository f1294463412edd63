#include "cli/fabric/options.h"

#include <array>
#include <fmt/format.h>
#include <utility>

#include "cli/fabric/show_fabric.h"
#include "cli/options/setters.h"

namespace cli::fabric {

namespace {

using options::Section;
using Row = options::Option<FabricOptions>;
using ::fabric::findings::Grade;

constexpr std::uint64_t most_parallel = 64;
constexpr std::uint64_t most_retries = 20;
/// The highest number of a port that libibumad accepts on an adapter.
constexpr std::uint64_t most_port = 9;

constexpr std::array grade_choices{
    std::pair<std::string_view, Grade>{"wrong", Grade::wrong},
    std::pair<std::string_view, Grade>{"minor", Grade::minor},
    std::pair<std::string_view, Grade>{"suspected", Grade::suspected},
};

constexpr std::array rows{
    Row{{0, "ca", "ADAPTER", "ask through this adapter (default: the first with an active InfiniBand port)"},
        Section::source,
        options::store_nonempty<"the name of an adapter, such as mlx5_0", &FabricOptions::adapter>},
    Row{{0, "port", "N", "ask through this port of the adapter"},
        Section::source,
        options::number<1, most_port, &FabricOptions::port>},
    Row{{'r', "read-file", "FILE", "ask nothing: read what --json wrote before"},
        Section::source,
        options::store_nonempty<"the name of a file", &FabricOptions::read_path>},
    Row{{0, "interval", "DURATION", "read the counters twice, with this time between, and show how they grow"},
        Section::measuring,
        options::duration<&FabricOptions::interval_ns>},
    Row{{0, "no-counters", {}, "read no counters: nodes, links and subnet managers alone"},
        Section::measuring,
        options::turn_off<&FabricOptions::read_counters>},
    Row{{0, "parallel", "N", "ask at most N questions at a time, 1 to 64 (default 4)"},
        Section::measuring,
        options::number<1, most_parallel, &FabricOptions::parallel>},
    Row{{0, "timeout", "DURATION", "wait this long for an answer (default 500ms)"},
        Section::measuring,
        options::duration<&FabricOptions::timeout_ns>},
    Row{{0, "retries", "N", "ask a question again up to N times if no answer comes (default 3)"},
        Section::measuring,
        options::number<0, most_retries, &FabricOptions::retries>},
    Row{{0, "diff", {}, "compare the file OLD with the file NEW, or with the subnet as it is now"},
        Section::printing,
        options::turn_on<&FabricOptions::diff>},
    Row{{0, "counters", {}, "list every counter that is not 0, one a line"},
        Section::printing,
        options::turn_on<&FabricOptions::list_counters>},
    Row{{0, "json", {}, "print one JSON object"}, Section::printing, options::turn_on<&FabricOptions::json>},
    Row{{0, "dot", {}, "print a graph for dot(1) of Graphviz"},
        Section::printing,
        options::turn_on<&FabricOptions::dot>},
    Row{{'n', {}, {}, "GUIDs instead of names"}, Section::printing, options::turn_off<&FabricOptions::names>},
    Row{{0, "node-names", "FILE", "names for GUIDs and LIDs, one a line: 0x0002c90300a1b2c3 \"spine 4\""},
        Section::printing,
        options::store_nonempty<"the name of a file", &FabricOptions::names_path>},
    Row{{0, "fail-on", "GRADE", "exit with 3 if a finding is wrong; minor or worse; suspected or worse"},
        Section::printing,
        options::choice<grade_choices, &FabricOptions::fail_on>},
    under(Section::printing, options::help<FabricOptions>),
    under(Section::printing, options::version<FabricOptions>),
};

std::string contradiction(const FabricOptions& options) {
    const bool is_list = options.part == Part::list;
    if (options.json && options.dot) return "--json and --dot are given: one or the other";
    if (options.dot && !is_list) return "--dot draws the whole subnet: give it without why and route";
    if (options.dot && options.diff) return "--diff prints a list or --json: leave out --dot";
    if (options.list_counters && (!is_list || options.json || options.dot || options.diff))
        return "--counters is a list of its own: give it alone";
    if (options.diff && options.part == Part::route) return "--diff compares subnets: give it without route";
    if (!options.read_counters && options.list_counters) return "--counters lists counters: leave out --no-counters";
    if (!options.read_counters && options.interval_ns != 0) return "--interval reads counters: leave out --no-counters";
    if (!options.read_path.empty() && options.interval_ns != 0)
        return "-r reads a file, which has its own interval: leave out --interval";
    if (!options.read_path.empty() && options.diff) return "--diff has the files after the options: leave out -r";
    if (!options.read_path.empty() && options.part == Part::route)
        return "a file has no forwarding tables: ask the subnet, without -r";
    return {};
}

std::string wrong_operands(const FabricOptions& options) {
    const std::size_t given = options.operands.size();
    if (options.diff)
        return given == 1 || given == 2 ? "" : "--diff needs one or two files that --json wrote: OLD [NEW]";
    if (options.part == Part::route)
        return given == 2 ? "" : "route needs two ends: FROM and TO, each a name, a LID or a GUID";
    if (given == 0) return {};
    return fmt::format("'{}' is no part of fabric: the parts are why and route", options.operands.front());
}

}  // namespace

options::OptionTable<FabricOptions> option_table() { return options::OptionTable<FabricOptions>().add(rows); }

std::optional<options::UsageError> parse(const std::vector<std::string>& arguments, FabricOptions& out) {
    std::vector<std::string> rest = arguments;
    if (!rest.empty() && (rest.front() == "why" || rest.front() == "route")) {
        out.part = rest.front() == "why" ? Part::why : Part::route;
        rest.erase(rest.begin());
    }
    if (auto error = option_table().parse(rest, out, out.operands)) return error;
    if (out.help || out.version) return {};
    if (auto error = options::usage_error_if(wrong_operands(out))) return error;
    return options::usage_error_if(contradiction(out));
}

std::string help() {
    constexpr std::string_view usage =
        "Usage: rdmascope fabric [OPTION]...\n"
        "       rdmascope fabric why [OPTION]...\n"
        "       rdmascope fabric route FROM TO [OPTION]...\n"
        "       rdmascope fabric --diff OLD.json [NEW.json] [OPTION]...\n\n"
        "Reads the InfiniBand subnet by management datagrams: nodes, links with their width and speed, LIDs, "
        "counters,\n"
        "subnet managers. why lists what is wrong, route the way of packets between two nodes. It asks only; it "
        "changes\nnothing.\n";
    return options::help_page(usage, option_table().options(),
                              "\nExit status: 0 done, 1 the work failed, 2 usage, 3 what --fail-on names was found.\n"
                              "Manual: rdmascope-fabric(1).\n");
}

std::vector<options::CommandOptions> option_lists() { return {{"fabric", option_table().options()}}; }

}  // namespace cli::fabric
