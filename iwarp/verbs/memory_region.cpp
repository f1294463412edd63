#include "iwarp/verbs/memory_region.h"

#include <bit>

#include "iwarp/rdmap/local_operations.h"

namespace iwarp {

namespace verbs {

void check_registration(std::span<const std::byte> memory, Access access) {
    if (memory.empty() || memory.data() == nullptr) throw Error("a region needs at least one byte of memory");
    if (!rdmap::consistent(access))
        throw Error("a region that peers may write or do atomics to needs Access::local_write as well");
}

std::uint64_t first_offset_of(std::span<const std::byte> memory, Access access) {
    return permits(access, Access::zero_based) ? 0 : std::bit_cast<std::uintptr_t>(memory.data());
}

}  // namespace verbs

MemoryRegion::Impl::~Impl() {
    if (!handle) return;
    Device::Impl& device = domain->impl().device->impl();
    const ddp::TaggedBuffer buffer = this->buffer();
    device.memory.erase(handle->stag);
    device.withdraw({buffer.memory, buffer.length});
}

MemoryRegion::MemoryRegion(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MemoryRegion::~MemoryRegion() = default;

std::uint32_t MemoryRegion::stag() const { return impl_->handle->stag; }
std::byte* MemoryRegion::address() const { return impl_->buffer().memory; }
std::uint64_t MemoryRegion::length() const { return impl_->buffer().length; }
std::uint64_t MemoryRegion::first_offset() const { return impl_->buffer().first_offset; }
bool MemoryRegion::valid() const { return impl_->buffer().valid; }
void MemoryRegion::renew_key(std::uint8_t key) { impl_->handle->next_key = key; }

void MemoryRegion::reregister(std::span<std::byte> memory, Access access) {
    verbs::check_registration(memory, access);
    Device::Impl& device = impl_->domain->impl().device->impl();
    ddp::TaggedBuffer& buffer = *device.memory.find(impl_->handle->stag);
    if (buffer.windows != 0)
        throw Error(
            "the region has memory windows bound to it; unbind or invalidate them before it is registered again");
    const std::span<const std::byte> before{buffer.memory, buffer.length};
    buffer.valid = true;
    buffer.access = access;
    buffer.memory = memory.data();
    buffer.length = memory.size();
    buffer.first_offset = verbs::first_offset_of(memory, access);
    rdmap::StagHandle& handle = *impl_->handle;
    handle.stag = device.memory.renew(handle.stag, static_cast<std::uint8_t>(handle.stag + 1));
    device.withdraw(before);
}

}  // namespace iwarp
