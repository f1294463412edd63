#include "doctor/inventory/loader_path.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fnmatch.h>

#include "base/ascii.h"
#include "doctor/strings.h"

namespace doctor::inline inventory {

namespace {

constexpr std::size_t most_folders = 256;
constexpr unsigned deepest_include = 8;

// glibc, sysdeps/generic/dl-cache.h
constexpr std::string_view cache_magic = "glibc-ld.so.cache1.1";
constexpr std::size_t cache_header = 48, cache_entry = 24;
#if defined(__aarch64__)
constexpr std::uint32_t wanted_flags = 0x0a03;
#else
constexpr std::uint32_t wanted_flags = 0x0303;
#endif

template <class Number>
Number number_at(std::string_view octets, std::size_t at) {
    Number number = 0;
    std::memcpy(&number, octets.data() + at, sizeof number);
    return number;
}

std::string_view text_at(std::string_view octets, std::size_t at) {
    if (at >= octets.size()) return {};
    const std::string_view rest = octets.substr(at, 4096);
    const std::size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

void add_folder(std::vector<std::string>& folders, std::string_view folder) {
    if (folder.starts_with('/') && folders.size() < most_folders &&
        std::find(folders.begin(), folders.end(), folder) == folders.end())
        folders.emplace_back(folder);
}

void read_configuration(const Root& root, const std::string& path, std::vector<std::string>& folders, unsigned depth) {
    if (depth > deepest_include || folders.size() >= most_folders) return;
    const Content file = root.read(path);
    for (std::string_view line : lines(file.octets)) {
        line = base::trimmed(line.substr(0, line.find('#')));
        const auto parts = words(line);
        if (parts.size() != 2 || parts[0] != "include") {
            add_folder(folders, line);
            continue;
        }
        std::string pattern(parts[1]);
        if (!pattern.starts_with('/')) pattern = "/etc/" + pattern;
        const std::size_t slash = pattern.rfind('/');
        for (const std::string& name : root.list(pattern.substr(0, slash)))
            if (::fnmatch(pattern.c_str() + slash + 1, name.c_str(), FNM_PERIOD) == 0)
                read_configuration(root, pattern.substr(0, slash + 1) + name, folders, depth + 1);
    }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> read_loader_cache(std::string_view octets) {
    std::vector<std::pair<std::string, std::string>> found;
    // An older format may stand before it; offsets count from this one's magic.
    const std::size_t begin = octets.find(cache_magic);
    if (begin == std::string_view::npos) return found;
    octets.remove_prefix(begin);
    if (octets.size() < cache_header) return found;
    const std::size_t count =
        std::min<std::size_t>(number_at<std::uint32_t>(octets, 20), (octets.size() - cache_header) / cache_entry);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = cache_header + i * cache_entry;
        if (number_at<std::uint32_t>(octets, at) != wanted_flags || number_at<std::uint64_t>(octets, at + 16) != 0)
            continue;
        const std::string_view name = text_at(octets, number_at<std::uint32_t>(octets, at + 4));
        const std::string_view path = text_at(octets, number_at<std::uint32_t>(octets, at + 8));
        if (!name.empty() && path.starts_with('/')) found.emplace_back(name, path);
    }
    return found;
}

LoaderPath::LoaderPath(const Root& root) {
    const Content environment = root.read("/proc/self/environ", std::size_t{1} << 20);
    for (std::string_view variable : split(environment.octets, '\0')) {
        constexpr std::string_view name = "LD_LIBRARY_PATH=";
        if (!variable.starts_with(name)) continue;
        for (std::string_view folder : split(variable.substr(name.size()), ':')) add_folder(environment_, folder);
    }
    read_configuration(root, "/etc/ld.so.conf", folders_, 0);
#if defined(__aarch64__)
    constexpr std::string_view triplet = "aarch64-linux-gnu";
#else
    constexpr std::string_view triplet = "x86_64-linux-gnu";
#endif
    for (const char* folder : {"/lib/", "/usr/lib/"}) add_folder(folders_, std::string(folder).append(triplet));
    for (const char* folder : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"}) add_folder(folders_, folder);
    const Content cache = root.read("/etc/ld.so.cache", std::size_t{16} << 20);
    has_cache_ = cache.octets.find(cache_magic) != std::string::npos;
    for (auto& [name, path] : read_loader_cache(cache.octets)) cache_.emplace(std::move(name), std::move(path));
}

std::string LoaderPath::cached(std::string_view name) const {
    const auto at = cache_.lower_bound(name);
    return at == cache_.end() || at->first != name ? std::string{} : at->second;
}

std::string LoaderPath::find(const Root& root, std::string_view name) const {
    for (const std::string& folder : environment_)
        if (root.has(folder / name)) return folder / name;
    if (const std::string path = cached(name); !path.empty() && root.has(path)) return path;
    for (const std::string& folder : folders_) {
        // Folders of ld.so.conf count by way of the cache alone, where there is one.
        const bool built_in = folder.starts_with("/lib") || folder.starts_with("/usr/lib");
        if ((!has_cache_ || built_in) && root.has(folder / name)) return folder / name;
    }
    return {};
}

}  // namespace doctor::inventory
