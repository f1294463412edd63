#pragma once
#include <cstdint>
#include <string>

namespace base {

/// The bytes of memory that this process may use: the machine's, or the limit of its control group if that is less
/// (cgroups(7), version 2). `root` is where /proc and /sys are: for tests.
std::uint64_t memory_size(const std::string& root = "");

}  // namespace base
