#pragma once
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>

namespace control {

inline constexpr std::size_t max_socket_path = sizeof(sockaddr_un::sun_path) - 1;

/// Of a path that is no longer than max_socket_path.
inline sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
}
inline const sockaddr* generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

}  // namespace control
