#pragma once
#include <memory>

#include "iwarp/iwarp.h"
#include "iwarp/rdmap/send_queue.h"
#include "iwarp/verbs/protection_domain.h"

namespace iwarp {

struct MemoryRegion::Impl {
    ~Impl();
    ddp::TaggedBuffers& memory() const { return domain->impl().device->impl().memory; }
    const ddp::TaggedBuffer& buffer() const { return *memory().find(handle->stag); }

    std::shared_ptr<ProtectionDomain> domain;
    std::shared_ptr<rdmap::StagHandle> handle;
};

namespace verbs {
/// Throws Error, in the words of registration, if memory and rights do not fit each other.
void check_registration(std::span<const std::byte> memory, Access access);
/// Tagged offset of the first byte.
std::uint64_t first_offset_of(std::span<const std::byte> memory, Access access);
}  // namespace verbs

}  // namespace iwarp
