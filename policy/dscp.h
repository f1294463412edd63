#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace policy {

inline constexpr std::uint8_t max_dscp = 63;

/// "AF31 (26)", "CS0 (0)"; "5" for a code point without a name.
std::string dscp_text(std::uint8_t dscp);
/// "AF31"; empty for a code point without a name.
std::string_view name_of_dscp(std::uint8_t dscp);
/// A code point by its name in the registry of IANA, in any case: "af31", "EF", "BE" for 0.
std::optional<std::uint8_t> dscp_named(std::string_view name);
/// The byte that programs set: the code point, and no ECN bits. RFC 2474 section 3.
constexpr std::uint8_t traffic_class_of(std::uint8_t dscp) { return static_cast<std::uint8_t>(dscp << 2); }
/// The code point in the byte of the header.
constexpr std::uint8_t dscp_of(std::uint8_t traffic_class) { return static_cast<std::uint8_t>(traffic_class >> 2); }

}  // namespace policy
