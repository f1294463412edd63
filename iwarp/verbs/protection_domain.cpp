#include "iwarp/verbs/protection_domain.h"

#include "fmt/core.h"
#include "iwarp/verbs/memory_region.h"
#include "iwarp/verbs/memory_window.h"

namespace iwarp {
namespace {

std::shared_ptr<rdmap::StagHandle> insert(ProtectionDomain::Impl& domain, ddp::TaggedBuffer buffer) {
    Device::Impl& device = domain.device->impl();
    buffer.domain = domain.number;
    const auto stag = device.memory.insert(buffer);
    if (!stag)
        throw Error(
            fmt::format("the device has no room for another region or window; it was opened with max_regions {}",
                        device.options.max_regions));
    return std::make_shared<rdmap::StagHandle>(rdmap::StagHandle{*stag, static_cast<std::uint8_t>(*stag)});
}

std::shared_ptr<MemoryRegion> region_of(std::shared_ptr<ProtectionDomain> domain,
                                        std::shared_ptr<rdmap::StagHandle> handle) {
    auto impl = std::make_unique<MemoryRegion::Impl>();
    impl->domain = std::move(domain);
    impl->handle = std::move(handle);
    return std::make_shared<MemoryRegion>(std::move(impl));
}

}  // namespace

ProtectionDomain::ProtectionDomain(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProtectionDomain::~ProtectionDomain() = default;

std::uint32_t ProtectionDomain::number() const { return impl_->number; }

std::shared_ptr<MemoryRegion> ProtectionDomain::register_memory(std::span<std::byte> memory, Access access,
                                                                std::optional<std::uint64_t> first_offset) {
    verbs::check_registration(memory, access);
    ddp::TaggedBuffer buffer;
    buffer.valid = true;
    buffer.access = access;
    buffer.memory = memory.data();
    buffer.length = memory.size();
    buffer.first_offset = first_offset.value_or(verbs::first_offset_of(memory, access));
    return region_of(impl_->self.lock(), insert(*impl_, buffer));
}

std::shared_ptr<MemoryRegion> ProtectionDomain::allocate_region(std::uint64_t max_length) {
    if (max_length == 0) throw Error("a region for fast registration needs a max_length of at least 1 byte");
    ddp::TaggedBuffer buffer;
    buffer.max_length = max_length;
    return region_of(impl_->self.lock(), insert(*impl_, buffer));
}

std::shared_ptr<MemoryWindow> ProtectionDomain::allocate_window(int type) {
    if (type != 1 && type != 2) throw Error(fmt::format("there is no memory window of type {}; say 1 or 2", type));
    ddp::TaggedBuffer buffer;
    buffer.kind = type == 1 ? ddp::TaggedBuffer::Kind::window_1 : ddp::TaggedBuffer::Kind::window_2;
    auto impl = std::make_unique<MemoryWindow::Impl>();
    impl->handle = insert(*impl_, buffer);
    impl->domain = impl_->self.lock();
    impl->type = type;
    return std::make_shared<MemoryWindow>(std::move(impl));
}

}  // namespace iwarp
