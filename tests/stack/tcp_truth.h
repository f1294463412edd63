#pragma once
#include <cstdint>
#include <optional>

namespace stack {

/// What the kernel's TCP says of a socket of this process. Times as `struct tcp_info` has them, in nanoseconds.
struct TcpTruth {
    std::uint64_t busy_ns = 0;            ///< data were there to be sent or acknowledged
    std::uint64_t window_limited_ns = 0;  ///< of it: the receiver's window kept them back
    std::uint64_t buffer_limited_ns = 0;  ///< of it: the send buffer was the limit
    std::uint32_t unacknowledged = 0;     ///< segments
    std::uint32_t unsent_octets = 0;
    std::uint32_t retransmitted = 0;  ///< segments, ever
};

/// The connected socket whose own port is `local` and whose peer's is `remote`, 0 being any; -1 where there is none.
int find_socket(std::uint16_t local, std::uint16_t remote);
/// Octets that may wait for the program; the kernel doubles them for its own bookkeeping.
void limit_receiving(int socket, int octets);
std::optional<TcpTruth> ask(int socket);

}  // namespace stack
