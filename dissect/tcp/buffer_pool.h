#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/bytes.h"

namespace dissect::tcp {

/// Memory for data that must be kept beyond a frame: pieces in a few sizes, recycled, never more than the limit in all.
/// Once there are as many pieces as the traffic needs, nothing more is allocated. A slab whose pieces have all been
/// returned serves any size again, so that a burst of one size does not take memory from the others.
class BufferPool {
public:
    /// A piece in use. The caller returns it explicitly, because it travels through plain structs that are recycled.
    struct Buffer {
        std::byte* data = nullptr;
        std::uint32_t capacity = 0;
        std::uint32_t slab = 0;
    };
    static constexpr std::size_t largest = 73728;  ///< an FPDU of 64 KiB with its markers, a segment of 64 KiB

    explicit BufferPool(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

    /// At least `size` bytes, 16-aligned; `data` is nullptr if the limit is reached or if `size` exceeds `largest`.
    Buffer acquire(std::size_t size);
    void release(Buffer buffer);
    std::size_t reserved_bytes() const { return reserved_bytes_; }
    /// The memory that a piece of this size takes without shortage; `size` is at most `largest`.
    static constexpr std::size_t piece_octets(std::size_t size) {
        std::size_t i = 0;
        while (sizes[i] < size) ++i;
        return sizes[i];
    }

    /// Called when the limit is reached: returns pieces to the pool, and whether there were any.
    std::function<bool()> on_shortage;

private:
    static constexpr std::array<std::uint32_t, 5> sizes = {256, 768, 2048, 18432, largest};
    static constexpr std::uint32_t none = 0xffffffff;
    struct FreePiece {
        FreePiece* next;
    };
    /// `largest` bytes in pieces of one size: returned pieces, and after `used` those that were never in use.
    struct Slab {
        std::unique_ptr<std::byte[]> octets;
        FreePiece* free = nullptr;
        std::uint32_t used = 0;
        std::uint32_t lent = 0;  ///< pieces
        std::uint32_t size_class = 0;
        std::uint32_t next = none;  ///< the next slab of its size with a free piece, or of those without a size
        std::uint32_t previous = none;

        bool exhausted() const { return free == nullptr && used + sizes[size_class] > largest; }
    };

    static constexpr std::array<std::uint32_t, sizes.size()> none_of_each() {
        std::array<std::uint32_t, sizes.size()> all{};
        all.fill(none);
        return all;
    }
    Buffer take(std::size_t size);
    bool grow(std::uint32_t size_class);
    void link(std::uint32_t& head, std::uint32_t index);
    void unlink(std::uint32_t& head, std::uint32_t index);

    std::array<std::uint32_t, sizes.size()> open_ = none_of_each();
    std::uint32_t empty_ = none;
    std::vector<Slab> slabs_;
    std::size_t reserved_bytes_ = 0;
    std::size_t limit_bytes_;
};

}  // namespace dissect::tcp
