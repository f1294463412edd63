#pragma once
#include <cstddef>

namespace base {

/// Prefetches the cache lines of an object's bytes from `begin` to before `end` into the second-level cache: the data
/// of a batch would fill the first-level cache.
[[gnu::always_inline]] inline void prefetch(const void* object, std::size_t begin, std::size_t end) {
    constexpr std::size_t line = 64;
    const char* const first = static_cast<const char*>(object);
    for (std::size_t at = begin; at < end; at += line) __builtin_prefetch(first + at, 0, 2);
    __builtin_prefetch(first + end - 1, 0, 2);  // if the object does not begin at the start of a line
}

}  // namespace base
