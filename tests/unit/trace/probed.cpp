#include "probed.h"

#if __has_include(<sys/sdt.h>)
#define SDT_USE_VARIADIC
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

extern "C" {
// One for each name, since the header wants them where any probe has one.
__extension__ unsigned short scopetest_values_semaphore __attribute__((unused, section(".probes")));
__extension__ unsigned short scopetest_guarded_semaphore __attribute__((unused, section(".probes")));
__extension__ unsigned short rdmascope_post_send_semaphore __attribute__((unused, section(".probes")));
__extension__ unsigned short rdmascope_completion_semaphore __attribute__((unused, section(".probes")));
}

namespace trace::test {

bool has_probes() { return true; }

__attribute__((noinline)) void hit_values(const Probed& probed) {
    STAP_PROBEV(scopetest, values, probed.number, probed.small, probed.large, 5, -7);
}

__attribute__((noinline)) bool hit_guarded(std::uint32_t number) {
    const volatile unsigned short& tracers = scopetest_guarded_semaphore;
    if (tracers == 0) return false;
    STAP_PROBEV(scopetest, guarded, number);
    return true;
}

__attribute__((noinline)) void hit_post(std::uint32_t queue_pair, std::uint64_t id, int operation,
                                        std::uint64_t octets) {
    STAP_PROBEV(rdmascope, post_send, queue_pair, id, operation, octets);
}

__attribute__((noinline)) void hit_completion(std::uint32_t queue_pair, std::uint64_t id, int status, int operation,
                                              std::uint32_t octets) {
    STAP_PROBEV(rdmascope, completion, queue_pair, id, status, operation, octets);
}

}  // namespace trace::test

#else

namespace trace::test {

bool has_probes() { return false; }
void hit_values(const Probed&) {}
bool hit_guarded(std::uint32_t) { return false; }
void hit_post(std::uint32_t, std::uint64_t, int, std::uint64_t) {}
void hit_completion(std::uint32_t, std::uint64_t, int, int, std::uint32_t) {}

}  // namespace trace::test
#endif
