#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "base/quantities.h"
#include "doctor/checks/check.h"
#include "doctor/strings.h"

namespace doctor::inline checks {

namespace {

bool is_roce(const Device& device) {
    return !device.is_iwarp() && std::any_of(device.ports.begin(), device.ports.end(),
                                             [](const Port& port) { return port.link_layer == "Ethernet"; });
}

/// Each network device below a RoCE device, once.
template <class Use>
void for_each_roce_netdev(const Inventory& machine, Use use) {
    std::set<std::string_view> done;
    for (const Device& device : machine.devices) {
        if (!is_roce(device)) continue;
        for (const std::string& name : device.netdevs)
            if (const NetDevice* netdev = machine.netdev(name); netdev != nullptr && done.insert(name).second)
                use(device, *netdev);
    }
}

bool is_virtual(const NetDevice& netdev) { return netdev.driver.empty(); }

}  // namespace

unsigned roce_mtu(std::uint64_t netdev_mtu) {
    // GRH 40, UDP 8, BTH 12, XRC 4, atomic 28, ICRC 4.
    constexpr std::uint64_t headers = 96;
    for (const unsigned mtu : {4096u, 2048u, 1024u, 512u, 256u})
        if (netdev_mtu >= mtu + headers) return mtu;
    return 0;
}

void check_netdevs(const Inventory& machine, Report& report) {
    for (const Device& device : machine.devices) {
        const bool ethernet = is_roce(device) || device.is_iwarp();
        if (ethernet && device.netdevs.empty())
            report.add(Severity::unseen, device.name, "which network device it lies on is not to be seen in sysfs", {},
                       "rdma link");
        for (const std::string& name : device.netdevs) {
            const NetDevice* netdev = machine.netdev(name);
            if (netdev == nullptr)
                report.add(
                    Severity::note, device.name,
                    fmt::format("its network device {} is not here: it may be in another network namespace", name), {},
                    "rdma system; ip -all netns exec ip link");
            else if (netdev->state != "up" && netdev->state != "unknown")
                report.add(Severity::warning, name, fmt::format("it is {}; {} lies on it", netdev->state, device.name),
                           "up", fmt::format("ip link set {} up", name));
        }
    }
    report.fine_devices(machine, "they are up");
}

void check_mtu(const Inventory& machine, Report& report) {
    for_each_roce_netdev(machine, [&](const Device& device, const NetDevice& netdev) {
        if (!netdev.mtu) return;
        const unsigned mtu = roce_mtu(*netdev.mtu);
        if (mtu == 0)
            report.add(Severity::warning, netdev.name,
                       fmt::format("its MTU of {} is too small for RoCE; {} lies on it", *netdev.mtu, device.name),
                       "1500 at least", fmt::format("ip link set {} mtu 1500", netdev.name));
        else if (mtu < 4096)
            // Payload and the 82 bytes of Ethernet, IPv4, UDP, BTH, ICRC, FCS, preamble and gap.
            report.add(Severity::note, netdev.name,
                       fmt::format("its MTU of {} leaves {} an MTU of {}: at most {} of the wire is payload",
                                   *netdev.mtu, device.name, mtu, base::format_percent(mtu / (mtu + 82.0))),
                       "4200, for packets of 4096 (98 %), on both hosts and all switches between them",
                       fmt::format("ip link set {} mtu 4200", netdev.name));
    });
    report.fine_devices(machine, "packets of 4096 bytes fit");
}

void check_gids(const Inventory& machine, Report& report) {
    for (const Device& device : machine.devices) {
        if (!is_roce(device)) continue;
        for (const Port& port : device.ports) {
            const std::string name = fmt::format("{} port {}", device.name, port.number);
            const bool typed =
                std::any_of(port.gids.begin(), port.gids.end(), [](const Gid& g) { return !g.type.empty(); });
            const bool second =
                std::any_of(port.gids.begin(), port.gids.end(), [](const Gid& g) { return g.type == "RoCE v2"; });
            const bool routed = std::any_of(port.gids.begin(), port.gids.end(), [](const Gid& g) {
                return g.type == "RoCE v2" && !g.value.starts_with("fe80:");
            });
            const std::string netdev = device.netdevs.empty() ? std::string("NETDEV") : device.netdevs.front();
            if (port.gids.empty())
                report.add(Severity::warning, name, "it has no GID: no host can reach it",
                           "one for each address of its network device",
                           fmt::format("ip addr add ADDRESS/PREFIX dev {}", netdev));
            else if (typed && !second)
                report.add(Severity::warning, name,
                           "it has GIDs of RoCE v1 alone, which no router and few switches pass", "GIDs of RoCE v2",
                           "cma_roce_mode -d " + device.name + " -p " + std::to_string(port.number));
            else if (second && !routed)
                report.add(Severity::note, name,
                           "its RoCE v2 GIDs are link-local: its network device has no IP address",
                           "one for an address of its network device",
                           fmt::format("ip addr add ADDRESS/PREFIX dev {}", netdev));
        }
    }
    report.fine_devices(machine, "there are GIDs of RoCE v2");
}

void check_roce_mode(const Inventory& machine, Report& report) {
    for (const Device& device : machine.devices)
        for (const Port& port : device.ports) {
            const std::string command = fmt::format("cma_roce_mode -d {} -p {} -m 2", device.name, port.number);
            if (!is_roce(device)) continue;
            if (port.default_mode.empty())
                report.add(Severity::unseen, fmt::format("{} port {}", device.name, port.number),
                           "the RoCE mode that the RDMA CM takes is in configfs, where it shows once it is asked for",
                           {}, fmt::format("cma_roce_mode -d {} -p {}", device.name, port.number));
            else if (port.default_mode != "RoCE v2")
                report.add(Severity::warning, fmt::format("{} port {}", device.name, port.number),
                           fmt::format("connections by the RDMA CM use {}", port.default_mode),
                           "RoCE v2, on both hosts", command);
        }
    report.fine_devices(machine, "RoCE v2, or no RoCE");
}

void check_flow_control(const Inventory& machine, Report& report) {
    for_each_roce_netdev(machine, [&](const Device& device, const NetDevice& netdev) {
        if (is_virtual(netdev)) return;
        if (netdev.trust.empty() && netdev.pfc.empty())
            return report.add(
                Severity::unseen, netdev.name,
                "its driver does not show in sysfs which priorities have PFC, and whether DSCP or PCP decides", {},
                fmt::format("dcb pfc show dev {0}; dcb app show dev {0}  # or: mlnx_qos -i {0}", netdev.name));
        const bool some = netdev.pfc.find('1') != std::string::npos;
        if (!netdev.pfc.empty() && !some)
            report.add(Severity::note, netdev.name,
                       fmt::format("no priority has PFC: {} loses packets where the network is congested", device.name),
                       "PFC on the priority of RDMA, or an adapter and fabric for lossy RoCE",
                       fmt::format("mlnx_qos -i {} --trust dscp --pfc 0,0,0,1,0,0,0,0", netdev.name));
        if (some && netdev.trust == "pcp")
            report.add(Severity::note, netdev.name,
                       "PFC is on, and priorities are taken from the VLAN tag (pcp): routed and untagged packets have "
                       "priority 0",
                       "trust dscp, where packets are routed or have no VLAN tag",
                       fmt::format("mlnx_qos -i {} --trust dscp", netdev.name));
    });
    report.fine_devices(machine, "nothing is amiss");
}

void check_ecn(const Inventory& machine, Report& report) {
    for_each_roce_netdev(machine, [&](const Device&, const NetDevice& netdev) {
        if (is_virtual(netdev)) return;
        if (netdev.ecn.empty())
            return report.add(Severity::unseen, netdev.name, "its driver does not show in sysfs whether ECN is on", {},
                              fmt::format("ls /sys/kernel/debug/mlx5/*/cc_params; mlnx_qos -i {}", netdev.name));
        for (unsigned priority = 0; priority < 8; ++priority) {
            const auto at = [&](const char* half) {
                const auto found = netdev.ecn.find(fmt::format("{}/enable/{}", half, priority));
                return found == netdev.ecn.end() ? std::string{} : found->second;
            };
            const std::string notifies = at("roce_np"), reacts = at("roce_rp");
            if (notifies.empty() || reacts.empty() || notifies == reacts) continue;
            report.add(Severity::warning, netdev.name,
                       fmt::format("on priority {} it {}", priority,
                                   notifies == "1" ? "asks senders to slow down, and does not slow down itself"
                                                   : "slows down when asked to, and never asks"),
                       "both halves on, or both off",
                       fmt::format("echo 1 > /sys/class/net/{}/ecn/{}/enable/{}", netdev.name,
                                   notifies == "1" ? "roce_rp" : "roce_np", priority));
        }
    });
    report.fine_devices(machine, "both halves agree on every priority");
}

void check_pauses(const Inventory& machine, Report& report) {
    for_each_roce_netdev(machine, [&](const Device&, const NetDevice& netdev) {
        if (!is_virtual(netdev))
            report.add(Severity::unseen, netdev.name, "sysfs has no counters of PAUSE and PFC frames", {},
                       fmt::format("ethtool -S {} | grep -iE 'pause|prio.*discard'", netdev.name));
    });
    report.not_applicable("no adapter that sends pauses");
}

}  // namespace doctor::checks
