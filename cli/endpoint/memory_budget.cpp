#include "cli/endpoint/memory_budget.h"

#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <sys/mman.h>
#include <utility>

#include "iwarp/iwarp.h"

namespace cli::endpoint {

Memory::Memory(std::size_t octets) : size_(octets) {
    if (octets == 0) return;
    void* got = ::mmap(nullptr, octets, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED)
        throw iwarp::Error(
            fmt::format("{} bytes of memory are not to be had: {}; ask for a smaller --size, --depth "
                        "or --region",
                        octets, std::strerror(errno)));
    octets_ = static_cast<std::byte*>(got);
}

Memory::~Memory() {
    if (octets_ != nullptr) ::munmap(octets_, size_);
}

Memory::Memory(Memory&& other) noexcept
    : octets_(std::exchange(other.octets_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
    std::swap(octets_, other.octets_);
    std::swap(size_, other.size_);
    return *this;
}

}  // namespace cli::endpoint
