#pragma once
#include <cstdint>

#include "base/bytes.h"
#include "dissect/tcp/buffer_pool.h"
#include "dissect/tcp/sequence.h"

namespace dissect::tcp {

/// A stretch of a TCP stream. `bytes` are its first bytes, as many as were captured of `wire_length`.
struct Piece {
    std::uint32_t sequence = 0;
    std::uint32_t wire_length = 0;
    base::Bytes bytes;
    std::uint64_t frame = 0;   ///< that carried it
    std::int64_t time_ns = 0;  ///< when it passed

    std::uint32_t end() const { return sequence + wire_length; }
    /// Drops the first bytes; `count` is at most `wire_length`.
    void drop(std::uint32_t count) {
        sequence += count;
        wire_length -= count;
        bytes = bytes.subspan(count < bytes.size() ? count : bytes.size());
    }
};

/// Segments kept for later: ahead of a gap, or waiting until an FPDU boundary is found. In the order of the stream and
/// without overlap: the first copy is kept.
class SegmentStore {
public:
    struct Segment {
        Segment* next;
        std::uint64_t frame;
        std::int64_t time_ns;
        std::uint32_t sequence;
        std::uint32_t wire_length;
        std::uint32_t captured;
        std::uint32_t capacity;  ///< of the buffer that holds this header and the bytes after it
        std::uint32_t slab;      ///< the slab of that buffer

        const std::byte* data() const { return reinterpret_cast<const std::byte*>(this + 1); }
        std::uint32_t end() const { return sequence + wire_length; }
        bool holed() const { return captured < wire_length; }
        Piece piece() const { return {sequence, wire_length, {data(), captured}, frame, time_ns}; }
    };
    struct Stored {
        bool any = false;         ///< part of it was new
        bool full = false;        ///< no memory for it, or for a part of it
        std::uint64_t known = 0;  ///< the frame that had carried its first byte before; 0 if that byte was new
    };

    bool empty() const { return head_ == nullptr; }
    const Segment* head() const { return head_; }
    const Segment* tail() const { return empty() ? nullptr : tail_; }
    std::uint32_t held_bytes() const { return held_bytes_; }
    std::uint32_t segments() const { return segments_; }
    std::uint64_t octets() const { return octets_; }

    Stored insert(BufferPool& pool, Piece piece);
    /// Takes the first segment out; the caller returns it to the pool with `release`.
    Segment* pop();
    static void release(BufferPool& pool, Segment* segment) {
        pool.release({reinterpret_cast<std::byte*>(segment), segment->capacity, segment->slab});
    }
    void drop_head(BufferPool& pool) { release(pool, pop()); }
    void clear(BufferPool& pool) {
        while (!empty()) drop_head(pool);
    }

    /// The end of the bytes that follow each other without a gap, from the head on.
    std::uint32_t run_end() const;
    /// The first segment after that; nullptr if absent.
    const Segment* behind_run() const;
    /// Copies up to `size` bytes from `sequence` on, as many as were captured without a hole; returns the number.
    std::uint32_t peek(std::uint32_t sequence, std::byte* out, std::uint32_t size) const;
    /// The segment that holds `sequence`; nullptr if none does.
    const Segment* find(std::uint32_t sequence) const;

private:
    Segment* store(BufferPool& pool, const Piece& piece);

    Segment* head_ = nullptr;
    Segment* tail_ = nullptr;
    mutable const Segment* last_found_ = nullptr;  ///< lookups go forward: most hit here or just after
    std::uint32_t held_bytes_ = 0;
    std::uint32_t segments_ = 0;
    std::uint64_t octets_ = 0;
};

}  // namespace dissect::tcp
