#pragma once
#include <cstdint>

/// Code with static trace points, to be traced by the tests; false where the build has none (no <sys/sdt.h>).
namespace trace::test {

struct Probed {
    std::uint32_t number;
    std::int16_t small;
    std::uint64_t large;
};

bool has_probes();
/// `scopetest:values`: number, small, large, 5, -7.
void hit_values(const Probed& probed);
/// `scopetest:guarded`: number, only where a tracer has raised the semaphore. Whether it had.
bool hit_guarded(std::uint32_t number);
/// `rdmascope:post_send` and `rdmascope:completion`, as the stack has them.
void hit_post(std::uint32_t queue_pair, std::uint64_t id, int operation, std::uint64_t octets);
void hit_completion(std::uint32_t queue_pair, std::uint64_t id, int status, int operation, std::uint32_t octets);

}  // namespace trace::test
