#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "iwarp/preload/environment_settings.h"

namespace iwarp::preload {

/// An address that the device answers for.
struct LocalAddress {
    std::string interface;
    unsigned interface_index = 0;
    bool loopback = false;
    sockaddr_storage address{};  ///< AF_INET or AF_INET6, port 0

    /// As a GID: IPv6's 16 bytes, or IPv4's mapped ("::ffff:192.0.2.1").
    std::array<std::uint8_t, 16> gid() const;
};

/// The addresses of interfaces that are up now: those of `settings`, or all; loopback's last.
std::vector<LocalAddress> local_addresses(const Settings& settings);

/// What the port reports about the network below it.
struct Interface {
    std::array<std::uint8_t, 6> hardware_address{};  ///< zeros where it has none
    std::uint32_t mtu = 1500;                        ///< bytes
    std::uint32_t speed_mbps = 0;                    ///< 0: not known
};
Interface interface_named(const std::string& name);

/// "192.0.2.1" or "2001:db8::1": no name and no port.
bool is_numeric_address(const std::string& text);

}  // namespace iwarp::preload
