#include "tests/support/allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace support {
namespace {
std::atomic<std::uint64_t> count{0};
std::atomic<std::size_t> failing_size{0};
std::atomic<int> passes_left{0};

void* counted(std::size_t size, std::size_t alignment) {
    count.fetch_add(1, std::memory_order_relaxed);
    const std::size_t failing = failing_size.load(std::memory_order_relaxed);
    if (failing != 0 && size >= failing && passes_left.fetch_sub(1) <= 0) throw std::bad_alloc();
    void* memory = alignment <= alignof(std::max_align_t)
                       ? std::malloc(size == 0 ? 1 : size)
                       : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
}  // namespace

std::uint64_t allocations() { return count.load(std::memory_order_relaxed); }

void fail_allocations_of(std::size_t size, int passes) {
    passes_left = passes;
    failing_size = size;
}

}  // namespace support

// The array forms of the standard library call these. Its nothrow form would, too; a sanitizer's does not.
void* operator new(std::size_t size) { return support::counted(size, 1); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept try {
    return support::counted(size, 1);
} catch (const std::bad_alloc&) {
    return nullptr;
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return support::counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
