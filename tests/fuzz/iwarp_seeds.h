#pragma once
#include <filesystem>

namespace fuzz {

/// Writes seeds of the targets `mpa_stream` and `iwarp_peer` into folders of these names: conversations as two right
/// sides have them, and each violation that IWARP's tables of errors know.
void write_iwarp_seeds(const std::filesystem::path& folder);

}  // namespace fuzz
