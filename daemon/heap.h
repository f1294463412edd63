#pragma once
#include <cstdint>

namespace service {

/// Bounds what the C library keeps of the memory that was freed. Otherwise each thread has an arena of its own, and
/// every arena stays as large as its thread's largest piece of work: figures of all flows, a document, rows. Call it
/// before the first thread starts.
void bound_free_memory();

/// Gives freed memory back to the system, also what lies between pieces that are in use. It takes milliseconds, in
/// which other threads that need memory wait: so once a minute.
class FreeMemory {
public:
    static constexpr std::int64_t period_ns = 60'000'000'000;

    explicit FreeMemory(std::int64_t now_ns) : due_ns_(now_ns + period_ns) {}
    /// Times are of a clock that is never set.
    void give_back_when_due(std::int64_t now_ns);

private:
    std::int64_t due_ns_;
};

}  // namespace service
