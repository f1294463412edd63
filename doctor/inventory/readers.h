#pragma once
#include <map>
#include <string>
#include <vector>

#include "doctor/inventory/inventory.h"
#include "doctor/inventory/loader_path.h"

/// The parts of take_inventory().
namespace doctor::inline inventory {

Host look_at_host(const Root& root);
std::vector<ProcessLibraries> look_at_processes(const Root& root, std::vector<std::string>& unseen);
/// Libraries on the loader's path, in /usr/local, /opt, and those that processes have mapped.
std::vector<Library> look_at_libraries(const Root& root, const LoaderPath& path,
                                       const std::vector<ProcessLibraries>& processes);
/// One library, where it is known by its path alone.
Library look_at_library(const Root& root, const std::string& path);
std::vector<DriverEntry> look_at_drivers(const Root& root, const LoaderPath& path,
                                         const std::vector<Library>& libraries);
Kernel look_at_kernel(const Root& root, const std::string& release);
std::vector<Device> look_at_devices(const Root& root);
std::vector<NetDevice> look_at_netdevs(const Root& root, const std::vector<Device>& devices);
Limits look_at_limits(const Root& root);
Observation look_at_observation(const Root& root);

/// Debian's packages by the files that they own: path -> "libibverbs1 44.0-2". Paths without an owner are left out.
std::map<std::string, std::string> debian_owners(const Root& root, const std::vector<std::string>& paths);

/// A kernel module's name as the kernel writes it: "ib_core".
std::string module_name(std::string_view text);

/// The name of a kernel driver's userspace half: "mlx5" for "mlx5_core"; empty if unknown.
std::string_view provider_of(std::string_view kernel_driver);
/// The module that makes RDMA devices of this driver's devices: "mlx5_ib" for "mlx5_core"; empty if absent.
std::string_view rdma_half_of(std::string_view kernel_driver);
/// Whether the module is part of RDMA.
bool is_rdma_module(std::string_view name);

}  // namespace doctor::inventory
