#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "replay/sockets/tcp_socket.h"
#include "wire/ethernet.h"

namespace replay::inline sockets {

/// The properties of an interface that must be known before frames are sent on it.
struct InterfaceFacts {
    std::string name = {};
    int index = 0;
    bool up = false;
    bool ethernet = false;  ///< takes whole Ethernet frames; the loopback interface does, too
    unsigned hardware = 0;  ///< ARPHRD_ number
    std::uint32_t mtu = 0;  ///< bytes after the Ethernet header
    wire::MacAddress address{};
};

/// An interface of this network namespace; if there is none of that name, the message lists the existing ones.
SocketResult<InterfaceFacts> learn_interface(const std::string& name);

/// The default routes by this interface, or by one above it (a bridge, bond or VLAN that it is part of): "IPv4 by
/// eth0"; empty if absent. All tables of the kernel are read.
SocketResult<std::vector<std::string>> default_routes_by(const InterfaceFacts& interface);

}  // namespace replay::sockets
