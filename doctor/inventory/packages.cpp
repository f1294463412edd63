#include <algorithm>

#include "base/ascii.h"
#include "doctor/inventory/readers.h"
#include "doctor/strings.h"

namespace doctor::inline inventory {

namespace {

constexpr std::size_t longest_list = std::size_t{8} << 20;
constexpr std::size_t longest_status = std::size_t{64} << 20;

/// Package -> version, of /var/lib/dpkg/status.
std::map<std::string, std::string, std::less<>> versions(const Root& root) {
    std::map<std::string, std::string, std::less<>> found;
    const Content status = root.read("/var/lib/dpkg/status", longest_status);
    std::string package;
    for (std::string_view line : lines(status.octets)) {
        if (line.starts_with("Package: ")) package = base::trimmed(line.substr(9));
        if (line.starts_with("Version: ") && !package.empty()) found[package] = base::trimmed(line.substr(9));
        if (line.empty()) package.clear();
    }
    return found;
}

/// A list may name a file by /lib where the file is in /usr/lib, since /lib became a link.
std::string_view without_usr(std::string_view path) {
    for (const std::string_view folder : {"/usr/lib", "/usr/bin", "/usr/sbin"})
        if (path.starts_with(folder)) return path.substr(4);
    return path;
}

}  // namespace

std::map<std::string, std::string> debian_owners(const Root& root, const std::vector<std::string>& paths) {
    std::map<std::string, std::string> owners;
    std::map<std::string_view, std::vector<const std::string*>> wanted;
    for (const std::string& path : paths) wanted[without_usr(path)].push_back(&path);
    if (wanted.empty()) return owners;
    for (const std::string& name : root.list("/var/lib/dpkg/info")) {
        if (!name.ends_with(".list")) continue;
        const Content list = root.read("/var/lib/dpkg/info/" + name, longest_list);
        // Most packages have nothing of what is asked for: look before cutting it into lines.
        if (list.octets.find("ibverbs") == std::string::npos && list.octets.find("rdma") == std::string::npos &&
            list.octets.find("infiniband") == std::string::npos && list.octets.find("/opt/") == std::string::npos &&
            list.octets.find("/usr/local/") == std::string::npos)
            continue;
        for (std::string_view line : lines(list.octets)) {
            const auto at = wanted.find(without_usr(line));
            if (at == wanted.end()) continue;
            for (const std::string* path : at->second)
                owners[*path] = name.substr(0, std::min(name.find(':'), name.size() - 5));
        }
    }
    if (owners.empty()) return owners;
    const auto known = versions(root);
    for (auto& [path, package] : owners)
        if (const auto at = known.find(package); at != known.end()) package += " " + at->second;
    return owners;
}

}  // namespace doctor::inventory
