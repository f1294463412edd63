#pragma once
#include <cstdint>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "base/result.h"

namespace iwarp::transport {

struct TcpAddress {
    sockaddr_storage storage{};
    socklen_t size = sizeof(sockaddr_storage);

    int family() const { return storage.ss_family; }
    sockaddr* data() { return reinterpret_cast<sockaddr*>(&storage); }
    const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// "192.0.2.1", "2001:db8::1", "fe80::1%eth0".
std::string host_text(const TcpAddress& address);
std::uint16_t port_of(const TcpAddress& address);
/// "192.0.2.1:4791", "[2001:db8::1]:4791".
std::string text_of(const TcpAddress& address);
std::string text_of(const std::string& host, std::uint16_t port);

/// At least one address, in the order in which to try them, or the reason in words. Addresses need no lookup; a name
/// asks the system's resolver and waits for it. IPv6 may be in brackets. `to_listen`: an empty host stands for every
/// address of the machine, else for this machine.
base::Result<std::vector<TcpAddress>, std::string> resolve(const std::string& host, std::uint16_t port, bool to_listen);

}  // namespace iwarp::transport
