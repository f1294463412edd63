#pragma once
#include <cstddef>
#include <cstdint>

namespace support {

/// How often operator new has run in this program so far. Linking allocations.cpp replaces it.
std::uint64_t allocations();
/// From now on, operator new fails for `size` bytes and more, after `passes` of these allocations have passed. 0: no
/// allocation fails.
void fail_allocations_of(std::size_t size, int passes = 0);

}  // namespace support
