#include "doctor/compare/compare.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>

#include "base/printable.h"
#include "base/shell_word.h"
#include "doctor/strings.h"

namespace doctor::inline compare {

namespace {

constexpr std::array compare_checks_table{
    Check{"compare.devices", "both have devices that can talk to each other", Severity::broken, "devices of both",
          nullptr},
    Check{"compare.mtu", "the MTU is the same", Severity::warning, "MTU of the network devices", nullptr},
    Check{"compare.gids", "both have GIDs of one type", Severity::broken, "types of the GIDs", nullptr},
    Check{"compare.roce_mode", "connections default to one RoCE mode", Severity::broken, "configfs, rdma_cm", nullptr},
    Check{"compare.flow_control", "PFC and trust are the same", Severity::warning, "qos/pfc, qos/trust", nullptr},
    Check{"compare.ecn", "ECN is on for the same priorities", Severity::warning, "ecn/roce_np, ecn/roce_rp", nullptr},
    Check{"compare.rate", "links are of one rate", Severity::note, "rate of the ports", nullptr},
    Check{"compare.firmware", "adapters have one firmware", Severity::note, "fw_ver of like adapters", nullptr},
    Check{"compare.stack", "both have one stack", Severity::note, "kernel, OFED, libibverbs", nullptr},
};

const Json& member(const Json& json, const char* name) {
    static const Json nothing;
    if (!json.is_object()) return nothing;
    const auto at = json.find(name);
    return at == json.end() ? nothing : *at;
}

std::string text(const Json& json, const char* name) {
    const Json& found = member(json, name);
    return found.is_string() ? base::printable(found.get_ref<const std::string&>().substr(0, 256)) : std::string{};
}

std::optional<std::uint64_t> number(const Json& json, const char* name) {
    const Json& found = member(json, name);
    return found.is_number_unsigned() ? std::optional(found.get<std::uint64_t>()) : std::nullopt;
}

/// Elements of an array; none of anything else.
std::vector<const Json*> elements(const Json& json) {
    std::vector<const Json*> found;
    constexpr std::size_t most = 4096;
    if (json.is_array())
        for (const Json& element : json)
            if (found.size() < most) found.push_back(&element);
    return found;
}

const Json& named(const Json& array, const std::string& name) {
    static const Json nothing;
    for (const Json* element : elements(array))
        if (text(*element, "name") == name) return *element;
    return nothing;
}

const Json& preferred_core(const Json& inventory) {
    static const Json nothing;
    for (const Json* library : elements(member(inventory, "libraries")))
        if (text(*library, "part") == "libibverbs" && member(*library, "preferred") == Json(true)) return *library;
    return nothing;
}

/// "RoCE", "iWARP", "InfiniBand"; empty if unknown.
std::string transport(const Json& device) {
    if (text(device, "node_type").starts_with('4')) return "iWARP";
    for (const Json* port : elements(member(device, "ports"))) {
        const std::string layer = text(*port, "link_layer");
        if (layer == "Ethernet") return "RoCE";
        if (!layer.empty()) return layer;
    }
    return {};
}

struct Pair {
    const Json* ours;
    const Json* theirs;
};

/// Devices of one name; else the first of one transport that no other has yet.
std::vector<Pair> pairs(const Json& ours, const Json& theirs) {
    const auto there = elements(member(theirs, "devices"));
    std::vector<Pair> found;
    std::set<const Json*> taken;
    const auto take = [&](const Json& device, auto fits) {
        for (const Json* other : there) {
            if (taken.contains(other) || transport(*other) != transport(device) || !fits(*other)) continue;
            taken.insert(other);
            found.push_back({&device, other});
            return true;
        }
        return false;
    };
    std::vector<const Json*> left;
    for (const Json* device : elements(member(ours, "devices")))
        if (!take(*device, [device](const Json& other) { return text(other, "name") == text(*device, "name"); }))
            left.push_back(device);
    for (const Json* device : left) static_cast<void>(take(*device, [](const Json&) { return true; }));
    return found;
}

std::set<std::string> gid_types(const Json& device) {
    std::set<std::string> types;
    for (const Json* port : elements(member(device, "ports")))
        for (const Json* gid : elements(member(*port, "gids")))
            if (std::string type = text(*gid, "type"); !type.empty()) types.insert(std::move(type));
    return types;
}

std::string of_first_port(const Json& device, const char* name) {
    const auto ports = elements(member(device, "ports"));
    return ports.empty() ? std::string{} : text(*ports.front(), name);
}

const Json& netdev_of(const Json& inventory, const Json& device) {
    static const Json nothing;
    const auto names = elements(member(device, "netdevs"));
    if (names.empty() || !names.front()->is_string()) return nothing;
    return named(member(inventory, "netdevs"), names.front()->get<std::string>());
}

class Comparison {
public:
    Comparison(const Json& ours, const Json& theirs)
        : ours_(ours),
          theirs_(theirs),
          here_(text(member(ours, "host"), "name")),
          there_(text(member(theirs, "host"), "name")) {
        if (there_.empty()) there_ = "the other host";
    }

    std::vector<Finding> run() {
        const auto found = pairs(ours_, theirs_);
        report_.begin("compare.devices");
        if (found.empty())
            report_.add(Severity::broken, {},
                        fmt::format("{} has {}, {} has {}", here_, devices(ours_), there_, devices(theirs_)),
                        "devices of one transport on both", "rdma link  # on both");
        report_.fine(fmt::format("{} pairs", found.size()));
        for (const Pair& pair : found) compare_pair(*pair.ours, *pair.theirs);
        stack();
        std::vector<Finding> findings = report_.take();
        sort_by_severity(findings);
        return findings;
    }

private:
    static std::string devices(const Json& inventory) {
        std::vector<std::string> names;
        for (const Json* device : elements(member(inventory, "devices")))
            names.push_back(fmt::format("{} ({})", text(*device, "name"), transport(*device)));
        return names.empty() ? "no RDMA device" : listed(names);
    }

    /// Says so where both are known and differ.
    void differ(Severity severity, const std::string& subject, std::string_view what, const std::string& ours,
                const std::string& theirs, std::string expected, std::string command) {
        if (ours.empty() || theirs.empty()) return;
        if (ours == theirs) return report_.fine(fmt::format("{} is {} on both", what, ours));
        report_.add(severity, subject, fmt::format("{}: {} has {}, {} has {}", what, here_, ours, there_, theirs),
                    std::move(expected), std::move(command));
    }

    void compare_pair(const Json& ours, const Json& theirs) {
        const std::string name = fmt::format("{} - {} of {}", text(ours, "name"), text(theirs, "name"), there_);
        const Json& our_net = netdev_of(ours_, ours);
        const Json& their_net = netdev_of(theirs_, theirs);
        const auto octets = [](const Json& net) {
            const auto mtu = number(net, "mtu");
            return mtu ? fmt::format("{}", *mtu) : std::string{};
        };
        const std::string netdev = text(our_net, "name").empty() ? "NETDEV" : text(our_net, "name");
        report_.begin("compare.mtu");
        differ(Severity::warning, name, "the MTU of the network devices", octets(our_net), octets(their_net),
               "the same on both: else large packets are lost, or queue pairs take the smaller one",
               fmt::format("ip link set {} mtu {}", netdev, octets(their_net)));
        if (transport(ours) == "RoCE") {
            roce(name, ours, theirs);
            lossless(name, netdev, our_net, their_net);
        }
        report_.begin("compare.rate");
        differ(Severity::note, name, "the rate", of_first_port(ours, "rate"), of_first_port(theirs, "rate"),
               "one rate: the faster one can drown the slower", "");
        if (!text(ours, "board").empty() && text(ours, "board") == text(theirs, "board")) {
            report_.begin("compare.firmware");
            differ(Severity::note, name, "the firmware of " + text(ours, "board"), text(ours, "firmware"),
                   text(theirs, "firmware"), "one version on like adapters", "mlxfwmanager --query");
        }
    }

    void roce(const std::string& name, const Json& ours, const Json& theirs) {
        const auto our_types = gid_types(ours), their_types = gid_types(theirs);
        std::vector<std::string> common;
        std::set_intersection(our_types.begin(), our_types.end(), their_types.begin(), their_types.end(),
                              std::back_inserter(common));
        report_.begin("compare.gids");
        if (!our_types.empty() && !their_types.empty() && common.empty())
            report_.add(
                Severity::broken, name,
                fmt::format("{} has GIDs of {} alone, {} of {}", here_, listed({our_types.begin(), our_types.end()}),
                            there_, listed({their_types.begin(), their_types.end()})),
                "RoCE v2 on both", "ibv_devinfo -v | grep GID  # on both");
        report_.fine("common: " + listed(common));
        report_.begin("compare.roce_mode");
        differ(Severity::broken, name, "the RoCE mode of the RDMA CM", of_first_port(ours, "default_roce_mode"),
               of_first_port(theirs, "default_roce_mode"), "RoCE v2 on both: else connections are not made",
               fmt::format("cma_roce_mode -d {} -p 1 -m 2  # on both", text(ours, "name")));
    }

    void lossless(const std::string& name, const std::string& netdev, const Json& ours, const Json& theirs) {
        report_.begin("compare.flow_control");
        differ(Severity::warning, name, "PFC by priority", text(ours, "pfc"), text(theirs, "pfc"),
               "the same on both hosts and on the switches", fmt::format("mlnx_qos -i {} --pfc ...", netdev));
        differ(Severity::warning, name, "what decides the priority (trust)", text(ours, "trust"), text(theirs, "trust"),
               "the same on both", fmt::format("mlnx_qos -i {} --trust dscp", netdev));
        report_.begin("compare.ecn");
        const Json& our_ecn = member(ours, "ecn");
        const Json& their_ecn = member(theirs, "ecn");
        for (const char* half : {"roce_np", "roce_rp"})
            for (unsigned priority = 0; priority < 8; ++priority) {
                const std::string setting = fmt::format("{}/enable/{}", half, priority);
                differ(Severity::warning, name, "ecn/" + setting, text(our_ecn, setting.c_str()),
                       text(their_ecn, setting.c_str()), "the same on both",
                       fmt::format("echo {} > /sys/class/net/{}/ecn/{}",
                                   base::shell_word(text(their_ecn, setting.c_str())), netdev, setting));
            }
    }

    void stack() {
        report_.begin("compare.stack");
        const Json& our_host = member(ours_, "host");
        const Json& their_host = member(theirs_, "host");
        differ(Severity::note, "kernel", "the kernel", text(our_host, "kernel"), text(their_host, "kernel"), {}, {});
        const auto ofed = [](const Json& host) { return text(host, "ofed").empty() ? "none" : text(host, "ofed"); };
        differ(Severity::note, "OFED", "the OFED", ofed(our_host), ofed(their_host), "one stack on both",
               "ofed_info -s  # on both");
        const Json& our_core = preferred_core(ours_);
        const Json& their_core = preferred_core(theirs_);
        differ(Severity::note, "libibverbs", "libibverbs", text(our_core, "package"), text(their_core, "package"),
               "one release, which makes what is seen on one host true of the other", "apt install libibverbs1");
    }

    const Json& ours_;
    const Json& theirs_;
    std::string here_, there_;
    Report report_ = {};
};

}  // namespace

std::span<const Check> compare_checks() { return compare_checks_table; }

base::Result<Json> parse_inventory(std::string_view text_of_file) {
    const auto failure = [](std::string message) { return base::Failure{base::Error{std::move(message)}}; };
    Json inventory = Json::parse(text_of_file, nullptr, false);
    if (inventory.is_discarded())
        return failure("it is not JSON; `rdmascope doctor --export FILE` on the other host writes the file");
    if (text(inventory, "format") != "rdmascope-doctor-inventory")
        return failure("it is no inventory; `rdmascope doctor --export FILE` on the other host writes one");
    if (number(inventory, "version") != 1)
        return failure("it is an inventory of another version of rdmascope; both hosts should have one version");
    return inventory;
}

std::vector<Finding> compare_inventories(const Json& ours, const Json& theirs) {
    return Comparison(ours, theirs).run();
}

}  // namespace doctor::compare
