#include "daemon/heap.h"

#include <malloc.h>

namespace service {

namespace {

/// The threads work off an interval one after the other: what one has freed, the next one uses. The packet path asks
/// for no memory, so that it does not wait for them.
constexpr int arenas = 1;
/// Larger pieces are mapped, and given back when they are freed. Without a number of ours, glibc raises this one with
/// each larger piece that is freed, up to 32 MiB, and keeps twice as much at the end of every arena.
constexpr int mapped_octets = 4 << 20;
constexpr int kept_octets = 4 << 20;

}  // namespace

void bound_free_memory() {
    ::mallopt(M_ARENA_MAX, arenas);
    ::mallopt(M_MMAP_THRESHOLD, mapped_octets);
    ::mallopt(M_TRIM_THRESHOLD, kept_octets);
}

void FreeMemory::give_back_when_due(std::int64_t now_ns) {
    if (now_ns < due_ns_) return;
    due_ns_ = now_ns + period_ns;
    ::malloc_trim(0);
}

}  // namespace service
