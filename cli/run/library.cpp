#include "cli/run/library.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fmt/core.h>
#include <iterator>
#include <unistd.h>

#include "base/elf_image.h"
#include "base/file.h"

namespace cli::run {

namespace {
/// ld.so prints a warning if it cannot load a file, and runs the program without it. So the file is checked here.
std::string damage_of(const std::string& path) {
    auto octets = base::read_file(path);
    if (!octets) return std::strerror(errno);
    const base::ElfImage library(std::move(*octets));
    return library.error().empty() ? library.damage() : library.error();
}
}  // namespace

std::string find_library(const char* name, const char* purpose, std::string& path) {
    std::array<char, PATH_MAX> buffer{};
    const ssize_t size = readlink("/proc/self/exe", buffer.data(), buffer.size());
    const std::string self(buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    const std::string folder = self.substr(0, self.rfind('/'));
    std::string looked;
    path.clear();
    for (const char* const place : {"/", "/../lib/rdmascope/"}) {
        const std::string here = folder + place + name;
        if (realpath(here.c_str(), buffer.data()) != nullptr) {
            path = buffer.data();
            break;
        }
        looked += (looked.empty() ? "neither " : " nor ") + here;
    }
    if (path.empty())
        return fmt::format(
            "the library {} is not installed: there is {}. rdmascope builds it where libibverbs-dev and librdmacm-dev "
            "are",
            purpose, looked);
    // Blanks and colons separate names in LD_PRELOAD, and cannot be quoted.
    if (path.find_first_of(" :") != std::string::npos)
        return fmt::format("{} cannot be preloaded: its path has a space or a colon", path);
    if (const std::string damage = damage_of(path); !damage.empty())
        return fmt::format("{} cannot be preloaded: {}; install rdmascope again", path, damage);
    return {};
}

void preload(const std::string& path) {
    const char* const earlier = std::getenv("LD_PRELOAD");
    const bool has_earlier = earlier != nullptr && *earlier != '\0';
    setenv("LD_PRELOAD", (has_earlier ? std::string(earlier) + ":" + path : path).c_str(), 1);
}

}  // namespace cli::run
