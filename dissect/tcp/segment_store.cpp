#include "dissect/tcp/segment_store.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace dissect::tcp {

SegmentStore::Segment* SegmentStore::store(BufferPool& pool, const Piece& piece) {
    constexpr std::size_t most = BufferPool::largest - sizeof(Segment);
    const auto kept = static_cast<std::uint32_t>(std::min(piece.bytes.size(), most));
    const auto buffer = pool.acquire(sizeof(Segment) + kept);
    if (buffer.data == nullptr) return nullptr;
    auto* segment = new (buffer.data) Segment{nullptr,           piece.frame, piece.time_ns,   piece.sequence,
                                              piece.wire_length, kept,        buffer.capacity, buffer.slab};
    if (kept != 0) std::memcpy(segment + 1, piece.bytes.data(), kept);
    held_bytes_ += buffer.capacity;
    ++segments_;
    octets_ += piece.wire_length;
    return segment;
}

SegmentStore::Stored SegmentStore::insert(BufferPool& pool, Piece piece) {
    Stored result;
    Segment* before = nullptr;
    Segment* after = head_;
    if (tail_ != nullptr && distance(piece.sequence, tail_->end()) >= 0) {
        before = tail_;
        after = nullptr;
    }
    bool first = true;
    while (piece.wire_length != 0) {
        while (after != nullptr && distance(after->end(), piece.sequence) <= 0) {
            before = after;
            after = after->next;
        }
        if (after != nullptr && distance(after->sequence, piece.sequence) <= 0) {
            if (first) result.known = after->frame;
            piece.drop(std::min(piece.wire_length, after->end() - piece.sequence));
            first = false;
            continue;
        }
        Piece fitting = piece;
        if (after != nullptr) fitting.wire_length = std::min(piece.wire_length, after->sequence - piece.sequence);
        fitting.bytes = fitting.bytes.first(std::min<std::size_t>(fitting.bytes.size(), fitting.wire_length));
        Segment* fresh = store(pool, fitting);
        if (fresh == nullptr) {
            result.full = true;
            return result;
        }
        fresh->next = after;
        (before == nullptr ? head_ : before->next) = fresh;
        if (after == nullptr) tail_ = fresh;
        before = fresh;
        result.any = true;
        first = false;
        piece.drop(fitting.wire_length);
    }
    return result;
}

SegmentStore::Segment* SegmentStore::pop() {
    Segment* segment = head_;
    head_ = segment->next;
    if (head_ == nullptr) tail_ = nullptr;
    if (last_found_ == segment) last_found_ = nullptr;
    held_bytes_ -= segment->capacity;
    --segments_;
    octets_ -= segment->wire_length;
    return segment;
}

namespace {
const SegmentStore::Segment* last_of_run(const SegmentStore::Segment* segment) {
    while (segment->next != nullptr && segment->next->sequence == segment->end()) segment = segment->next;
    return segment;
}
}  // namespace

std::uint32_t SegmentStore::run_end() const { return head_ == nullptr ? 0 : last_of_run(head_)->end(); }
const SegmentStore::Segment* SegmentStore::behind_run() const {
    return head_ == nullptr ? nullptr : last_of_run(head_)->next;
}

const SegmentStore::Segment* SegmentStore::find(std::uint32_t sequence) const {
    const Segment* segment = head_;
    if (last_found_ != nullptr && distance(last_found_->sequence, sequence) <= 0) segment = last_found_;
    for (; segment != nullptr && distance(segment->sequence, sequence) <= 0; segment = segment->next) {
        if (distance(segment->end(), sequence) > 0) {
            last_found_ = segment;
            return segment;
        }
    }
    return nullptr;
}

std::uint32_t SegmentStore::peek(std::uint32_t sequence, std::byte* out, std::uint32_t size) const {
    std::uint32_t done = 0;
    const Segment* segment = find(sequence);
    while (done < size && segment != nullptr) {
        const std::uint32_t within = sequence + done - segment->sequence;
        if (within >= segment->captured) break;
        const std::uint32_t count = std::min(size - done, segment->captured - within);
        std::memcpy(out + done, segment->data() + within, count);
        done += count;
        if (within + count < segment->wire_length) break;
        const Segment* next = segment->next;
        segment = next != nullptr && next->sequence == segment->end() ? next : nullptr;
    }
    return done;
}

}  // namespace dissect::tcp
