#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "doctor/checks/check.h"
#include "doctor/inventory/readers.h"
#include "doctor/strings.h"

namespace doctor::inline checks {

namespace {

/// Where depmod finds what did not come with the kernel: updates/ and dkms of DKMS, extra/ of others, weak-updates/.
bool is_foreign_folder(std::string_view file) {
    constexpr std::array folders{std::string_view("/updates/"), std::string_view("/dkms/"), std::string_view("/extra/"),
                                 std::string_view("/weak-updates/")};
    return std::any_of(folders.begin(), folders.end(),
                       [file](std::string_view folder) { return file.find(folder) != std::string_view::npos; });
}

bool is_foreign(const Module& module) {
    return module.taint.find('O') != std::string::npos || (module.in_tree && !*module.in_tree) ||
           (module.loaded && is_foreign_folder(module.file));
}

bool has_infiniband(const Inventory& machine) {
    return std::any_of(machine.devices.begin(), machine.devices.end(), [](const Device& device) {
        return std::any_of(device.ports.begin(), device.ports.end(),
                           [](const Port& port) { return port.link_layer == "InfiniBand"; });
    });
}

struct Needed {
    std::string_view name;
    std::string_view for_what;
    Severity severity;                ///< of its absence where there are devices
    bool (*works)(const Inventory&);  ///< what the module does is there all the same, or is not needed
    bool others_rest_on_it = false;   ///< without it there are none of those that follow
};
constexpr std::array needed_modules{
    Needed{"ib_core", "anything of RDMA", Severity::broken,
           [](const Inventory& machine) { return !machine.devices.empty(); }, true},
    Needed{"ib_uverbs", "programs to use verbs", Severity::broken,
           [](const Inventory& machine) { return machine.kernel.verbs_abi.has_value(); }},
    Needed{"rdma_ucm", "programs to make connections by the RDMA CM (librdmacm)", Severity::warning,
           [](const Inventory& machine) { return machine.cm_node.has_value(); }},
    // InfiniBand alone has management of this kind.
    Needed{"ib_umad", "ibstat, perfquery and other management", Severity::note,
           [](const Inventory& machine) { return !has_infiniband(machine); }},
};

/// Loaded, built in, or not needed. What answers in sysfs is there, wherever it came from.
bool is_there(const Inventory& machine, const Needed& needed) {
    const Module* module = machine.kernel.module(needed.name);
    if (module != nullptr && (module->loaded || module->built_in)) return true;
    return needed.works(machine);
}

#if defined(__aarch64__)
constexpr std::string_view kernel_package = "linux-image-arm64";
#else
constexpr std::string_view kernel_package = "linux-image-amd64";
#endif

}  // namespace

void check_modules(const Inventory& machine, Report& report) {
    if (!machine.host.running)
        return report.add(Severity::unseen, {}, "this is no running machine: it has no /proc", {}, "lsmod");
    for (const Needed& needed : needed_modules) {
        if (is_there(machine, needed)) continue;
        const Module* module = machine.kernel.module(needed.name);
        const Severity severity = machine.devices.empty() ? Severity::note : needed.severity;
        const std::string name(needed.name);
        if (module != nullptr && !module->file.empty()) {
            report.add(severity, name, fmt::format("the module is not loaded; it is needed for {}", needed.for_what),
                       "loaded at boot",
                       fmt::format("modprobe {0} && echo {0} > /etc/modules-load.d/rdma-{0}.conf", name));
            continue;
        }
        report.add(severity, name,
                   fmt::format("kernel {} has no such module, neither built in nor loadable; it is needed for {}",
                               machine.host.kernel, needed.for_what),
                   "a kernel with CONFIG_INFINIBAND",
                   machine.kernel.modular
                       ? fmt::format("apt install {}  # or the modules package of this kernel", kernel_package)
                       : "rdmascope run --software -- PROGRAM  # this kernel loads no modules");
        if (needed.others_rest_on_it) return;
    }
    report.fine("those that are needed are there");
}

void check_adapters(const Inventory& machine, Report& report) {
    for (const PciFunction& function : machine.kernel.adapters) {
        const std::string name = fmt::format("{} ({:04x}:{:04x})", function.slot, function.vendor, function.device);
        if (function.driver.empty()) {
            report.add(Severity::warning, name, "no driver is bound to this adapter",
                       "mlx5_core, or another on purpose", "modprobe mlx5_core; lspci -k -s " + function.slot);
            continue;
        }
        const std::string half(rdma_half_of(function.driver));
        const Module* module = machine.kernel.module(half);
        if (half == function.driver || (module != nullptr && (module->loaded || module->built_in))) continue;
        // Of these, not every adapter can do RDMA.
        const bool sure = function.driver != "i40e" && function.driver != "be2net" && function.driver != "qede";
        // X722: the one family of i40e that can (linux, drivers/net/ethernet/intel/i40e/i40e_devids.h).
        if (function.driver == "i40e" && (function.device < 0x37cc || function.device > 0x37d3)) continue;
        report.add(sure ? Severity::warning : Severity::note, name,
                   fmt::format("its driver is {}, whose RDMA half, {}, is not loaded", function.driver, half),
                   half + " loaded",
                   module != nullptr && !module->file.empty()
                       ? "modprobe " + half
                       : fmt::format("modprobe {}  # kernel {} has no such module here: install its modules package",
                                     half, machine.host.kernel));
    }
    report.fine(fmt::format("{} PCI functions that can do RDMA", machine.kernel.adapters.size()));
}

void check_foreign_modules(const Inventory& machine, Report& report) {
    std::vector<std::string> foreign, native;
    for (const Module& module : machine.kernel.modules) {
        if (!module.loaded) continue;
        (is_foreign(module) ? foreign : native).push_back(module.name);
    }
    if (foreign.empty()) return report.fine("all that are loaded came with the kernel");
    // A module that is made for Debian's kernel alone, like siw, may stand next to the kernel's own.
    const Module* core = machine.kernel.module("ib_core");
    const bool core_foreign = core != nullptr && core->loaded && is_foreign(*core);
    if (core_foreign && !native.empty())
        report.add(Severity::warning, "kernel modules",
                   fmt::format("ib_core is not the kernel's own, as are {}; {} are", listed(foreign), listed(native)),
                   "all of one stack: structures inside the kernel differ between them",
                   "dkms status; modinfo -n " + foreign.front());
    else
        report.add(Severity::note, "kernel modules", fmt::format("not the kernel's own: {}", listed(foreign)), {},
                   "modinfo " + foreign.front());
}

void check_stale_modules(const Inventory& machine, Report& report) {
    for (const Module& module : machine.kernel.modules) {
        if (!module.loaded) continue;
        if (!module.problem.empty()) {
            report.add(Severity::unseen, module.name, module.problem, {}, "modinfo " + module.name);
            continue;
        }
        if (module.file.empty() && !module.built_in) {
            report.add(Severity::note, module.name, "it is loaded, and modules.dep has no file for it", {},
                       "depmod -a && modinfo " + module.name);
            continue;
        }
        if (!module.loaded_srcversion.empty() && !module.file_srcversion.empty() &&
            module.loaded_srcversion != module.file_srcversion)
            report.add(Severity::warning, module.name,
                       fmt::format("what is loaded (srcversion {}) is not what {} holds ({})", module.loaded_srcversion,
                                   module.file, module.file_srcversion),
                       "the installed module loaded",
                       fmt::format("modprobe -r {0} && modprobe {0}  # or reboot", module.name));
        const std::string_view release =
            std::string_view(module.file_vermagic).substr(0, module.file_vermagic.find(' '));
        if (!release.empty() && release != machine.host.kernel)
            report.add(
                Severity::warning, module.name,
                fmt::format("{} was built for kernel {}, and {} runs", module.file, release, machine.host.kernel),
                "a module built for this kernel", "dkms autoinstall && depmod -a");
    }
    report.fine("what is loaded is what the files hold");
}

void check_verbs_abi(const Inventory& machine, Report& report) {
    // IB_USER_VERBS_MIN_ABI_VERSION and _MAX_ of every rdma-core (libibverbs/kern-abi.h).
    constexpr std::uint64_t least = 3, most = 6;
    if (!machine.kernel.verbs_abi) {
        if (!machine.devices.empty())
            report.add(Severity::broken, "ib_uverbs",
                       "/sys/class/infiniband_verbs/abi_version is missing: no program can use verbs",
                       "ib_uverbs loaded", "modprobe ib_uverbs");
        return report.not_applicable("ib_uverbs is not loaded");
    }
    if (*machine.kernel.verbs_abi < least || *machine.kernel.verbs_abi > most)
        report.add(Severity::broken, "ib_uverbs",
                   fmt::format("the kernel speaks verbs ABI {}", *machine.kernel.verbs_abi),
                   fmt::format("{} to {}, as rdma-core does", least, most),
                   "apt install libibverbs1  # of the time of the kernel");
    report.fine(fmt::format("version {}", *machine.kernel.verbs_abi));
}

void check_taint(const Inventory& machine, Report& report) {
    if (!machine.kernel.taint) return report.add(Severity::unseen, {}, "/proc/sys/kernel/tainted cannot be read");
    // Linux, Documentation/admin-guide/tainted-kernels.rst: what bears on modules and faults.
    struct Bit {
        unsigned bit;
        std::string_view text;
    };
    constexpr std::array bits{Bit{0, "a proprietary module"},       Bit{1, "a module loaded by force"},
                              Bit{3, "a module unloaded by force"}, Bit{7, "an oops before"},
                              Bit{9, "a kernel warning before"},    Bit{12, "a module from outside the tree"},
                              Bit{13, "an unsigned module"},        Bit{14, "a soft lockup before"}};
    std::vector<std::string> reasons;
    for (const Bit& bit : bits)
        if ((*machine.kernel.taint >> bit.bit & 1) != 0) reasons.emplace_back(bit.text);
    if (!reasons.empty())
        report.add(Severity::note, "kernel", fmt::format("tainted ({}): {}", *machine.kernel.taint, listed(reasons)),
                   {}, "journalctl -k -b | grep -iE 'taint|oops|warning'");
    report.fine(fmt::format("{}", *machine.kernel.taint));
}

}  // namespace doctor::checks
