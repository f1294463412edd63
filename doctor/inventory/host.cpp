
#include "base/ascii.h"
#include "doctor/inventory/readers.h"
#include "doctor/strings.h"

namespace doctor::inline inventory {

namespace {

std::string system_name(const Root& root) {
    const Content release = root.read("/etc/os-release");
    for (std::string_view line : lines(release.octets)) {
        constexpr std::string_view key = "PRETTY_NAME=";
        if (!line.starts_with(key)) continue;
        std::string_view value = base::trimmed(line.substr(key.size()));
        if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
        return std::string(value);
    }
    return {};
}

/// ofed_info is a script that prints what it was built with; it is read, not run.
std::string ofed_name(const Root& root) {
    for (const char* path : {"/usr/bin/ofed_info", "/usr/local/bin/ofed_info"}) {
        const Content script = root.read(path, std::size_t{1} << 20);
        if (script.sight != Sight::seen) continue;
        for (const std::string_view beginning : {"MLNX_OFED_LINUX-", "OFED-internal-", "OFED-", "DOCA"}) {
            const std::size_t at = script.octets.find(beginning);
            if (at == std::string::npos) continue;
            const std::string_view rest = std::string_view(script.octets).substr(at, 80);
            return std::string(rest.substr(0, rest.find_first_of(": \t\r\n'\"")));
        }
        return "OFED (ofed_info names no version)";
    }
    return {};
}

std::optional<std::uint64_t> octets_of(std::string_view text, std::uint64_t unit) {
    if (text == "unlimited" || text == "infinity" || text == "-1") return std::nullopt;
    const auto number = number_in(text);
    if (!number) return 0;
    const char suffix = text.find_first_not_of("0123456789") == std::string_view::npos
                            ? '\0'
                            : text[text.find_first_not_of("0123456789")];
    switch (suffix) {
        case 'K': return *number << 10;
        case 'M': return *number << 20;
        case 'G': return *number << 30;
        case 'T': return *number << 40;
        default: return *number * unit;
    }
}

void look_at_pam_limits(const Root& root, const std::string& path, std::vector<LimitLine>& out) {
    const Content file = root.read(path);
    for (std::string_view line : lines(file.octets)) {
        line = base::trimmed(line.substr(0, line.find('#')));
        const auto parts = words(line);
        // limits.conf(5): user, soft or hard or both, limit, value; memlock in KiB.
        if (parts.size() == 4 && parts[2] == "memlock")
            out.push_back({path, std::string(line), octets_of(parts[3], 1024)});
    }
}

void look_at_systemd_limits(const Root& root, const std::string& path, std::vector<LimitLine>& out) {
    const Content file = root.read(path);
    for (std::string_view line : lines(file.octets)) {
        line = base::trimmed(line);
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos || base::trimmed(line.substr(0, equals)) != "DefaultLimitMEMLOCK")
            continue;
        // "soft:hard" or one for both
        const std::string_view value = base::trimmed(line.substr(equals + 1));
        out.push_back({path, std::string(line), octets_of(value.substr(0, value.find(':')), 1)});
    }
}

std::optional<std::uint64_t> effective_capabilities(const Root& root) {
    const Content status = root.read("/proc/self/status");
    for (std::string_view line : lines(status.octets))
        if (line.starts_with("CapEff:")) return number_in("0x" + std::string(base::trimmed(line.substr(7))));
    return std::nullopt;
}

/// Permitted capabilities of a file (linux/capability.h, struct vfs_cap_data: magic, then permitted and inheritable).
std::optional<std::uint64_t> file_capabilities(const Root& root, std::string_view path) {
    const auto value = root.attribute(path, "security.capability");
    if (!value || value->size() < 20) return std::nullopt;
    const auto word = [&value](std::size_t at) {
        std::uint64_t number = 0;
        for (std::size_t i = 4; i-- > 0;) number = number << 8 | static_cast<unsigned char>((*value)[at + i]);
        return number;
    };
    return word(4) | word(12) << 32;
}

}  // namespace

Host look_at_host(const Root& root) {
    Host host;
    host.running = root.has("/proc/sys/kernel/osrelease");
    host.kernel = root.line("/proc/sys/kernel/osrelease").value_or("");
    host.name = root.line("/proc/sys/kernel/hostname").value_or(root.line("/etc/hostname").value_or("this host"));
    host.system = system_name(root);
    host.ofed = ofed_name(root);
    return host;
}

Limits look_at_limits(const Root& root) {
    Limits limits;
    const Content own = root.read("/proc/self/limits");
    for (std::string_view line : lines(own.octets)) {
        constexpr std::string_view name = "Max locked memory";
        if (!line.starts_with(name)) continue;
        const auto parts = words(line.substr(name.size()));
        limits.seen = !parts.empty();
        if (limits.seen) limits.memlock = octets_of(parts[0], 1);
    }
    constexpr unsigned cap_ipc_lock = 14;
    limits.exempt = (effective_capabilities(root).value_or(0) >> cap_ipc_lock & 1) != 0;
    look_at_pam_limits(root, "/etc/security/limits.conf", limits.configured);
    for (const std::string& name : root.list("/etc/security/limits.d"))
        if (name.ends_with(".conf")) look_at_pam_limits(root, "/etc/security/limits.d/" + name, limits.configured);
    look_at_systemd_limits(root, "/etc/systemd/system.conf", limits.configured);
    for (const char* folder : {"/usr/lib/systemd/system.conf.d", "/etc/systemd/system.conf.d"})
        for (const std::string& name : root.list(folder))
            if (name.ends_with(".conf")) look_at_systemd_limits(root, folder / name, limits.configured);
    return limits;
}

Observation look_at_observation(const Root& root) {
    Observation seen;
    const Content mounts = root.read("/proc/self/mounts", std::size_t{1} << 20);
    for (std::string_view line : lines(mounts.octets)) {
        const auto parts = words(line);
        if (parts.size() > 2 && parts[2] == "tracefs" && seen.tracefs.empty()) seen.tracefs = parts[1];
    }
    if (!seen.tracefs.empty()) {
        for (const char* system : {"rdma_core", "rdma_cma", "ib_mad", "ib_umad", "rpcrdma", "siw", "irdma", "hfi1_qp",
                                   "hfi1_rc", "rvt", "mlx5", "hns_roce", "bnxt_re", "smbdirect", "rds", "smc"})
            if (root.has(seen.tracefs / "events" / system)) seen.events.emplace_back(system);
        seen.uprobes = root.has(seen.tracefs / "uprobe_events");
    }
    seen.btf = root.has("/sys/kernel/btf/vmlinux");
    if (const auto text = root.line("/proc/sys/kernel/perf_event_paranoid")) {
        const bool minus = text->starts_with('-');
        if (const auto number = number_in(std::string_view(*text).substr(minus ? 1 : 0)))
            seen.perf_paranoid = (minus ? -1 : 1) * static_cast<std::int64_t>(*number & 0xffff);
    }
    seen.kptr_restrict = root.number("/proc/sys/kernel/kptr_restrict");
    seen.capabilities = effective_capabilities(root);
    seen.clock = root.line("/sys/devices/system/clocksource/clocksource0/current_clocksource").value_or("");
    for (const char* program : {"/usr/bin/dumpcap", "/usr/bin/rdmascope", "/usr/local/bin/rdmascope"})
        if (root.has(program)) seen.file_capabilities[program] = file_capabilities(root, program).value_or(0);
    return seen;
}

}  // namespace doctor::inventory
