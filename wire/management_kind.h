#pragma once
#include <cstddef>
#include <cstdint>

namespace wire {

/// The kinds of management datagrams that a summary of a capture counts.
enum class ManagementKind : std::uint8_t {
    subnet,
    subnet_administration,
    performance,
    connection,
    application,  ///< 0x10 to 0x2f
    vendor,       ///< 0x09 to 0x0f, and 0x30 to 0x4f with an OUI
    other,
};
inline constexpr std::size_t management_kind_count = 7;

}  // namespace wire
