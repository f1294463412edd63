#include "tests/script/runner/guarded_memory.h"

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>

namespace script {

GuardedMemory::GuardedMemory(std::size_t size, bool low) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inner = std::max(page, (size + page - 1) / page * page);
    mapped_ = inner + 2 * page;
    void* map = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) throw Failure("there is no memory for a region");
    pages_ = static_cast<std::byte*>(map);
    usable_ = {pages_ + page, inner};
    if (mprotect(usable_.data(), inner, PROT_READ | PROT_WRITE) != 0) throw Failure("guard pages cannot be had");
    for (std::size_t i = 0; i < inner; ++i) usable_[i] = static_cast<std::byte>(0xa0 + i * 7 % 83);
    octets_ = low ? usable_.first(size) : usable_.last(size);
    shadow_.assign(usable_.begin(), usable_.end());
}

GuardedMemory::~GuardedMemory() { munmap(pages_, mapped_); }

void GuardedMemory::accept(std::size_t offset, View octets) {
    const auto at = octets_.data() - usable_.data() + static_cast<std::ptrdiff_t>(offset);
    std::copy(octets.begin(), octets.end(), shadow_.begin() + at);
}

void GuardedMemory::write(std::size_t offset, View octets) {
    std::copy(octets.begin(), octets.end(), octets_.begin() + static_cast<std::ptrdiff_t>(offset));
    accept(offset, octets);
}

std::string GuardedMemory::unexpected_change() const {
    const auto found = std::mismatch(usable_.begin(), usable_.end(), shadow_.begin());
    if (found.first == usable_.end()) return {};
    const auto place = (found.first - usable_.begin()) - (octets_.data() - usable_.data());
    const auto shown = static_cast<std::size_t>(std::min<std::ptrdiff_t>(16, usable_.end() - found.first));
    return "from octet " + std::to_string(place) + " on there is " + hex(View(&*found.first, shown)) + " instead of " +
           hex(View(&*found.second, shown));
}

}  // namespace script
