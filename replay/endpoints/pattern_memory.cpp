#include "replay/endpoints/pattern_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "iwarp/iwarp.h"

namespace replay::inline endpoints {

namespace {

[[noreturn]] void fail(std::uint64_t octets) {
    throw iwarp::Error(
        fmt::format("memory for messages of {} bytes is not to be had: {}", octets, std::strerror(errno)));
}

}  // namespace

PatternMemory::PatternMemory(std::uint64_t octets, bool patterned)
    : size_((std::max<std::uint64_t>(octets, 1) + period - 1) / period * period) {
    base::Descriptor pages(::memfd_create("rdmascope-replay", MFD_CLOEXEC));
    if (!pages) fail(octets);
    void* whole = MAP_FAILED;
    if (::ftruncate(pages.number(), period) == 0)
        whole = ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (whole != MAP_FAILED) octets_ = static_cast<std::byte*>(whole);
    bool mapped = octets_ != nullptr;
    for (std::size_t at = 0; mapped && at < size_; at += period)
        mapped = ::mmap(octets_ + at, period, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, pages.number(), 0) !=
                 MAP_FAILED;
    pages.reset();
    if (!mapped) {
        if (octets_ != nullptr) ::munmap(octets_, size_);
        fail(octets);
    }
    if (patterned)
        for (std::size_t at = 0; at < period; ++at) octets_[at] = pattern(at);
}

PatternMemory::~PatternMemory() { ::munmap(octets_, size_); }

}  // namespace replay::endpoints
