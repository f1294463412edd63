#pragma once
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "iwarp/transport/tcp_address.h"

/// Questions to the system's TCP that need no connection.
namespace iwarp::transport {

/// "192.0.2.1:4791", "[2001:db8::1]:4791", as text_of writes it.
std::optional<TcpAddress> address_of(const std::string& text);
/// The address in a socket address of any length, as a C interface passes it; no value if it is neither IPv4 nor IPv6.
std::optional<TcpAddress> address_of(const sockaddr* address);
bool is_any(const TcpAddress& address);
/// Without the port; an IPv4 address equals its IPv6 mapping.
bool same_host(const TcpAddress& one, const TcpAddress& other);
/// "192.0.2.1" or "2001:db8::1" without a scope, for comparing with text.
std::string bare_host_text(const TcpAddress& address);
void set_port(TcpAddress& address, std::uint16_t port);

/// The local address, with port 0, from which the system would send to `target`. On failure no value, and errno: there
/// is no route.
std::optional<TcpAddress> source_towards(const TcpAddress& target);

/// A local address and port that stay bound until this object is destroyed: a connection or a listener may use them,
/// but no other program without SO_REUSEADDR.
struct Reservation {
    base::Descriptor socket;
    TcpAddress address;  ///< with the port that the system chose if 0 was requested
};
/// On failure no value, and errno as of bind(2).
std::optional<Reservation> reserve(const TcpAddress& address, bool ipv6_only);

}  // namespace iwarp::transport
