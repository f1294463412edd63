#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "iwarp/ddp/tagged_buffers.h"
#include "iwarp/rdmap/send_queue.h"

/// Operations of a queue pair on tagged buffers without the peer: binding windows, fast registration. RFC 5040 leaves
/// them to the verbs; RFC 5041 section 8.3 only requires that an STag's rights are enforced from then on.
namespace iwarp::rdmap {

/// Remote writing and atomics change memory, so that local_write must be permitted.
constexpr bool consistent(Access access) {
    const bool changes = permits(access, Access::remote_write) || permits(access, Access::remote_atomic);
    return !changes || permits(access, Access::local_write);
}

struct Binding {
    std::byte* address = nullptr;
    std::uint64_t length = 0;
    Access access = Access::none;
    std::uint32_t domain = 0;
    std::uint32_t queue_pair = 0;       ///< type 2: the queue pair it belongs to from now on
    std::optional<std::uint8_t> key{};  ///< of the window from now on; no value: its next one
};

/// Binds a window. Returns `false` and changes nothing if window, region, range or rights do not permit it. A type 2
/// window must be free (invalidated since its last bind) and bound by a queue pair; a type 1 window may be bound again.
bool bind_window(ddp::TaggedBuffers& memory, StagHandle& window, const StagHandle& region, const Binding& binding);
/// Unbinds a type 1 window. Of the binding, domain and key count.
bool unbind_window(ddp::TaggedBuffers& memory, StagHandle& window, const Binding& binding);
/// Subtracts a window from its region's count.
void release_parent(ddp::TaggedBuffers& memory, const ddp::TaggedBuffer& window);

/// Fast registration: `region` was allocated for it and is invalid now.
bool register_region(ddp::TaggedBuffers& memory, StagHandle& region, std::byte* address, std::uint64_t length,
                     Access access, std::uint32_t domain);

}  // namespace iwarp::rdmap
