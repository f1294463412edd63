#include "base/own_path.h"

#include <array>
#include <unistd.h>

namespace base {

std::string own_path() {
    std::array<char, 4096> path{};
    const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
    return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : "rdmascope";
}

}  // namespace base
