#pragma once
#include <cstddef>
#include <cstdint>

namespace wire {

/// What an error says of the packet that it quotes.
enum class IcmpErrorKind : std::uint8_t {
    port_unreachable,      ///< no process receives on the port
    host_unreachable,      ///< no way to the host or its network
    prohibited,            ///< a filter or a policy refuses it
    fragmentation_needed,  ///< longer than the next hop takes; in IPv6 packet too big
    time_exceeded,         ///< too many hops, or fragments that never came
    other,                 ///< parameter problem, protocol unreachable, source quench
};
inline constexpr std::size_t icmp_error_kind_count = 6;

}  // namespace wire
