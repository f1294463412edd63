#include "base/file.h"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open_file.h"

namespace base {

std::optional<std::string> read_file(const std::string& path, std::size_t most) {
    const auto opened = open_regular_file(path);
    if (!opened) {
        errno = opened.error().code;
        return std::nullopt;
    }
    return read_file(opened->number(), most);
}

std::optional<std::string> read_file(int descriptor, std::size_t most) {
    constexpr std::size_t least_step = 4096;
    std::string octets;
    while (octets.size() < most) {
        const std::size_t before = octets.size();
        octets.resize(before + std::min(most - before, std::max(before, least_step)));
        const ssize_t got = ::read(descriptor, octets.data() + before, octets.size() - before);
        octets.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got == 0) break;
        if (got < 0 && errno != EINTR) return std::nullopt;
    }
    return octets;
}

std::string first_line(const std::string& path) {
    constexpr std::size_t longest = std::size_t{64} << 10;
    std::string line = read_file(path, longest).value_or(std::string());
    line.resize(std::min(line.find('\n'), line.size()));
    return line;
}

bool is_removed(int descriptor) {
    struct stat facts {};
    return ::fstat(descriptor, &facts) == 0 && facts.st_nlink == 0;
}

bool write_all(int descriptor, std::string_view octets) {
    while (!octets.empty()) {
        const ssize_t done = ::write(descriptor, octets.data(), octets.size());
        if (done < 0 && errno == EINTR) continue;
        if (done == 0) errno = EIO;
        if (done <= 0) return false;
        octets.remove_prefix(static_cast<std::size_t>(done));
    }
    return true;
}

bool write_all(int descriptor, std::span<const std::byte> octets) {
    return write_all(descriptor, std::string_view(reinterpret_cast<const char*>(octets.data()), octets.size()));
}

}  // namespace base
