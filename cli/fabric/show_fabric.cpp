#include "cli/fabric/show_fabric.h"

#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "base/quantities.h"
#include "cli/console.h"
#include "cli/fabric/findings_page.h"
#include "cli/fabric/options.h"
#include "cli/fabric/subnet_page.h"
#include "cli/fabric/subnet_reader.h"
#include "fabric/discovery/trace_route.h"
#include "fabric/output/read_node_names.h"
#include "fabric/output/subnet_dot.h"
#include "fabric/output/subnet_json.h"

namespace cli::fabric {

namespace {

using ::fabric::NodeLabels;
using ::fabric::NodeNames;
using ::fabric::PortId;
using ::fabric::Subnet;
using ::fabric::findings::Finding;

int fail(const base::Error& error) {
    print_message("rdmascope fabric: {}", error.text());
    return exit_failed;
}

/// The subnet of the file, or of this machine.
base::Result<Subnet> read_subnet(const FabricOptions& options) {
    if (!options.read_path.empty()) return read_file(options.read_path);
    auto live = read_live(options);
    if (!live) return base::Failure{live.error()};
    return std::move(live->found.subnet);
}

/// The exit status, for scripts.
int status_of(const std::vector<Finding>& findings, const FabricOptions& options) {
    const auto worst = ::fabric::findings::worst_of(findings);
    return options.fail_on && worst && *worst >= *options.fail_on ? exit_found : exit_done;
}

int print_judged(const std::string& text, const std::vector<Finding>& findings, const FabricOptions& options) {
    const int printed = print(text);
    return printed != exit_done ? printed : status_of(findings, options);
}

int show(const FabricOptions& options, const NodeLabels& labels) {
    const auto subnet = read_subnet(options);
    if (!subnet) return fail(subnet.error());
    const std::vector<Finding> problems = ::fabric::findings::find_problems(*subnet);
    if (options.json) return print_judged(::fabric::output::subnet_json(*subnet, problems, labels), problems, options);
    if (options.dot) return print_judged(::fabric::output::subnet_dot(*subnet, labels), problems, options);
    if (options.list_counters) return print_judged(counters_page(*subnet, labels), problems, options);
    if (options.part == Part::why) return print_judged(findings_page(problems, *subnet, labels), problems, options);
    std::string page = subnet_page(*subnet, labels);
    if (!problems.empty())
        page +=
            fmt::format("\n{} found; \"rdmascope fabric why\" lists them.\n",
                        problems.size() == 1 ? std::string("1 problem") : fmt::format("{} problems", problems.size()));
    return print_judged(page, problems, options);
}

int compare(const FabricOptions& options, const NodeLabels& labels) {
    const auto before = read_file(options.operands.front());
    if (!before) return fail(before.error());
    const auto after = options.operands.size() == 2 ? read_file(options.operands.back()) : read_subnet(options);
    if (!after) return fail(after.error());
    const std::vector<Finding> changes = ::fabric::findings::find_changes(*before, *after);
    return print_judged(options.json ? ::fabric::output::changes_json(changes, *before, *after, labels)
                                     : changes_page(changes, *before, *after, labels),
                        changes, options);
}

/// An end of a route, and its LID if the user gave one: a port has several if its LMC is not 0.
struct RouteEnd {
    PortId port = {};
    std::optional<::fabric::Lid> lid = {};
};

/// A port that packets to a node may have as their end: its port with a link, one with a LID first.
std::optional<PortId> end_port_of(const ::fabric::Node& node) {
    if (node.type == ::fabric::NodeType::switch_node) return PortId{node.guid, 0};
    std::optional<PortId> linked;
    for (const ::fabric::Port& port : node.ports) {
        if (!port.peer) continue;
        if (port.lid) return PortId{node.guid, port.number};
        if (!linked) linked = PortId{node.guid, port.number};
    }
    return linked;
}

/// A name as the page shows it, a node's description, a GUID of node or port, or a LID.
base::Result<RouteEnd> find_end(const Subnet& subnet, const std::string& word, const NodeLabels& labels) {
    constexpr int hexadecimal = 16;
    const bool is_hex = word.starts_with("0x");
    std::uint64_t number = 0;
    const char* const end = word.data() + word.size();
    const auto [last, error] = std::from_chars(word.data() + (is_hex ? 2 : 0), end, number, is_hex ? hexadecimal : 10);
    const bool is_number = error == std::errc{} && last == end;
    std::vector<RouteEnd> found;
    for (const ::fabric::Node& node : subnet.nodes) {
        const auto whole = end_port_of(node);
        const bool is_named =
            labels.of(node) == word || node.description == word || (is_hex && is_number && node.guid == number);
        if (is_named && whole) found.push_back({*whole});
        if (is_named || !is_number) continue;
        for (const ::fabric::Port& port : node.ports) {
            const bool has_lid = !is_hex && port.lid && number >= *port.lid && number < *port.lid + (1U << port.lmc) &&
                                 (node.type != ::fabric::NodeType::switch_node || port.number == 0);
            const PortId id{node.guid, port.number};
            if (has_lid) found.push_back({id, static_cast<::fabric::Lid>(number)});
            if (is_hex && port.guid == number) found.push_back({id});
        }
    }
    if (found.size() == 1) return found.front();
    if (found.empty())
        return base::failure("no node of the subnet has this name, LID or GUID; \"rdmascope fabric\" lists them", word);
    return base::failure(fmt::format("{} nodes have this name; give a LID or a GUID", found.size()), word);
}

int route(const FabricOptions& options, const NodeLabels& labels) {
    auto live = read_live(options);
    if (!live) return fail(live.error());
    const Subnet& subnet = live->found.subnet;
    const auto from = find_end(subnet, options.operands[0], labels);
    if (!from) return fail(from.error());
    const auto to = find_end(subnet, options.operands[1], labels);
    if (!to) return fail(to.error());
    const auto traced = ::fabric::discovery::trace_route(*live->pool, live->found, from->port, to->port, to->lid);
    const int printed =
        print(options.json ? ::fabric::output::route_json(traced, subnet, labels) : route_page(subnet, traced, labels));
    if (printed != exit_done) return printed;
    return traced.broken.empty() ? exit_done : exit_failed;
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    FabricOptions options;
    const auto error = parse(arguments, options);
    if (const auto status = answered(environment, "fabric", error, options, help)) return *status;
    NodeNames names;
    if (!options.names_path.empty()) {
        auto read = ::fabric::output::read_node_names(options.names_path);
        if (!read) {
            print_errors("fabric", read.error());
            return exit_failed;
        }
        names = std::move(read).value();
    }
    const NodeLabels labels(std::move(names), options.names ? NodeLabels::Form::names : NodeLabels::Form::numbers);
    if (options.diff) return compare(options, labels);
    if (options.part == Part::route) return route(options, labels);
    return show(options, labels);
}

}  // namespace cli::fabric
