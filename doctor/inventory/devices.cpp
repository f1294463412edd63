#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <set>

#include "base/ascii.h"
#include "doctor/inventory/readers.h"
#include "doctor/strings.h"

namespace doctor::inline inventory {

namespace {

constexpr std::size_t most_gids = 1024;
constexpr std::size_t most_devices = 1024;

/// "4: ACTIVE" -> "ACTIVE".
std::string behind_colon(const std::string& text) {
    const std::size_t colon = text.find(':');
    return colon == std::string::npos ? text : std::string(base::trimmed(std::string_view(text).substr(colon + 1)));
}

/// Neither all zeros nor the empty link-local one.
bool is_used(std::string_view gid) {
    if (gid.starts_with("fe80:")) gid.remove_prefix(5);
    return gid.find_first_not_of("0:") != std::string_view::npos;
}

std::vector<Gid> look_at_gids(const Root& root, const std::string& port) {
    std::vector<Gid> gids;
    for (const std::string& name : root.list(port / "gids")) {
        const auto index = number_in(name);
        const auto value = root.line(port / "gids" / name);
        if (!index || !value || !is_used(*value) || gids.size() >= most_gids) continue;
        gids.push_back({static_cast<std::uint32_t>(*index), *value,
                        root.line(port / "gid_attrs/types" / name).value_or(""),
                        root.line(port / "gid_attrs/ndevs" / name).value_or("")});
    }
    std::sort(gids.begin(), gids.end(), [](const Gid& a, const Gid& b) { return a.index < b.index; });
    return gids;
}

Port look_at_port(const Root& root, const std::string& device, const std::string& name) {
    const std::string folder = "/sys/class/infiniband/" + device + "/ports/" + name;
    Port port;
    port.number = static_cast<std::uint32_t>(number_in(name).value_or(0));
    port.state = behind_colon(root.line(folder / "state").value_or(""));
    port.physical = behind_colon(root.line(folder / "phys_state").value_or(""));
    port.link_layer = root.line(folder / "link_layer").value_or("");
    port.rate = root.line(folder / "rate").value_or("");
    port.default_mode =
        root.line("/sys/kernel/config/rdma_cm/" + device + "/ports/" + name + "/default_roce_mode").value_or("");
    port.gids = look_at_gids(root, folder);
    port.hardware_counters = root.list(folder / "hw_counters").size() + root.list(folder / "counters").size();
    return port;
}

/// The name of the driver; of software devices, which have none in sysfs, as far as it is known.
std::string kernel_driver(const Root& root, const std::string& folder, const Device& device) {
    if (const auto driver = root.link_name(folder / "device/driver")) return *driver;
    if (device.name.starts_with("siw") || device.name.starts_with("rxe")) return device.name.substr(0, 3);
    if (root.resolve(folder).find("/virtual/") == std::string::npos) return {};
    return device.is_iwarp() ? "siw" : "rxe";
}

/// siw's GID begins with the hardware address of its network device (siw_verbs.c, siw_query_gid).
std::string siw_netdev(const Root& root, const std::vector<Port>& ports) {
    if (ports.empty() || ports.front().gids.empty()) return {};
    std::string digits;
    for (const char c : ports.front().gids.front().value)
        if (c != ':') digits += c;
    digits.resize(12);
    for (const std::string& name : root.list("/sys/class/net")) {
        std::string address;
        for (const char c : root.line("/sys/class/net/" + name + "/address").value_or(""))
            if (c != ':') address += c;
        if (address == digits) return name;
    }
    return {};
}

std::vector<std::string> netdevs_of(const Root& root, const std::string& folder, const Device& device) {
    std::set<std::string> names;
    for (const Port& port : device.ports)
        for (const Gid& gid : port.gids)
            if (!gid.netdev.empty()) names.insert(gid.netdev);
    if (const auto parent = root.line(folder / "parent"); parent && !parent->empty()) names.insert(*parent);
    // A function may have network devices of its own; an InfiniBand one has IPoIB's, which carry no verbs.
    const bool ethernet =
        std::any_of(device.ports.begin(), device.ports.end(), [](const Port& p) { return p.link_layer == "Ethernet"; });
    if (names.empty() && ethernet)
        for (const std::string& name : root.list(folder / "device/net")) names.insert(name);
    if (names.empty() && device.kernel_driver == "siw")
        if (const std::string name = siw_netdev(root, device.ports); !name.empty()) names.insert(name);
    return {names.begin(), names.end()};
}

/// uverbsN by the RDMA device that it belongs to.
std::map<std::string, std::string> verbs_files(const Root& root) {
    std::map<std::string, std::string> files;
    for (const std::string& name : root.list("/sys/class/infiniband_verbs"))
        if (const auto device = root.line("/sys/class/infiniband_verbs/" + name + "/ibdev")) files[*device] = name;
    return files;
}

void read_settings(const Root& root, const std::string& folder, NetDevice& device) {
    for (const char* half : {"roce_np", "roce_rp"})
        for (const std::string& priority : root.list(folder / "ecn" / half / "enable"))
            if (const auto value = root.line(folder / "ecn" / half / "enable" / priority))
                device.ecn[std::string(half) + "/enable/" + priority] = *value;
    device.trust = root.line(folder / "qos/trust").value_or("");
    device.pfc = root.line(folder / "qos/pfc").value_or("");
}

}  // namespace

std::vector<Device> look_at_devices(const Root& root) {
    std::vector<Device> devices;
    const auto verbs = verbs_files(root);
    for (const std::string& name : root.list("/sys/class/infiniband")) {
        if (devices.size() >= most_devices) break;
        const std::string folder = "/sys/class/infiniband/" + name;
        Device device;
        device.name = name;
        device.node_type = root.line(folder / "node_type").value_or("");
        device.firmware = root.line(folder / "fw_ver").value_or("");
        device.board = root.line(folder / "board_id").value_or("");
        device.kernel_driver = kernel_driver(root, folder, device);
        device.provider = provider_of(device.kernel_driver);
        for (const std::string& port : root.list(folder / "ports"))
            device.ports.push_back(look_at_port(root, name, port));
        if (const auto at = verbs.find(name); at != verbs.end()) {
            device.uverbs = at->second;
            device.abi = root.number("/sys/class/infiniband_verbs/" + at->second + "/abi_version");
            device.node = root.status("/dev/infiniband/" + at->second);
        }
        device.netdevs = netdevs_of(root, folder, device);
        devices.push_back(std::move(device));
    }
    return devices;
}

std::vector<NetDevice> look_at_netdevs(const Root& root, const std::vector<Device>& devices) {
    std::set<std::string> names;
    for (const Device& device : devices) names.insert(device.netdevs.begin(), device.netdevs.end());
    std::vector<NetDevice> found;
    for (const std::string& name : names) {
        const std::string folder = "/sys/class/net/" + name;
        if (!root.has(folder)) continue;
        NetDevice device;
        device.name = name;
        device.mtu = root.number(folder / "mtu");
        device.state = root.line(folder / "operstate").value_or("");
        // -1 where the link is down
        device.speed_mbit = root.number(folder / "speed");
        device.driver = root.link_name(folder / "device/driver").value_or("");
        read_settings(root, folder, device);
        found.push_back(std::move(device));
    }
    return found;
}

}  // namespace doctor::inventory
