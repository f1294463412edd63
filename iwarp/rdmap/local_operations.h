#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "iwarp/ddp/tagged_buffers.h"
#include "iwarp/rdmap/send_queue.h"

/// What a queue pair does to tagged buffers without the peer: binding windows, fast registration. RFC 5040 leaves them
/// to the verbs, RFC 5041 section 8.3 asks only that an STag's rights are enforced from then on.
namespace iwarp::rdmap {

/// Remote writing and atomics change memory, which local_write must permit.
constexpr bool consistent(Access access) {
    const bool changes = permits(access, Access::remote_write) || permits(access, Access::remote_atomic);
    return !changes || permits(access, Access::local_write);
}

struct Binding {
    std::byte* address = nullptr;
    std::uint64_t length = 0;
    Access access = Access::none;
    std::uint32_t domain = 0;
    std::uint32_t queue_pair = 0;       ///< type 2: to which it belongs from now on
    std::optional<std::uint8_t> key{};  ///< of the window from now on; absent: its next one
};

/// Binds a window. `false`, and nothing changed, where window, region, range or rights refuse. A type 2 window must be
/// free (invalidated since its last bind) and asked for by a queue pair, a type 1 window is bound again.
bool bind_window(ddp::TaggedBuffers& memory, StagHandle& window, const StagHandle& region, const Binding& binding);
/// Makes a type 1 window name nothing. Of the binding, domain and key count.
bool unbind_window(ddp::TaggedBuffers& memory, StagHandle& window, const Binding& binding);
/// Takes a window out of its region's count.
void release_parent(ddp::TaggedBuffers& memory, const ddp::TaggedBuffer& window);

/// Fast registration: `region` was allocated for it and is invalid now.
bool register_region(ddp::TaggedBuffers& memory, StagHandle& region, std::byte* address, std::uint64_t length,
                     Access access, std::uint32_t domain);

}  // namespace iwarp::rdmap
