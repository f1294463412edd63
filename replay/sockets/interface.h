#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "replay/sockets/tcp_socket.h"
#include "wire/ethernet.h"

namespace replay::inline sockets {

/// What has to be known of an interface before frames are put on it.
struct InterfaceFacts {
    std::string name = {};
    int index = 0;
    bool up = false;
    bool ethernet = false;  ///< takes whole Ethernet frames; the loopback interface does, too
    unsigned hardware = 0;  ///< ARPHRD_ number
    std::uint32_t mtu = 0;  ///< bytes after the Ethernet header
    wire::MacAddress address{};
};

/// Of an interface of this network namespace; where there is none of that name, the message lists those there are.
SocketResult<InterfaceFacts> learn_interface(const std::string& name);

/// Which default routes leave by this interface, or by one above it (a bridge, bond or VLAN that it is part of): "IPv4
/// by eth0"; empty where none does. All tables of the kernel are looked at.
SocketResult<std::vector<std::string>> default_routes_by(const InterfaceFacts& interface);

}  // namespace replay::sockets
