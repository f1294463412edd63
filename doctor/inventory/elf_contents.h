#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/elf_image.h"

/// What the files of rdma-core and of the kernel state about themselves in their data.
namespace doctor::inline inventory {

/// Kernel ABI versions that an rdma-core provider speaks, both included.
struct AbiRange {
    std::uint32_t least = 0;
    std::uint32_t most = 0;
};

/// The range that a provider registers: `struct verbs_device_ops` begins with a pointer to the provider's name,
/// followed by two 32-bit numbers (rdma-core, libibverbs/driver.h). The pointer is a relative relocation, by which it
/// is found. No value if none is found, or several that differ.
std::optional<AbiRange> provider_range(const base::ElfImage& file, std::string_view name);

/// `key=value` of a kernel module's .modinfo section.
std::optional<std::string_view> module_info(const base::ElfImage& file, std::string_view key);

}  // namespace doctor::inventory
