#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <set>

#include "base/shell_word.h"
#include "doctor/checks/check.h"
#include "doctor/strings.h"

namespace doctor::inline checks {

namespace {

std::string described(const Library& library) {
    std::string text = library.path;
    if (!library.package.empty())
        text += fmt::format(" ({})", library.package);
    else if (!library.build_id.empty())
        text += fmt::format(" (of no package, build-id {:.12})", library.build_id);
    return text;
}

/// What to type to have a file back as its package has it.
std::string reinstall(const Library& library, std::string_view otherwise) {
    const std::string package = library.package.substr(0, library.package.find(' '));
    return fmt::format("apt install --reinstall {}", package.empty() ? otherwise : package);
}

std::string_view package_of(const Library& library) {
    return std::string_view(library.package).substr(0, library.package.find(' '));
}
std::string_view version_of(std::string_view package) {
    const std::size_t blank = package.find(' ');
    return blank == std::string_view::npos ? std::string_view{} : package.substr(blank + 1);
}

}  // namespace

void check_core(const Inventory& machine, Report& report) {
    if (const Library* core = machine.preferred(Part::verbs)) {
        report.fine("programs get " + described(*core));
        return;
    }
    const bool wanted = !machine.devices.empty();
    report.add(wanted ? Severity::warning : Severity::note, "libibverbs.so.1",
               "the loader finds no libibverbs.so.1, which every verbs program needs",
               "libibverbs.so.1 on the loader's path", "apt install libibverbs1 ibverbs-providers librdmacm1");
}

void check_several_cores(const Inventory& machine, Report& report) {
    std::map<std::string_view, const Library*> different;  // by build-id: a copy of the same does no harm
    for (const Library& library : machine.libraries)
        if (library.part == Part::verbs && library.problem.empty())
            different.emplace(library.build_id.empty() ? library.path : library.build_id, &library);
    const Library* core = machine.preferred(Part::verbs);
    if (different.size() < 2) return report.fine("there is no second one");
    std::vector<std::string> all;
    std::string remedy;
    for (const auto& [id, library] : different) {
        all.push_back(described(*library));
        // A file without a package was installed by hand.
        if (library->package.empty())
            remedy = fmt::format("rm {} && ldconfig  # if nothing needs it", base::shell_word(library->path));
        else if (library != core && remedy.empty())
            remedy = fmt::format("apt remove {}  # if nothing needs it", package_of(*library));
    }
    report.add(Severity::warning, "libibverbs.so.1",
               fmt::format("there are {} different ones: {}; {}", different.size(), listed(all),
                           core == nullptr ? "the loader takes none of them" : "the loader takes " + core->path),
               "one libibverbs: a program, its libraries and the providers that mix two of them fail, or crash",
               remedy);
}

void check_library_files(const Inventory& machine, Report& report) {
    for (const Library& library : machine.libraries)
        if (!library.problem.empty())
            report.add(library.preferred ? Severity::warning : Severity::note, library.path, library.problem,
                       "a 64-bit ELF library that can be read", reinstall(library, "libibverbs1 ibverbs-providers"));
    report.fine(fmt::format("{} libraries of the stack were looked into", machine.libraries.size()));
}

void check_library_versions(const Inventory& machine, Report& report) {
    const Library* core = machine.preferred(Part::verbs);
    if (core == nullptr || !core->problem.empty()) return report.not_applicable("no libibverbs");
    for (const Library& library : machine.libraries) {
        if (library.part != Part::connections) continue;
        std::vector<std::string> missing;
        for (const std::string& version : library.needed)
            if (std::find(core->defined.begin(), core->defined.end(), version) == core->defined.end())
                missing.push_back(version);
        if (missing.empty()) continue;
        report.add(library.preferred ? Severity::broken : Severity::warning, library.path,
                   fmt::format("it needs {} of libibverbs.so.1, and {} lacks it", listed(missing), core->path),
                   "librdmacm and libibverbs of one release of rdma-core: no program that uses this one starts",
                   "apt install --reinstall libibverbs1 librdmacm1");
    }
    const Library* manager = machine.preferred(Part::connections);
    if (manager != nullptr && !manager->package.empty() && !core->package.empty() &&
        version_of(manager->package) != version_of(core->package))
        report.add(Severity::warning, "librdmacm.so.1", fmt::format("{} next to {}", manager->package, core->package),
                   "both of one release", "apt install libibverbs1 librdmacm1");
    report.fine("what they need of libibverbs it has");
}

void check_processes(const Inventory& machine, Report& report) {
    const Library* core = machine.preferred(Part::verbs);
    for (const ProcessLibraries& process : machine.processes) {
        const std::string who = fmt::format("{} (pid {})", process.command, process.pid);
        if (!process.replaced.empty()) {
            report.add(Severity::warning, who,
                       fmt::format("it runs with {}, since replaced or removed on the disk", listed(process.replaced)),
                       "a process that was started with the libraries that are installed",
                       fmt::format("systemctl restart $(ps -o unit= -p {})  # or start {} again by hand", process.pid,
                                   base::shell_word(process.command)));
            continue;
        }
        std::set<std::string> cores;
        for (const std::string& path : process.paths)
            if (path.find("/libibverbs.so") != std::string::npos) cores.insert(path);
        if (cores.size() > 1)
            report.add(
                Severity::warning, who,
                fmt::format("it has {} libibverbs mapped: {}", cores.size(), listed({cores.begin(), cores.end()})),
                "one: devices, protection domains and queue pairs of one are not the other's",
                fmt::format("grep libibverbs /proc/{}/maps", process.pid));
        else if (cores.size() == 1 && core != nullptr && !process.elsewhere && *cores.begin() != core->path)
            report.add(Severity::note, who,
                       fmt::format("it uses {}, not {}, which the loader takes here", *cores.begin(), core->path), {},
                       fmt::format("tr '\\0' '\\n' < /proc/{}/environ | grep LD_LIBRARY_PATH", process.pid));
    }
    report.fine(fmt::format("{} processes use the stack", machine.processes.size()));
}

void check_ofed(const Inventory& machine, Report& report) {
    if (machine.host.ofed.empty()) return report.not_applicable("no vendor's OFED");
    const Library* core = machine.preferred(Part::verbs);
    // Debian's versions look like 44.0-2, OFED's like 58mlnx43-1.58100.
    const auto is_vendors = [](const Library& library) {
        return library.package.find("mlnx") != std::string::npos || library.package.find("ofed") != std::string::npos;
    };
    if (core != nullptr && !core->package.empty() && !is_vendors(*core))
        report.add(Severity::warning, "libibverbs.so.1",
                   fmt::format("{} is installed, and programs get {}, which is not of it", machine.host.ofed,
                               described(*core)),
                   "userspace and kernel modules of one stack: either all of the OFED or all of the distribution's",
                   "ofed_info -s; dpkg -l | grep -E 'ibverbs|rdmacm'");
    else
        report.add(Severity::note, "ofed_info", machine.host.ofed + " is installed");
}

void check_headers(const Inventory& machine, Report& report) {
    const Library* core = machine.preferred(Part::verbs);
    if (!machine.headers.installed) return report.not_applicable("no headers of libibverbs");
    if (core == nullptr) return report.not_applicable("no libibverbs");
    const std::string_view headers = version_of(machine.headers.package);
    const std::string_view library = version_of(core->package);
    if (headers.empty() || library.empty())
        report.add(Severity::unseen, "/usr/include/infiniband/verbs.h",
                   fmt::format("no package of Debian has {}, so it is unknown whether both are of one release",
                               headers.empty() ? "these headers" : core->path),
                   {}, "dpkg -S /usr/include/infiniband/verbs.h " + base::shell_word(core->path));
    else if (headers != library)
        report.add(Severity::warning, "/usr/include/infiniband/verbs.h",
                   fmt::format("the headers are of {}, the library is of {}", machine.headers.package, core->package),
                   "both of one release: a program compiled here may disagree with the library on structures and calls",
                   "apt install libibverbs-dev libibverbs1");
    report.fine(fmt::format("both are of {}", library));
}

void check_layout(const Inventory& machine, Report& report) {
    const Library* core = machine.preferred(Part::verbs);
    if (core == nullptr || !core->problem.empty()) return report.not_applicable("no libibverbs");
    const auto has = [core](std::string_view version) {
        return std::find(core->defined.begin(), core->defined.end(), version) != core->defined.end();
    };
    // What changed incompatibly got a new version of every call that passes it.
    if (!has("IBVERBS_1.1"))
        report.add(Severity::broken, core->path, "it has no IBVERBS_1.1: its structures are those of before 2007",
                   "rdma-core, or an OFED of this decade", "apt install libibverbs1");
    else
        report.add(Severity::unseen, core->path,
                   fmt::format("its interface is IBVERBS_1.1{}; whether structures are laid out as in a program's own "
                               "headers is not known from a library without debug information",
                               has("IBVERBS_1.0") ? ", and 1.0 for programs of before 2007" : ""),
                   {}, "rdmascope doctor --binary PROGRAM");
}

}  // namespace doctor::checks
