#include "dissect/tcp/buffer_pool.h"

#include <new>

namespace dissect::tcp {

BufferPool::Buffer BufferPool::acquire(std::size_t size) {
    // What comes back first need not be of this size, or fill a slab.
    constexpr unsigned most_attempts = 64;
    Buffer buffer = take(size);
    for (unsigned i = 0; buffer.data == nullptr && size <= largest && i < most_attempts; ++i) {
        if (!on_shortage || !on_shortage()) break;
        buffer = take(size);
    }
    return buffer;
}

BufferPool::Buffer BufferPool::take(std::size_t size) {
    for (std::uint32_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] < size) continue;
        // If the fitting size has run out, a larger piece is used.
        if (open_[i] == none && !grow(i)) continue;
        const std::uint32_t index = open_[i];
        Slab& slab = slabs_[index];
        std::byte* data = slab.octets.get() + slab.used;
        if (slab.free != nullptr) {
            data = reinterpret_cast<std::byte*>(slab.free);
            slab.free = slab.free->next;
        } else {
            slab.used += sizes[i];
        }
        ++slab.lent;
        if (slab.exhausted()) unlink(open_[i], index);
        return {data, sizes[i], index};
    }
    return {};
}

void BufferPool::release(Buffer buffer) {
    if (buffer.data == nullptr) return;
    Slab& slab = slabs_[buffer.slab];
    std::uint32_t& open = open_[slab.size_class];
    if (slab.exhausted()) link(open, buffer.slab);
    slab.free = new (buffer.data) FreePiece{slab.free};
    if (--slab.lent != 0) return;
    unlink(open, buffer.slab);
    slab.free = nullptr;
    slab.used = 0;
    link(empty_, buffer.slab);
}

/// Gives a size one more slab.
bool BufferPool::grow(std::uint32_t size_class) {
    std::uint32_t index = empty_;
    if (index != none) {
        unlink(empty_, index);
    } else {
        if (reserved_bytes_ + largest > limit_bytes_) return false;
        index = static_cast<std::uint32_t>(slabs_.size());
        slabs_.emplace_back().octets = std::make_unique_for_overwrite<std::byte[]>(largest);
        reserved_bytes_ += largest;
    }
    slabs_[index].size_class = size_class;
    link(open_[size_class], index);
    return true;
}

void BufferPool::link(std::uint32_t& head, std::uint32_t index) {
    slabs_[index].previous = none;
    slabs_[index].next = head;
    if (head != none) slabs_[head].previous = index;
    head = index;
}

void BufferPool::unlink(std::uint32_t& head, std::uint32_t index) {
    const Slab& slab = slabs_[index];
    (slab.previous == none ? head : slabs_[slab.previous].next) = slab.next;
    if (slab.next != none) slabs_[slab.next].previous = slab.previous;
}

}  // namespace dissect::tcp
