#include <algorithm>
#include <fmt/core.h>

#include "base/shell_word.h"
#include "doctor/checks/check.h"
#include "doctor/strings.h"

namespace doctor::inline checks {

namespace {

struct ProviderName {
    std::string name;  ///< "mlx5"
    unsigned suffix;   ///< 34
};

/// "libmlx5-rdmav34.so" taken apart.
std::optional<ProviderName> parse(std::string_view file) {
    const std::size_t at = file.find("-rdmav");
    const auto suffix = at == std::string_view::npos ? std::nullopt : number_in(file.substr(at + 6));
    if (!suffix || !file.starts_with("lib")) return std::nullopt;
    return ProviderName{std::string(file.substr(3, at - 3)), static_cast<unsigned>(*suffix)};
}

/// Whether a provider lies where this libibverbs looks first.
bool is_beside(const Library& provider, const Library& core) {
    return !core.provider_folder.empty() && (provider.path.starts_with(core.provider_folder + "/") ||
                                             provider.path.substr(0, provider.path.rfind('/')) ==
                                                 core.provider_folder.substr(0, core.provider_folder.rfind('/')));
}

bool is_declared(const Inventory& machine, const std::string& name) {
    return std::any_of(machine.drivers.begin(), machine.drivers.end(), [&](const DriverEntry& entry) {
        return entry.name == name || entry.name.ends_with("/lib" + name);
    });
}

bool is_used(const Inventory& machine, std::string_view provider) {
    return std::any_of(machine.devices.begin(), machine.devices.end(),
                       [provider](const Device& device) { return device.provider == provider; });
}

}  // namespace

void check_provider_abi(const Inventory& machine, Report& report) {
    const Library* core = machine.preferred(Part::verbs);
    if (core == nullptr || !core->private_abi) return report.not_applicable("no libibverbs");
    for (const Library& provider : machine.libraries) {
        if (provider.part != Part::provider || !provider.private_abi || provider.private_abi == core->private_abi)
            continue;
        bool used = false, beside = is_beside(provider, *core);
        for (const std::string& name : provider.names)
            if (const auto parsed = parse(name)) used = used || is_used(machine, parsed->name);
        for (const DriverEntry& entry : machine.drivers) beside = beside || entry.library == provider.path;
        if (!beside) continue;  // another core's; provider.suffix or library.several report it
        report.add(used ? Severity::broken : Severity::warning, provider.path,
                   fmt::format("it needs IBVERBS_PRIVATE_{}, and {} has IBVERBS_PRIVATE_{}: it cannot be loaded",
                               *provider.private_abi, core->path, *core->private_abi),
                   "providers and libibverbs of one release of rdma-core",
                   "apt install --reinstall libibverbs1 ibverbs-providers");
    }
    report.fine(fmt::format("all need IBVERBS_PRIVATE_{}", *core->private_abi));
}

void check_provider_suffix(const Inventory& machine, Report& report) {
    const Library* core = machine.preferred(Part::verbs);
    if (core == nullptr || !core->provider_suffix) return report.not_applicable("no libibverbs");
    // If another libibverbs fits it, library.several reports the two libraries.
    const auto fits_another = [&](unsigned suffix) {
        return std::any_of(machine.libraries.begin(), machine.libraries.end(), [&](const Library& other) {
            return &other != core && other.part == Part::verbs && other.provider_suffix == suffix;
        });
    };
    for (const Library& provider : machine.libraries) {
        if (provider.part != Part::provider) continue;
        for (const std::string& name : provider.names) {
            const auto parsed = parse(name);
            if (!parsed || parsed->suffix == *core->provider_suffix || fits_another(parsed->suffix)) continue;
            report.add(
                Severity::warning, provider.path,
                fmt::format("{} looks for -rdmav{}.so, so {} is never loaded", core->path, *core->provider_suffix,
                            name),
                fmt::format("lib{}-rdmav{}.so, of the release of libibverbs", parsed->name, *core->provider_suffix),
                provider.package.empty() ? "rm " + base::shell_word(provider.path) + "  # left over from an older stack"
                                         : "apt install --reinstall ibverbs-providers");
        }
    }
    report.fine(fmt::format("-rdmav{}.so", *core->provider_suffix));
}

void check_provider_missing(const Inventory& machine, Report& report) {
    const Library* core = machine.preferred(Part::verbs);
    if (core == nullptr || !core->provider_suffix) return report.not_applicable("no libibverbs");
    for (const DriverEntry& entry : machine.drivers) {
        if (!entry.library.empty()) continue;
        report.add(Severity::warning, entry.file,
                   fmt::format("it names the driver {}, and there is no lib{}-rdmav{}.so", entry.name, entry.name,
                               *core->provider_suffix),
                   "a provider for every entry, or no entry",
                   fmt::format("apt install --reinstall ibverbs-providers  # or, if no program needs it: rm {}",
                               base::shell_word(entry.file)));
    }
    report.fine(fmt::format("{} entries", machine.drivers.size()));
}

void check_provider_undeclared(const Inventory& machine, Report& report) {
    const Library* core = machine.preferred(Part::verbs);
    if (core == nullptr || !core->provider_suffix) return report.not_applicable("no libibverbs");
    const std::string folder = core->configuration_folder.empty() ? "/etc/libibverbs.d" : core->configuration_folder;
    for (const Library& provider : machine.libraries) {
        if (provider.part != Part::provider || !is_beside(provider, *core)) continue;
        for (const std::string& name : provider.names) {
            const auto parsed = parse(name);
            if (!parsed || parsed->suffix != *core->provider_suffix || is_declared(machine, parsed->name)) continue;
            report.add(Severity::warning, provider.path,
                       fmt::format("nothing in {} names the driver {}: it is not loaded", folder, parsed->name),
                       "a file with the line `driver " + parsed->name + "`",
                       fmt::format("echo 'driver {}' > {}", parsed->name, folder / (parsed->name + ".driver")));
        }
    }
    report.fine(fmt::format("{} entries", machine.drivers.size()));
}

void check_provider_kernel_abi(const Inventory& machine, Report& report) {
    for (const Device& device : machine.devices) {
        if (!device.abi || device.provider.empty()) continue;
        const auto entry = std::find_if(machine.drivers.begin(), machine.drivers.end(),
                                        [&](const DriverEntry& e) { return e.name == device.provider; });
        const Library* provider = entry == machine.drivers.end() ? nullptr : machine.library(entry->library);
        if (provider == nullptr) continue;
        if (!provider->kernel_abi) {
            report.add(Severity::unseen, device.name,
                       fmt::format("which kernel ABIs {} speaks cannot be read from it; the kernel's is {}",
                                   provider->path, *device.abi),
                       {}, "ibv_devices");
            continue;
        }
        if (*device.abi >= provider->kernel_abi->least && *device.abi <= provider->kernel_abi->most) continue;
        report.add(
            Severity::broken, device.name,
            fmt::format("the kernel's driver speaks ABI {}, and {} speaks {} to {}", *device.abi, provider->path,
                        provider->kernel_abi->least, provider->kernel_abi->most),
            "a provider of the time of the kernel's driver, or later",
            "apt install ibverbs-providers  # of a newer release, or the kernel's own driver in place of the OFED's");
    }
    report.fine_devices(machine, "every device's is within its provider's range");
}

}  // namespace doctor::checks
