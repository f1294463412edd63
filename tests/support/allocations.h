#pragma once
#include <cstdint>

namespace support {

/// How often operator new has run in this program so far. Linking allocations.cpp replaces it.
std::uint64_t allocations();

}  // namespace support
