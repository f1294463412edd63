#include <algorithm>
#include <fmt/core.h>

#include "doctor/checks/check.h"
#include "doctor/strings.h"

namespace doctor::inline checks {

void check_any_device(const Inventory& machine, Report& report) {
    if (!machine.devices.empty()) {
        std::vector<std::string> names;
        for (const Device& device : machine.devices) names.push_back(device.name);
        return report.fine(listed(names));
    }
    if (!machine.host.running)
        return report.add(Severity::unseen, {}, "this is no running machine: it has no /proc", {}, "rdma dev");
    const auto can_be = [&machine](std::string_view name) {
        const Module* module = machine.kernel.module(name);
        return module != nullptr && (module->loaded || module->built_in || !module->file.empty());
    };
    std::string command = "rdmascope run --software -- PROGRAM";
    if (can_be("siw")) command = "modprobe siw && rdma link add siw0 type siw netdev eth0  # iWARP in software";
    if (can_be("rdma_rxe"))
        command = "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0  # RoCE in software";
    report.add(Severity::warning, {},
               machine.kernel.adapters.empty() ? "the kernel has no RDMA device, and the machine no adapter for one"
                                               : "the kernel has no RDMA device, though there are adapters for one",
               "an adapter with its driver, or a software device", command);
}

void check_device_provider(const Inventory& machine, Report& report) {
    const Library* core = machine.preferred(Part::verbs);
    for (const Device& device : machine.devices) {
        if (core == nullptr) {
            report.add(Severity::broken, device.name, "no program can use it: there is no libibverbs", "libibverbs",
                       "apt install libibverbs1 ibverbs-providers");
            continue;
        }
        if (device.provider.empty()) {
            report.add(Severity::unseen, device.name,
                       fmt::format("which provider it needs is not known{}",
                                   device.kernel_driver.empty() ? "" : " of the driver " + device.kernel_driver),
                       {}, "ibv_devices");
            continue;
        }
        const auto entry = std::find_if(machine.drivers.begin(), machine.drivers.end(), [&](const DriverEntry& e) {
            return e.name == device.provider || e.name.ends_with("/lib" + device.provider);
        });
        if (entry == machine.drivers.end())
            report.add(
                Severity::broken, device.name,
                fmt::format("libibverbs does not list it: no file of {} names the driver {}",
                            core->configuration_folder.empty() ? "/etc/libibverbs.d" : core->configuration_folder,
                            device.provider),
                fmt::format("the line `driver {}`", device.provider), "apt install --reinstall ibverbs-providers");
        else if (entry->library.empty() && core->provider_suffix)
            report.add(Severity::broken, device.name,
                       fmt::format("libibverbs does not list it: there is no lib{}-rdmav{}.so", device.provider,
                                   *core->provider_suffix),
                       "its provider", "apt install --reinstall ibverbs-providers");
    }
    report.fine_devices(machine, "each has its driver entry and its provider");
}

void check_device_nodes(const Inventory& machine, Report& report) {
    for (const Device& device : machine.devices) {
        if (device.uverbs.empty()) {
            report.add(Severity::broken, device.name, "it has no uverbs device: no program can use it",
                       "a folder in /sys/class/infiniband_verbs", "modprobe ib_uverbs");
            continue;
        }
        const std::string path = "/dev/infiniband/" + device.uverbs;
        if (!device.node) {
            report.add(Severity::broken, device.name, path + " is missing: no program can use it",
                       "made by udev; in a container, given to it",
                       "udevadm trigger --subsystem-match=infiniband_verbs");
            continue;
        }
        constexpr std::uint32_t for_all = 0006, for_group = 0060;
        if ((device.node->mode & for_all) == for_all) continue;
        const bool group = (device.node->mode & for_group) == for_group && device.node->group != 0;
        report.add(group ? Severity::note : Severity::warning, device.name,
                   fmt::format("{} has mode {:04o}: {}", path, device.node->mode,
                               group ? fmt::format("only root and group {} may use it", device.node->group)
                                     : "only root may use it"),
                   "mode 0666, as rdma-core's udev rules have it: verbs check rights themselves",
                   group ? "usermod -aG GROUP USER" : "apt install --reinstall rdma-core && udevadm trigger");
    }
    report.fine_devices(machine, "each has one that everybody may open");
}

void check_cm_node(const Inventory& machine, Report& report) {
    if (machine.devices.empty()) return report.not_applicable("no RDMA device");
    if (!machine.cm_node)
        return report.add(Severity::warning, "/dev/infiniband/rdma_cm",
                          "it is missing: programs that use librdmacm find no device", "rdma_ucm loaded",
                          "modprobe rdma_ucm");
    constexpr std::uint32_t for_all = 0006;
    if ((machine.cm_node->mode & for_all) != for_all)
        report.add(Severity::warning, "/dev/infiniband/rdma_cm",
                   fmt::format("it has mode {:04o}: only some may make connections", machine.cm_node->mode),
                   "mode 0666", "apt install --reinstall rdma-core && udevadm trigger");
    report.fine("everybody may open it");
}

void check_ports(const Inventory& machine, Report& report) {
    for (const Device& device : machine.devices)
        for (const Port& port : device.ports) {
            if (port.state == "ACTIVE") continue;
            const std::string name = fmt::format("{} port {}", device.name, port.number);
            const std::string state = fmt::format("its state is {}{}", port.state.empty() ? "unknown" : port.state,
                                                  port.physical.empty() ? "" : ", its link " + port.physical);
            if (port.link_layer == "InfiniBand")
                report.add(
                    Severity::warning, name, state,
                    port.state == "INIT" ? "ACTIVE: a subnet manager that reaches it" : "ACTIVE: a cable, and a switch",
                    port.state == "INIT" ? "systemctl start opensm  # on one host of the fabric" : "ibstat");
            else
                report.add(Severity::warning, name, state, "ACTIVE: a network device that is up and has an address",
                           device.netdevs.empty() ? std::string("rdma link")
                                                  : fmt::format("ip link set {} up", device.netdevs.front()));
        }
    report.fine_devices(machine, "all are active");
}

}  // namespace doctor::checks
