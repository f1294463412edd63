#include <algorithm>
#include <array>

#include "doctor/checks/check.h"

namespace doctor::inline checks {

namespace {

constexpr std::array checks_table{
    Check{"library.core", "libibverbs is there", Severity::warning, "the loader's path", check_core},
    Check{"library.several", "there is one libibverbs", Severity::warning,
          "ld.so.cache, ld.so.conf, LD_LIBRARY_PATH, /usr/local, /opt", check_several_cores},
    Check{"library.files", "the libraries can be read", Severity::warning, "the ELF files", check_library_files},
    Check{"library.versions", "the libraries have what the others need of them", Severity::broken,
          "versions needed and defined (.gnu.version_r, .gnu.version_d)", check_library_versions},
    Check{"library.processes", "running processes use the libraries that are installed", Severity::warning,
          "/proc/PID/maps", check_processes},
    Check{"library.ofed", "one vendor's stack, not two", Severity::warning, "ofed_info, dpkg's lists", check_ofed},
    Check{"library.headers", "the headers belong to the library", Severity::warning, "dpkg's lists and status",
          check_headers},
    Check{"library.layout", "public structures are laid out as programs expect", Severity::broken,
          "versions of the interface (IBVERBS_1.0, 1.1)", check_layout},
    Check{"provider.abi", "providers fit their libibverbs", Severity::broken,
          "IBVERBS_PRIVATE_n needed against defined", check_provider_abi},
    Check{"provider.suffix", "providers have the suffix that is looked for", Severity::warning,
          "file names against what libibverbs has compiled in", check_provider_suffix},
    Check{"provider.missing", "every driver entry has its library", Severity::warning, "/etc/libibverbs.d",
          check_provider_missing},
    Check{"provider.undeclared", "every provider has its driver entry", Severity::warning, "/etc/libibverbs.d",
          check_provider_undeclared},
    Check{"provider.kernel_abi", "providers speak the kernel driver's ABI", Severity::broken,
          "uverbsN/abi_version against verbs_device_ops in the provider", check_provider_kernel_abi},
    Check{"kernel.modules", "the modules that programs need are loaded", Severity::broken,
          "/proc/modules, modules.builtin, modules.dep", check_modules},
    Check{"kernel.adapters", "adapters have their RDMA driver", Severity::warning, "/sys/bus/pci/devices",
          check_adapters},
    Check{"kernel.foreign", "all modules are of one origin", Severity::warning,
          "intree in the files, folders of modules.dep, taint", check_foreign_modules},
    Check{"kernel.stale", "what is loaded is what is installed", Severity::warning,
          "srcversion and vermagic in the files against /sys/module", check_stale_modules},
    Check{"kernel.abi", "kernel and libibverbs speak one ABI", Severity::broken,
          "/sys/class/infiniband_verbs/abi_version", check_verbs_abi},
    Check{"kernel.taint", "the kernel is untainted", Severity::note, "/proc/sys/kernel/tainted", check_taint},
    Check{"device.any", "there is an RDMA device", Severity::warning, "/sys/class/infiniband", check_any_device},
    Check{"device.provider", "libibverbs lists every device of the kernel", Severity::broken,
          "drivers of the devices against driver entries and providers", check_device_provider},
    Check{"device.nodes", "device nodes are there, and may be opened", Severity::broken, "/dev/infiniband/uverbsN",
          check_device_nodes},
    Check{"device.cm", "connections can be made by the RDMA CM", Severity::warning, "/dev/infiniband/rdma_cm",
          check_cm_node},
    Check{"device.ports", "ports are up", Severity::warning, "ports/N/state, phys_state", check_ports},
    Check{"limit.memlock", "memory can be registered", Severity::warning, "/proc/self/limits", check_memlock},
    Check{"limit.configured", "logins and services may lock memory", Severity::warning,
          "limits.conf, limits.d, systemd's system.conf", check_memlock_configured},
    Check{"network.netdev", "the network devices below are up", Severity::warning, "/sys/class/net", check_netdevs},
    Check{"network.mtu", "the MTU lets packets be large", Severity::warning, "/sys/class/net/*/mtu", check_mtu},
    Check{"network.gids", "there are GIDs to be reached by", Severity::warning, "gids, gid_attrs/types", check_gids},
    Check{"network.roce_mode", "connections default to RoCE v2", Severity::warning, "configfs, rdma_cm",
          check_roce_mode},
    Check{"network.flow_control", "lossless classes are those of the traffic", Severity::warning,
          "qos/trust and qos/pfc, where the driver shows them", check_flow_control},
    Check{"network.ecn", "both halves of congestion control are on", Severity::warning,
          "ecn/roce_np and ecn/roce_rp, where the driver shows them", check_ecn},
    Check{"network.pauses", "pause counters", Severity::unseen, "ethtool statistics", check_pauses},
    Check{"observe.tracefs", "tracefs is mounted", Severity::note, "/proc/self/mounts", check_tracefs},
    Check{"observe.events", "the kernel has RDMA trace points", Severity::note, "events/rdma_core and others",
          check_events},
    Check{"observe.uprobes", "running programs can be probed", Severity::note, "uprobe_events", check_uprobes},
    Check{"observe.btf", "the kernel describes its types", Severity::note, "/sys/kernel/btf/vmlinux", check_btf},
    Check{"observe.perf", "perf events are permitted", Severity::note, "perf_event_paranoid, kptr_restrict",
          check_perf},
    Check{"observe.capture", "packets may be captured", Severity::note, "capabilities of this process and of files",
          check_capture_right},
    Check{"observe.trace", "trace points may be read", Severity::note, "capabilities of this process",
          check_trace_right},
    Check{"observe.clock", "time stamps are cheap and exact", Severity::note, "current_clocksource", check_clock},
    Check{"observe.counters", "devices count", Severity::note, "hw_counters, counters", check_counters},
};

}  // namespace

std::span<const Check> all_checks() { return checks_table; }

std::string_view name_of(Severity severity) {
    switch (severity) {
        case Severity::not_applicable: return "not_applicable";
        case Severity::ok: return "ok";
        case Severity::unseen: return "unseen";
        case Severity::note: return "note";
        case Severity::warning: return "warning";
        case Severity::broken: return "broken";
    }
    return "";
}

void Report::add(Severity severity, std::string subject, std::string observed, std::string expected,
                 std::string command) {
    // A machine with a thousand devices that all lack the same gets only a few dozen lines about it.
    constexpr std::size_t most = 2000;
    quiet_ = false;
    if (findings_.size() < most)
        findings_.push_back(
            {check_, severity, std::move(subject), std::move(observed), std::move(expected), std::move(command)});
}

std::size_t Report::count(Severity severity) const {
    return static_cast<std::size_t>(std::ranges::count(findings_, severity, &Finding::severity));
}

void Report::fine(std::string observed) {
    if (quiet_) add(Severity::ok, {}, std::move(observed));
}

void Report::not_applicable(std::string reason) {
    if (quiet_) add(Severity::not_applicable, {}, std::move(reason));
}

void Report::fine_devices(const Inventory& machine, std::string observed) {
    if (machine.devices.empty()) return not_applicable("no RDMA device");
    fine(std::move(observed));
}

std::vector<Finding> examine(const Inventory& machine) {
    Report report;
    for (const Check& check : checks_table) {
        report.begin(check.id);
        check.run(machine, report);
    }
    std::vector<Finding> findings = report.take();
    sort_by_severity(findings);
    return findings;
}

void sort_by_severity(std::vector<Finding>& findings) {
    std::stable_sort(findings.begin(), findings.end(),
                     [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
}

Severity worst_of(std::span<const Finding> findings) {
    Severity worst = Severity::ok;
    for (const Finding& finding : findings) worst = std::max(worst, finding.severity);
    return worst;
}

}  // namespace doctor::checks
