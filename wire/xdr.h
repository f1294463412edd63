#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace wire {

/// Reads External Data Representation from the beginning of a message, RFC 4506. If bytes are missing, reading ends:
/// all further numbers are 0 and all further texts are empty.
class XdrReader {
public:
    explicit XdrReader(base::Bytes bytes, std::uint32_t offset = 0)
        : bytes_(bytes), offset_(std::min(offset, static_cast<std::uint32_t>(bytes.size()))) {}

    /// True if bytes were missing.
    bool ended() const { return ended_; }
    void end() { ended_ = true; }
    /// Offset of the next byte.
    std::uint32_t offset() const { return offset_; }
    std::uint32_t left() const { return static_cast<std::uint32_t>(bytes_.size()) - offset_; }
    base::Bytes bytes() const { return bytes_; }

    std::uint32_t u32() {
        const std::byte* first = take(4);
        return first == nullptr ? 0 : base::load_be32(first);
    }
    std::uint64_t u64() {
        const std::byte* first = take(8);
        return first == nullptr ? 0 : base::load_be64(first);
    }
    base::Bytes fixed(std::uint32_t size) {
        const std::byte* first = take(size);
        return first == nullptr ? base::Bytes{} : base::Bytes{first, size};
    }
    /// Reads a length, that number of bytes, and the padding to a multiple of four. If the capture cut the bytes,
    /// returns those that are there.
    base::Bytes opaque() {
        const std::uint32_t size = u32();
        if (ended_) return {};
        return opaque_of(size);
    }
    /// Reads bytes and padding whose length was read before.
    base::Bytes opaque_of(std::uint32_t size) {
        const base::Bytes there = bytes_.subspan(offset_, std::min(size, left()));
        const std::uint64_t padded = (std::uint64_t{size} + 3) / 4 * 4;
        if (padded > left() && size > left()) ended_ = true;
        offset_ += static_cast<std::uint32_t>(std::min<std::uint64_t>(padded, left()));
        return there;
    }
    void skip(std::uint64_t size) {
        if (size > left()) ended_ = true;
        if (!ended_) offset_ += static_cast<std::uint32_t>(size);
    }

private:
    const std::byte* take(std::uint32_t size) {
        if (ended_ || size > left()) {
            ended_ = true;
            return nullptr;
        }
        const std::byte* first = bytes_.data() + offset_;
        offset_ += size;
        return first;
    }

    base::Bytes bytes_;
    std::uint32_t offset_;
    bool ended_ = false;
};

}  // namespace wire
