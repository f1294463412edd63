#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "doctor/inventory/readers.h"
#include "doctor/strings.h"

namespace doctor::inline inventory {

namespace {

constexpr std::size_t most_processes = 8192;
constexpr std::size_t longest_map = std::size_t{4} << 20;

bool is_stack_library(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return name.starts_with("libibverbs.so") || name.starts_with("librdmacm.so") ||
           (name.starts_with("lib") && (name.find("-rdmav") != std::string_view::npos));
}

/// The stack's libraries in a /proc/PID/maps (proc(5)).
void read_maps(std::string_view maps, ProcessLibraries& into) {
    std::set<std::string_view> paths;
    for (std::string_view line : lines(maps)) {
        const std::size_t slash = line.find('/');
        if (slash != std::string_view::npos) paths.insert(line.substr(slash));
    }
    for (std::string_view path : paths) {
        constexpr std::string_view mark = " (deleted)";
        const bool replaced = path.ends_with(mark);
        if (replaced) path.remove_suffix(mark.size());
        if (!is_stack_library(path)) continue;
        into.paths.emplace_back(path);
        if (replaced) into.replaced.emplace_back(path);
    }
}

}  // namespace

std::vector<ProcessLibraries> look_at_processes(const Root& root, std::vector<std::string>& unseen) {
    std::vector<ProcessLibraries> found;
    const std::string own = root.link_name("/proc/self").value_or("");
    const auto own_mounts = root.link_name("/proc/self/ns/mnt");
    std::size_t looked = 0, denied = 0;
    for (const std::string& name : root.list("/proc")) {
        const auto pid = number_in(name);
        if (!pid || name.find_first_not_of("0123456789") != std::string::npos || name == own) continue;
        if (++looked > most_processes) {
            unseen.push_back(fmt::format("processes beyond the first {}", most_processes));
            break;
        }
        const std::string folder = "/proc/" + name;
        const Content maps = root.read(folder / "maps", longest_map);
        if (maps.sight == Sight::denied) ++denied;
        ProcessLibraries process;
        read_maps(maps.octets, process);
        if (process.paths.empty()) continue;
        process.pid = static_cast<std::uint32_t>(*pid);
        process.command = root.line(folder / "comm").value_or("");
        const auto mounts = root.link_name(folder / "ns/mnt");
        process.elsewhere = own_mounts && mounts && *mounts != *own_mounts;
        found.push_back(std::move(process));
    }
    if (denied > 0)
        unseen.push_back(
            fmt::format("which libraries {} processes of other users have mapped (root may see it)", denied));
    return found;
}

}  // namespace doctor::inventory
