#include <algorithm>
#include <fmt/core.h>

#include "base/shell_word.h"
#include "doctor/checks/check.h"
#include "doctor/strings.h"

namespace doctor::inline checks {

namespace {

// linux/capability.h
constexpr unsigned cap_net_raw = 13, cap_sys_admin = 21, cap_perfmon = 38, cap_bpf = 39;

bool has(std::uint64_t capabilities, unsigned bit) { return (capabilities >> bit & 1) != 0; }

}  // namespace

void check_tracefs(const Inventory& machine, Report& report) {
    if (!machine.host.running) return report.add(Severity::unseen, {}, "this is no running machine");
    if (machine.observation.tracefs.empty())
        report.add(Severity::note, "tracefs", "it is not mounted: trace points cannot be read", "mounted",
                   "mount -t tracefs tracefs /sys/kernel/tracing");
    report.fine(machine.observation.tracefs);
}

void check_events(const Inventory& machine, Report& report) {
    if (machine.observation.tracefs.empty()) return report.add(Severity::unseen, {}, "tracefs is not mounted");
    if (machine.observation.events.empty())
        report.add(
            Severity::note, "trace points",
            fmt::format("{}/events has none of RDMA, or may not be read by this user", machine.observation.tracefs),
            "rdma_core and rdma_cma, which come with ib_core and rdma_cm",
            machine.kernel.modular ? "modprobe rdma_cm"
                                   : "rdmascope run -- PROGRAM  # this kernel loads no modules; programs can be traced "
                                     "without its trace points");
    report.fine(listed(machine.observation.events));
}

void check_uprobes(const Inventory& machine, Report& report) {
    if (machine.observation.tracefs.empty()) return report.add(Severity::unseen, {}, "tracefs is not mounted");
    if (!machine.observation.uprobes)
        report.add(Severity::note, "uprobes", "this kernel has none, or tracefs may not be read by this user",
                   "CONFIG_UPROBE_EVENTS", "ls -l " + base::shell_word(machine.observation.tracefs + "/uprobe_events"));
    report.fine("there are");
}

void check_btf(const Inventory& machine, Report& report) {
    if (!machine.host.running) return report.add(Severity::unseen, {}, "this is no running machine");
    if (!machine.observation.btf)
        report.add(Severity::note, "BTF",
                   "/sys/kernel/btf/vmlinux is missing: BPF programs cannot fit themselves to this kernel",
                   "CONFIG_DEBUG_INFO_BTF", "ls /sys/kernel/btf");
    report.fine("there is");
}

void check_perf(const Inventory& machine, Report& report) {
    const Observation& seen = machine.observation;
    if (!seen.perf_paranoid)
        return report.add(Severity::unseen, {}, "/proc/sys/kernel/perf_event_paranoid cannot be read");
    const bool root =
        has(seen.capabilities.value_or(0), cap_perfmon) || has(seen.capabilities.value_or(0), cap_sys_admin);
    if (*seen.perf_paranoid > 1 && !root)
        report.add(Severity::note, "perf_event_paranoid",
                   fmt::format("it is {}: this user may trace neither kernel nor CPUs", *seen.perf_paranoid),
                   "1, or CAP_PERFMON", "sysctl kernel.perf_event_paranoid=1");
    if (seen.kptr_restrict.value_or(0) > 1)
        report.add(Severity::note, "kptr_restrict", "it is 2: kernel addresses are hidden from everybody", "1",
                   "sysctl kernel.kptr_restrict=1");
    report.fine(fmt::format("perf_event_paranoid {}", *seen.perf_paranoid));
}

void check_capture_right(const Inventory& machine, Report& report) {
    const Observation& seen = machine.observation;
    if (!seen.capabilities)
        return report.add(Severity::unseen, {}, "/proc/self/status cannot be read", {}, "capsh --print");
    if (has(*seen.capabilities, cap_net_raw)) return report.fine("this process may");
    std::vector<std::string> able;
    for (const auto& [program, capabilities] : seen.file_capabilities)
        if (has(capabilities, cap_net_raw)) able.push_back(program);
    if (able.empty())
        report.add(Severity::note, "capture",
                   "this process lacks CAP_NET_RAW, and neither rdmascope nor dumpcap is given it", "CAP_NET_RAW",
                   "setcap cap_net_raw,cap_net_admin=ep $(command -v rdmascope)  # or run it by sudo");
    report.fine(listed(able) + " may");
}

void check_trace_right(const Inventory& machine, Report& report) {
    const Observation& seen = machine.observation;
    if (!seen.capabilities)
        return report.add(Severity::unseen, {}, "/proc/self/status cannot be read", {}, "capsh --print");
    const bool all = has(*seen.capabilities, cap_sys_admin);
    if (!all && !(has(*seen.capabilities, cap_bpf) && has(*seen.capabilities, cap_perfmon)))
        report.add(Severity::note, "tracing", "this process lacks CAP_BPF or CAP_PERFMON", "both, or CAP_SYS_ADMIN",
                   "sudo rdmascope ...");
    report.fine("this process may");
}

void check_clock(const Inventory& machine, Report& report) {
    const std::string& clock = machine.observation.clock;
    if (clock.empty()) return report.add(Severity::unseen, {}, "the clock source cannot be read");
    // What is read without a system call: the processor's counter, and what hypervisors make of it.
    const bool quick =
        clock == "tsc" || clock == "kvm-clock" || clock == "arch_sys_counter" || clock == "hyperv_clocksource_tsc_page";
    if (!quick)
        report.add(
            Severity::note, "clock",
            fmt::format("the clock source is {}: every time stamp is slow, and latencies are the less exact", clock),
            "tsc",
            "cat /sys/devices/system/clocksource/clocksource0/available_clocksource; journalctl -k | grep -i tsc");
    report.fine(clock);
}

void check_counters(const Inventory& machine, Report& report) {
    for (const Device& device : machine.devices) {
        const bool some = std::any_of(device.ports.begin(), device.ports.end(),
                                      [](const Port& p) { return p.hardware_counters > 0; });
        if (some) continue;
        if (device.kernel_driver == "siw")
            report.add(Severity::note, device.name,
                       "siw has no counters in this kernel; TCP's are those of /proc/net/snmp", {}, "nstat");
        else
            report.add(Severity::note, device.name, "it has no counters in sysfs", "hw_counters",
                       "rdma statistic show");
    }
    report.fine_devices(machine, "they do");
}

}  // namespace doctor::checks
