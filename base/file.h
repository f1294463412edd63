#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace base {

/// The whole of a regular file, or std::nullopt and errno. A longer file is cut after its first `most` bytes.
std::optional<std::string> read_file(const std::string& path, std::size_t most = std::size_t{64} << 20);
/// The same for an open file, from its position on.
std::optional<std::string> read_file(int descriptor, std::size_t most = std::size_t{64} << 20);
/// Without the newline; empty if the file cannot be read.
std::string first_line(const std::string& path);

/// Whether an open file or folder has no name any more: what is written to it is lost when it is closed.
bool is_removed(int descriptor);

/// Writes everything, with as many writes as that takes. Returns false and sets errno if a write fails.
bool write_all(int descriptor, std::string_view octets);
bool write_all(int descriptor, std::span<const std::byte> octets);

}  // namespace base
