#include "base/memory_size.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <unistd.h>

#include "base/file.h"

namespace base {

namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/// "max" is no number, and no limit.
std::uint64_t limit_in(const std::string& path) {
    const std::string line = first_line(path);
    std::uint64_t limit = unlimited;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), limit);
    return error == std::errc{} && end != line.data() ? limit : unlimited;
}

/// The least limit of the process's group and of those that it is in.
std::uint64_t group_limit(const std::string& root) {
    const std::optional<std::string> groups = read_file(root + "/proc/self/cgroup");
    constexpr std::string_view version_2 = "0::";
    const std::size_t begin = groups ? groups->find(version_2) : std::string::npos;
    if (begin == std::string::npos) return unlimited;
    const std::size_t from = begin + version_2.size();
    std::string group = groups->substr(from, groups->find('\n', from) - from);
    std::uint64_t least = limit_in(root + "/sys/fs/cgroup/memory.max");
    while (group.size() > 1) {
        least = std::min(least, limit_in(root + "/sys/fs/cgroup" + group + "/memory.max"));
        group.erase(group.rfind('/'));
    }
    return least;
}

}  // namespace

std::uint64_t memory_size(const std::string& root) {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_bytes = sysconf(_SC_PAGESIZE);
    const std::uint64_t machine = pages > 0 && page_bytes > 0
                                      ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes)
                                      : unlimited;
    return std::min(machine, group_limit(root));
}

}  // namespace base
