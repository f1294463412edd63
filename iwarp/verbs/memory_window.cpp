#include "iwarp/verbs/memory_window.h"

#include "iwarp/rdmap/local_operations.h"
#include "iwarp/verbs/memory_region.h"

namespace iwarp {

MemoryWindow::Impl::~Impl() {
    if (handle) memory().erase(handle->stag);
}

MemoryWindow::MemoryWindow(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MemoryWindow::~MemoryWindow() = default;

int MemoryWindow::type() const { return impl_->type; }
std::uint32_t MemoryWindow::stag() const { return impl_->handle->stag; }

bool MemoryWindow::bind(MemoryRegion& region, std::byte* address, std::uint64_t length, Access access) {
    if (impl_->type != 1 || &region.impl().memory() != &impl_->memory()) return false;
    const std::uint32_t domain = impl_->domain->number();
    const rdmap::Binding binding{address, length, access, domain};
    if (length == 0) return rdmap::unbind_window(impl_->memory(), *impl_->handle, binding);
    return rdmap::bind_window(impl_->memory(), *impl_->handle, *region.impl().handle, binding);
}

bool MemoryWindow::valid() const {
    const ddp::TaggedBuffer* const buffer = impl_->memory().find(impl_->handle->stag);
    if (buffer == nullptr || !buffer->valid) return false;
    const ddp::TaggedBuffer* const region = impl_->memory().find(buffer->parent);
    return region != nullptr && region->valid;
}

}  // namespace iwarp
