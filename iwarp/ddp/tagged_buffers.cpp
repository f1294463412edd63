#include "iwarp/ddp/tagged_buffers.h"

#include <algorithm>
#include <bit>
#include <random>

#include "base/hash.h"

namespace iwarp::ddp {

namespace {

constexpr std::size_t most_entries = (std::size_t{1} << 24) - 1;
/// A slot rests until this number of others was given up after it, as long as there are fresh ones.
constexpr std::uint32_t resting_slots = 1024;

std::uintptr_t number_of(const std::byte* address) {
    return reinterpret_cast<std::uintptr_t>(address);  // peers' and users' ranges are compared as numbers
}

bool associated(const TaggedBuffer& buffer, std::uint32_t domain, std::uint32_t queue_pair) {
    return buffer.domain == domain && (buffer.queue_pair == 0 || buffer.queue_pair == queue_pair);
}

/// `start` + `length` against a buffer that begins at `first`.
MemoryFault range_fault(std::uint64_t start, std::uint64_t length, std::uint64_t first, std::uint64_t available) {
    if (start + length < start) return MemoryFault::wrap;
    if (start < first || start - first > available || length > available - (start - first)) return MemoryFault::bounds;
    return MemoryFault::none;
}

}  // namespace

TaggedBuffers::TaggedBuffers(std::size_t limit, std::uint64_t seed)
    : limit_(static_cast<std::uint32_t>(std::min(limit, most_entries))),
      mask_(static_cast<std::uint32_t>(std::bit_ceil(std::size_t{limit_} + 1) - 1)),
      random_state_(seed) {}

std::uint64_t TaggedBuffers::random_seed() {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
}

// SplitMix64: every state gives another number.
std::uint64_t TaggedBuffers::random() {
    std::uint64_t z = random_state_ += base::golden;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

TaggedBuffers::Slot* TaggedBuffers::slot_of(std::uint32_t stag) const {
    const std::uint32_t index = stag >> 8;
    const std::uint32_t at = index & mask_;
    if (at >= fresh_ || at == 0) return nullptr;
    Slot& slot = chunks_[at / chunk_slots][at % chunk_slots];
    return slot.index == index && slot.buffer.key == (stag & 0xff) ? &slot : nullptr;
}

std::uint32_t TaggedBuffers::unused_slot() {
    if (free_ > 0 && (free_ >= resting_slots || fresh_ > limit_)) {
        const std::uint32_t at = first_free_;
        first_free_ = chunks_[at / chunk_slots][at % chunk_slots].next_free;
        --free_;
        return at;
    }
    if (fresh_ > limit_) return 0;
    if (fresh_ / chunk_slots >= chunks_.size()) chunks_.push_back(std::make_unique<Slot[]>(chunk_slots));
    return fresh_++;
}

std::optional<std::uint32_t> TaggedBuffers::insert(const TaggedBuffer& buffer) {
    const std::uint32_t at = unused_slot();
    if (at == 0) return std::nullopt;
    Slot& slot = chunks_[at / chunk_slots][at % chunk_slots];
    const std::uint64_t chance = random();
    // Any key but the slot's last: that STag may still be known somewhere.
    const auto key = static_cast<std::uint8_t>(slot.buffer.key + 1 + chance % 255);
    slot.buffer = buffer;
    slot.buffer.key = key;
    slot.index = (static_cast<std::uint32_t>(chance >> 32) & 0xffffff & ~mask_) | at;
    ++size_;
    return slot.index << 8 | key;
}

void TaggedBuffers::erase(std::uint32_t stag) {
    Slot* slot = slot_of(stag);
    if (slot == nullptr) return;
    leave_parent(slot->buffer);
    const std::uint32_t at = slot->index & mask_;
    const std::uint8_t key = slot->buffer.key;
    slot->buffer = {};
    slot->buffer.key = key;
    slot->index = nowhere;
    if (free_ == 0)
        first_free_ = at;
    else
        chunks_[last_free_ / chunk_slots][last_free_ % chunk_slots].next_free = at;
    last_free_ = at;
    ++free_;
    --size_;
    changed();
}

TaggedBuffer* TaggedBuffers::find(std::uint32_t stag) {
    Slot* slot = slot_of(stag);
    return slot == nullptr ? nullptr : &slot->buffer;
}

const TaggedBuffer* TaggedBuffers::find(std::uint32_t stag) const {
    const Slot* slot = slot_of(stag);
    return slot == nullptr ? nullptr : &slot->buffer;
}

std::uint32_t TaggedBuffers::renew(std::uint32_t stag, std::uint8_t key) {
    Slot* slot = slot_of(stag);
    if (slot == nullptr) return 0;
    slot->buffer.key = key;
    changed();
    return slot->index << 8 | key;
}

TaggedBuffers::Place TaggedBuffers::resolve(std::uint32_t stag, std::uint64_t offset, std::uint64_t length,
                                            Access wanted, std::uint32_t domain, std::uint32_t queue_pair) const {
    const TaggedBuffer* buffer = find(stag);
    if (buffer == nullptr || !buffer->valid) return {MemoryFault::invalid_stag};
    if (buffer->kind != TaggedBuffer::Kind::region) {
        // A window shows what its region has, and nothing once that is gone.
        const TaggedBuffer* region = find(buffer->parent);
        if (region == nullptr || !region->valid ||
            range_fault(number_of(buffer->memory), buffer->length, number_of(region->memory), region->length) !=
                MemoryFault::none)
            return {MemoryFault::invalid_stag};
    }
    if (!associated(*buffer, domain, queue_pair)) return {MemoryFault::not_associated};
    if (!permits(buffer->access, wanted)) return {MemoryFault::access};
    const MemoryFault fault = range_fault(offset, length, buffer->first_offset, buffer->length);
    if (fault != MemoryFault::none) return {fault};
    return {MemoryFault::none, buffer->memory + (offset - buffer->first_offset)};
}

TaggedBuffers::Place TaggedBuffers::resolve_local(const Sge& piece, Access wanted, std::uint32_t domain,
                                                  std::uint32_t queue_pair, bool privileged) const {
    if (piece.stag == 0 && privileged) return {MemoryFault::none, piece.address};
    const TaggedBuffer* buffer = find(piece.stag);
    if (buffer == nullptr || !buffer->valid || buffer->kind != TaggedBuffer::Kind::region)
        return {MemoryFault::invalid_stag};
    if (!associated(*buffer, domain, queue_pair)) return {MemoryFault::not_associated};
    if (!permits(buffer->access, wanted)) return {MemoryFault::access};
    const MemoryFault fault =
        range_fault(number_of(piece.address), piece.length, number_of(buffer->memory), buffer->length);
    return {fault, fault == MemoryFault::none ? piece.address : nullptr};
}

MemoryFault TaggedBuffers::invalidate(std::uint32_t stag, std::uint32_t domain, std::uint32_t queue_pair) {
    TaggedBuffer* buffer = find(stag);
    if (buffer == nullptr || !buffer->valid) return MemoryFault::invalid_stag;
    if (!associated(*buffer, domain, queue_pair)) return MemoryFault::not_associated;
    if (buffer->kind == TaggedBuffer::Kind::window_1 || buffer->windows != 0) return MemoryFault::access;
    leave_parent(*buffer);
    buffer->valid = false;
    changed();
    return MemoryFault::none;
}

void TaggedBuffers::leave_parent(TaggedBuffer& window) {
    if (window.kind == TaggedBuffer::Kind::region || !window.valid) return;
    TaggedBuffer* region = find(window.parent);
    if (region != nullptr && region->windows > 0) --region->windows;
}

}  // namespace iwarp::ddp
