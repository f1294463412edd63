#include "iwarp/rdmap/atomics.h"

#include <atomic>

namespace iwarp::rdmap {

std::uint64_t perform_atomic(const wire::RdmapAtomicRequest& request, std::byte* memory) {
    std::atomic_ref<std::uint64_t> target(*reinterpret_cast<std::uint64_t*>(memory));
    const bool adds = request.operation == static_cast<std::uint8_t>(wire::AtomicOperation::fetch_add);
    if (adds && request.mask == 0) return target.fetch_add(request.data);
    std::uint64_t original = target.load();
    while (true) {
        const std::uint64_t wanted =
            adds ? add_fields(original, request.data, request.mask) : compare_swap(original, request);
        // A comparison that failed leaves the memory unwritten, as RFC 7306 section 5.1.2 has it.
        if (wanted == original && !adds) return original;
        if (target.compare_exchange_weak(original, wanted)) return original;
    }
}

}  // namespace iwarp::rdmap
