#include "dissect/stream/buffer_pool.h"

#include <algorithm>
#include <new>

namespace dissect::stream {

BufferPool::Buffer BufferPool::acquire(std::size_t size) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] < size) continue;
        // Where the fitting size has run out for good, a larger piece does as well.
        if (free_[i] == nullptr && !grow(i)) continue;
        FreePiece* piece = free_[i];
        free_[i] = piece->next;
        return {reinterpret_cast<std::byte*>(piece), sizes[i]};
    }
    return {};
}

void BufferPool::release(Buffer buffer) {
    if (buffer.data == nullptr) return;
    const auto at = std::find(sizes.begin(), sizes.end(), buffer.capacity) - sizes.begin();
    auto& head = free_[static_cast<std::size_t>(at)];
    head = new (buffer.data) FreePiece{head};
}

bool BufferPool::grow(std::size_t size_class) {
    const std::size_t size = sizes[size_class];
    const std::size_t slab = std::max<std::size_t>(size, 65536 / size * size);
    if (reserved_bytes_ + slab > limit_bytes_) return false;
    slabs_.push_back(std::make_unique_for_overwrite<std::byte[]>(slab));
    reserved_bytes_ += slab;
    for (std::size_t at = 0; at + size <= slab; at += size)
        release({slabs_.back().get() + at, static_cast<std::uint32_t>(size)});
    return true;
}

}  // namespace dissect::stream
