#include "iwarp/transport/tcp_probe.h"

#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>

namespace iwarp::transport {
namespace {

const sockaddr_in& as_v4(const TcpAddress& address) { return reinterpret_cast<const sockaddr_in&>(address.storage); }
const sockaddr_in6& as_v6(const TcpAddress& address) { return reinterpret_cast<const sockaddr_in6&>(address.storage); }

/// Both families as IPv6.
in6_addr mapped(const TcpAddress& address) {
    if (address.family() == AF_INET6) return as_v6(address).sin6_addr;
    in6_addr result{};
    result.s6_addr[10] = result.s6_addr[11] = 0xff;
    std::memcpy(&result.s6_addr[12], &as_v4(address).sin_addr, 4);
    return result;
}

}  // namespace

std::optional<TcpAddress> address_of(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) return {};
    std::uint16_t port = 0;
    const auto [end, failure] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
    if (failure != std::errc{} || end != text.data() + text.size()) return {};
    const auto addresses = resolve(text.substr(0, colon), port, false);
    if (!addresses) return {};
    return addresses->front();
}

std::optional<TcpAddress> address_of(const sockaddr* address) {
    if (address == nullptr) return {};
    TcpAddress result;
    if (address->sa_family == AF_INET)
        result.size = sizeof(sockaddr_in);
    else if (address->sa_family == AF_INET6)
        result.size = sizeof(sockaddr_in6);
    else
        return {};
    std::memcpy(&result.storage, address, result.size);
    return result;
}

bool is_any(const TcpAddress& address) {
    if (address.family() == AF_INET) return as_v4(address).sin_addr.s_addr == htonl(INADDR_ANY);
    return address.family() == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&as_v6(address).sin6_addr);
}

bool same_host(const TcpAddress& one, const TcpAddress& other) {
    const in6_addr a = mapped(one), b = mapped(other);
    return std::memcmp(&a, &b, sizeof a) == 0;
}

std::string bare_host_text(const TcpAddress& address) {
    const std::string text = host_text(address);
    return text.substr(0, text.find('%'));
}

void set_port(TcpAddress& address, std::uint16_t port) {
    // Of both families it lies at the same place.
    reinterpret_cast<sockaddr_in&>(address.storage).sin_port = htons(port);
}

std::optional<TcpAddress> source_towards(const TcpAddress& target) {
    // UDP's connect(2) asks the routing tables, and sends nothing.
    const Descriptor socket(::socket(target.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
    TcpAddress to = target;
    if (port_of(to) == 0) set_port(to, 9);  // some value; 0 is refused for IPv6
    TcpAddress from;
    if (!socket || connect(socket.number(), to.data(), to.size) != 0 ||
        getsockname(socket.number(), from.data(), &from.size) != 0)
        return {};
    set_port(from, 0);
    return from;
}

std::optional<Reservation> reserve(const TcpAddress& address, bool ipv6_only) {
    Reservation result;
    result.socket = Descriptor(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
    if (!result.socket) return {};
    const int socket = result.socket.number();
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (ipv6_only && address.family() == AF_INET6) setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(socket, address.data(), address.size) != 0 ||
        getsockname(socket, result.address.data(), &result.address.size) != 0) {
        const int failure = errno;
        result.socket.close();
        errno = failure;
        return {};
    }
    return result;
}

}  // namespace iwarp::transport
