#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "doctor/inventory/elf_contents.h"
#include "doctor/root.h"

/// The RDMA stack of a machine, as far as files show it. Nothing here judges; the checks do. What could not be seen is
/// absent (`optional`, an empty text), never 0.
namespace doctor::inline inventory {

struct Host {
    std::string name = {};
    std::string kernel = {};  ///< release, "6.1.0-56-amd64"
    std::string system = {};  ///< "Debian GNU/Linux 12 (bookworm)"
    std::string ofed = {};    ///< the answer of ofed_info, "MLNX_OFED_LINUX-5.8-1.1.2.1"; empty without an OFED
    bool running = false;     ///< there is /proc: a machine, not an image of one
};

enum class Part : std::uint8_t { verbs, connections, provider };  ///< libibverbs, librdmacm, a provider

/// A shared library of the stack.
struct Library {
    std::string path = {};  ///< without links
    Part part = Part::verbs;
    std::string soname = {};
    std::string build_id = {};
    std::string package = {};                  ///< "libibverbs1 44.0-2"; empty if no package of Debian has it
    std::string problem = {};                  ///< why it cannot be read, or what is damaged
    bool preferred = false;                    ///< the loader chooses it for its name
    std::vector<std::string> names = {};       ///< file names under which it was found
    std::vector<std::string> defined = {};     ///< versions, IBVERBS_1.14
    std::vector<std::string> needed = {};      ///< versions of libibverbs
    std::optional<unsigned> private_abi = {};  ///< of a core: IBVERBS_PRIVATE_n defined; of others: needed
    std::optional<AbiRange> kernel_abi = {};   ///< of a provider
    // Of a core: the folder where it looks for providers, from its own text.
    std::string provider_folder = {};
    std::string configuration_folder = {};
    std::optional<unsigned> provider_suffix = {};  ///< N of lib*-rdmavN.so
};

/// A line `driver NAME` of /etc/libibverbs.d.
struct DriverEntry {
    std::string file = {};
    std::string name = {};
    std::string library = {};  ///< the provider that the loader would choose; empty if absent
};

/// A process that has libraries of the stack mapped.
struct ProcessLibraries {
    std::uint32_t pid = 0;
    std::string command = {};
    std::vector<std::string> paths = {};
    std::vector<std::string> replaced = {};  ///< deleted from the disk since
    bool elsewhere = false;                  ///< in another mount namespace: the paths belong to that one
};

struct Module {
    std::string name = {};
    bool loaded = false;
    bool built_in = false;
    std::string file = {};  ///< under /lib/modules/RELEASE; empty if absent
    std::string loaded_srcversion = {};
    std::string file_srcversion = {};
    std::string file_vermagic = {};
    std::string taint = {};  ///< letters: O out of tree, E unsigned
    std::optional<bool> in_tree = {};
    std::string problem = {};  ///< why the file could not be read
};

struct PciFunction {
    std::string slot = {};  ///< "0000:3b:00.0"
    std::uint32_t vendor = 0, device = 0;
    std::string driver = {};
};

struct Kernel {
    bool modular = false;              ///< /proc/modules is there
    std::vector<Module> modules = {};  ///< modules of RDMA, known or loaded
    std::optional<std::uint64_t> taint = {};
    std::optional<std::uint64_t> verbs_abi = {};  ///< /sys/class/infiniband_verbs/abi_version
    std::vector<PciFunction> adapters = {};       ///< adapters whose driver has an RDMA half
    const Module* module(std::string_view name) const;
};

struct Gid {
    std::uint32_t index = 0;
    std::string value = {};
    std::string type = {};  ///< "RoCE v2", "IB/RoCE v1"
    std::string netdev = {};
};

struct Port {
    std::uint32_t number = 0;
    std::string state = {};       ///< "ACTIVE"
    std::string physical = {};    ///< "LinkUp"
    std::string link_layer = {};  ///< "Ethernet", "InfiniBand"
    std::string rate = {};
    std::string default_mode = {};  ///< RoCE mode of rdma_cm, from configfs
    std::vector<Gid> gids = {};     ///< those that are not zero
    std::size_t hardware_counters = 0;
};

/// A network device below an RDMA device.
struct NetDevice {
    std::string name = {};
    std::optional<std::uint64_t> mtu = {};
    std::string state = {};  ///< operstate
    std::optional<std::uint64_t> speed_mbit = {};
    std::string driver = {};
    std::string trust = {};                       ///< "pcp", "dscp", if the driver shows it in sysfs
    std::string pfc = {};                         ///< priorities with PFC, in the same form
    std::map<std::string, std::string> ecn = {};  ///< "roce_np/enable/3" -> "1"
};

struct Device {
    std::string name = {};
    std::string node_type = {};  ///< "1: CA", "4: RNIC"
    std::string firmware = {};
    std::string board = {};
    std::string kernel_driver = {};         ///< "mlx5_core"; "rxe", "siw" as far as virtual ones are known
    std::string provider = {};              ///< the name of its userspace half; empty if unknown
    std::string uverbs = {};                ///< "uverbs0"; empty if it has none
    std::optional<std::uint64_t> abi = {};  ///< of uverbsN
    std::optional<Status> node = {};        ///< of /dev/infiniband/uverbsN
    std::vector<Port> ports = {};
    std::vector<std::string> netdevs = {};
    bool is_iwarp() const { return node_type.starts_with("4"); }
};

struct LimitLine {
    std::string file = {};
    std::string text = {};
    std::optional<std::uint64_t> octets = {};  ///< none where unlimited
};

struct Limits {
    bool seen = false;
    std::optional<std::uint64_t> memlock = {};  ///< soft, of this process, bytes; no value if unlimited
    bool exempt = false;                        ///< CAP_IPC_LOCK: the limit does not bind this process
    std::vector<LimitLine> configured = {};     ///< memlock in limits.conf, limits.d and systemd's configuration
};

struct Observation {
    std::string tracefs = {};              ///< where it is mounted
    std::vector<std::string> events = {};  ///< folders of RDMA trace points
    bool uprobes = false;
    bool btf = false;
    std::optional<std::int64_t> perf_paranoid = {};
    std::optional<std::uint64_t> kptr_restrict = {};
    std::optional<std::uint64_t> capabilities = {};  ///< effective ones of this process
    std::string clock = {};
    std::map<std::string, std::uint64_t> file_capabilities = {};  ///< of dumpcap and rdmascope, where installed
};

struct Headers {
    bool installed = false;  ///< /usr/include/infiniband/verbs.h
    std::string package = {};
};

struct Inventory {
    Host host = {};
    std::vector<Library> libraries = {};
    std::vector<DriverEntry> drivers = {};
    std::vector<ProcessLibraries> processes = {};
    Headers headers = {};
    Kernel kernel = {};
    std::vector<Device> devices = {};
    std::vector<NetDevice> netdevs = {};
    std::optional<Status> cm_node = {};  ///< /dev/infiniband/rdma_cm
    Limits limits = {};
    Observation observation = {};
    std::vector<std::string> unseen = {};  ///< what could not be checked, and why

    /// The library of this part that the loader chooses; null if absent.
    const Library* preferred(Part part) const;
    const Library* library(std::string_view path) const;
    const NetDevice* netdev(std::string_view name) const;
};

/// Reads everything. Takes a second at most on a usual machine; needs no rights, but sees more with them.
Inventory take_inventory(const Root& root);

}  // namespace doctor::inventory
