#include "doctor/inventory/inventory.h"

#include <algorithm>

#include "doctor/inventory/readers.h"

namespace doctor::inline inventory {

namespace {

Headers look_at_headers(const Root& root) {
    const std::string path = "/usr/include/infiniband/verbs.h";
    Headers headers;
    headers.installed = root.has(path);
    if (!headers.installed) return headers;
    const auto owners = debian_owners(root, {path});
    if (const auto at = owners.find(path); at != owners.end()) headers.package = at->second;
    return headers;
}

}  // namespace

const Library* Inventory::preferred(Part part) const {
    const auto at = std::find_if(libraries.begin(), libraries.end(),
                                 [part](const Library& l) { return l.part == part && l.preferred; });
    return at == libraries.end() ? nullptr : &*at;
}

const Library* Inventory::library(std::string_view path) const {
    const auto at =
        std::find_if(libraries.begin(), libraries.end(), [path](const Library& l) { return l.path == path; });
    return at == libraries.end() ? nullptr : &*at;
}

const NetDevice* Inventory::netdev(std::string_view name) const {
    const auto at = std::find_if(netdevs.begin(), netdevs.end(), [name](const NetDevice& n) { return n.name == name; });
    return at == netdevs.end() ? nullptr : &*at;
}

Inventory take_inventory(const Root& root) {
    Inventory inventory;
    inventory.host = look_at_host(root);
    const LoaderPath path(root);
    inventory.processes = look_at_processes(root, inventory.unseen);
    inventory.libraries = look_at_libraries(root, path, inventory.processes);
    inventory.drivers = look_at_drivers(root, path, inventory.libraries);
    inventory.headers = look_at_headers(root);
    inventory.kernel = look_at_kernel(root, inventory.host.kernel);
    inventory.devices = look_at_devices(root);
    inventory.netdevs = look_at_netdevs(root, inventory.devices);
    inventory.cm_node = root.status("/dev/infiniband/rdma_cm");
    inventory.limits = look_at_limits(root);
    inventory.observation = look_at_observation(root);
    return inventory;
}

}  // namespace doctor::inventory
