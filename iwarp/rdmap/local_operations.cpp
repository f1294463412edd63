#include "iwarp/rdmap/local_operations.h"

#include <bit>

namespace iwarp::rdmap {
namespace {

using ddp::TaggedBuffer;

std::uint64_t address_of(const std::byte* memory) { return std::bit_cast<std::uintptr_t>(memory); }

bool inside(const TaggedBuffer& region, const std::byte* address, std::uint64_t length) {
    const std::uint64_t first = address_of(region.memory);
    const std::uint64_t wanted = address_of(address);
    return wanted >= first && length <= region.length && wanted - first <= region.length - length;
}

/// A window's rights are those it gives to the peer; what they do to memory the region must permit.
bool grants(const TaggedBuffer& region, Access access) {
    if (!permits(region.access, Access::bind)) return false;
    if (permits(access, Access::local_write) || permits(access, Access::bind)) return false;
    return consistent(access | (permits(region.access, Access::local_write) ? Access::local_write : Access::none));
}

/// A window counts like its region, unless either of them is zero-based.
std::uint64_t first_offset(const TaggedBuffer& region, const Binding& binding) {
    if (permits(binding.access, Access::zero_based)) return 0;
    if (permits(region.access, Access::zero_based)) return address_of(binding.address);
    return region.first_offset + static_cast<std::uint64_t>(binding.address - region.memory);
}

}  // namespace

bool bind_window(ddp::TaggedBuffers& memory, StagHandle& window, const StagHandle& region, const Binding& binding) {
    TaggedBuffer* const bound = memory.find(window.stag);
    if (bound == nullptr || bound->kind == TaggedBuffer::Kind::region || bound->domain != binding.domain) return false;
    const bool belongs_to_pair = bound->kind == TaggedBuffer::Kind::window_2;
    if (belongs_to_pair && (bound->valid || binding.queue_pair == 0)) return false;
    TaggedBuffer* const parent = memory.find(region.stag);
    if (parent == nullptr || parent->kind != TaggedBuffer::Kind::region || !parent->valid) return false;
    if (parent->domain != binding.domain || !grants(*parent, binding.access)) return false;
    if (binding.length == 0 || !inside(*parent, binding.address, binding.length)) return false;

    if (bound->valid) release_parent(memory, *bound);
    ++parent->windows;
    bound->valid = true;
    bound->access = binding.access;
    bound->queue_pair = belongs_to_pair ? binding.queue_pair : 0;
    bound->parent = region.stag;
    bound->memory = binding.address;
    bound->length = binding.length;
    bound->first_offset = first_offset(*parent, binding);
    window.stag = memory.renew(window.stag, binding.key.value_or(static_cast<std::uint8_t>(window.stag + 1)));
    return true;
}

bool unbind_window(ddp::TaggedBuffers& memory, StagHandle& window, const Binding& binding) {
    TaggedBuffer* const bound = memory.find(window.stag);
    if (bound == nullptr || bound->kind != TaggedBuffer::Kind::window_1 || bound->domain != binding.domain)
        return false;
    if (bound->valid) release_parent(memory, *bound);
    bound->valid = false;
    window.stag = memory.renew(window.stag, binding.key.value_or(static_cast<std::uint8_t>(window.stag + 1)));
    return true;
}

void release_parent(ddp::TaggedBuffers& memory, const TaggedBuffer& window) {
    TaggedBuffer* const parent = memory.find(window.parent);
    if (parent != nullptr && parent->windows > 0) --parent->windows;
}

bool register_region(ddp::TaggedBuffers& memory, StagHandle& region, std::byte* address, std::uint64_t length,
                     Access access, std::uint32_t domain) {
    TaggedBuffer* const buffer = memory.find(region.stag);
    if (buffer == nullptr || buffer->kind != TaggedBuffer::Kind::region || buffer->domain != domain) return false;
    if (buffer->valid || buffer->max_length == 0 || length > buffer->max_length || length == 0 || address == nullptr)
        return false;
    if (!consistent(access)) return false;
    buffer->valid = true;
    buffer->access = access;
    buffer->memory = address;
    buffer->length = length;
    buffer->first_offset = permits(access, Access::zero_based) ? 0 : address_of(address);
    region.stag = memory.renew(region.stag, region.next_key);
    return true;
}

}  // namespace iwarp::rdmap
