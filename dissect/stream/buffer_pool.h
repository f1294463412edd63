#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "wire/bytes.h"

namespace dissect::stream {

/// Memory for what must be kept beyond a frame: pieces in a few sizes, recycled, never more than the limit in all.
/// Once as much is in hand as the traffic needs, nothing is allocated any more.
class BufferPool {
public:
    /// A piece on loan. Given back by hand: it travels through plain structs that are themselves recycled.
    struct Buffer {
        std::byte* data = nullptr;
        std::uint32_t capacity = 0;
    };
    static constexpr std::size_t largest = 73728;  ///< an FPDU of 64 KiB with its markers, a segment of 64 KiB

    explicit BufferPool(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

    /// At least `size` octets, 16-aligned; `data` is nullptr where the limit is reached or `size` exceeds `largest`.
    Buffer acquire(std::size_t size);
    void release(Buffer buffer);
    std::size_t reserved_bytes() const { return reserved_bytes_; }

private:
    static constexpr std::array<std::uint32_t, 4> sizes = {256, 2048, 16384, largest};
    struct FreePiece {
        FreePiece* next;
    };

    bool grow(std::size_t size_class);

    std::array<FreePiece*, sizes.size()> free_{};
    std::vector<std::unique_ptr<std::byte[]>> slabs_;
    std::size_t reserved_bytes_ = 0;
    std::size_t limit_bytes_;
};

}  // namespace dissect::stream
