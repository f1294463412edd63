#include "replay/sockets/interface.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/core.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "capture/live/packet_socket.h"

// The macros of rtnetlink.h are written in C.
#pragma GCC diagnostic ignored "-Wold-style-cast"

namespace replay::inline sockets {
namespace {

base::Failure<std::string> interface_failure(const std::string& doing, int code) {
    return base::Failure{fmt::format("{}: {}", doing, std::strerror(code))};
}

std::string name_of(int index) {
    std::array<char, IF_NAMESIZE> name{};
    return ::if_indextoname(static_cast<unsigned>(index), name.data()) == nullptr ? fmt::format("interface {}", index)
                                                                                  : std::string(name.data());
}

/// Whether `below` carries what leaves by `above`: the kernel shows an interface's lower ones as links in its folder.
bool carries(const std::string& below, const std::string& above, int depth = 8) {
    if (below == above) return true;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net/" + above, none)) {
        const std::string name = entry.path().filename();
        if (depth > 0 && name.starts_with("lower_") && carries(below, name.substr(6), depth - 1)) return true;
    }
    return false;
}

/// The interfaces that a route leaves by: one, or several with multipath.
std::vector<int> interfaces_of(const nlmsghdr* message) {
    std::vector<int> found;
    const auto* const route = static_cast<const rtmsg*>(NLMSG_DATA(message));
    auto left = static_cast<int>(RTM_PAYLOAD(message));
    for (const rtattr* attribute = RTM_RTA(route); RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
        if (attribute->rta_type == RTA_OIF) found.push_back(*static_cast<const int*>(RTA_DATA(attribute)));
        if (attribute->rta_type != RTA_MULTIPATH) continue;
        auto octets = static_cast<int>(RTA_PAYLOAD(attribute));
        const auto* hop = static_cast<const rtnexthop*>(RTA_DATA(attribute));
        while (octets > 0 && RTNH_OK(hop, octets)) {
            found.push_back(hop->rtnh_ifindex);
            octets -= static_cast<int>(RTNH_ALIGN(hop->rtnh_len));
            hop = RTNH_NEXT(hop);
        }
    }
    return found;
}

bool is_default(const nlmsghdr* message) {
    const auto* const route = static_cast<const rtmsg*>(NLMSG_DATA(message));
    return message->nlmsg_type == RTM_NEWROUTE && route->rtm_dst_len == 0 && route->rtm_type == RTN_UNICAST;
}

/// rtnetlink(7): every default route of a family.
SocketResult<std::vector<int>> default_interfaces(unsigned char family) {
    const base::Descriptor socket{::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)};
    struct {
        nlmsghdr header;
        rtmsg route;
    } ask = {};
    ask.header.nlmsg_len = sizeof ask;
    ask.header.nlmsg_type = RTM_GETROUTE;
    ask.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    ask.route.rtm_family = family;
    if (!socket || ::send(socket.number(), &ask, sizeof ask, 0) < 0)
        return interface_failure("cannot ask for the routes", errno);
    std::vector<int> found;
    alignas(nlmsghdr) std::array<char, 65'536> answer;
    for (;;) {
        const ssize_t got = ::recv(socket.number(), answer.data(), answer.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return interface_failure("cannot read the routes", got == 0 ? EIO : errno);
        auto left = static_cast<unsigned>(got);
        for (const auto* message = reinterpret_cast<const nlmsghdr*>(answer.data()); NLMSG_OK(message, left);
             message = NLMSG_NEXT(message, left)) {
            if (message->nlmsg_type == NLMSG_DONE) return found;
            if (message->nlmsg_type == NLMSG_ERROR) {
                const int code = -static_cast<const nlmsgerr*>(NLMSG_DATA(message))->error;
                // A kernel without this family has no route of it.
                if (code == EOPNOTSUPP || code == EAFNOSUPPORT) return found;
                return interface_failure("cannot read the routes", code);
            }
            if (!is_default(message)) continue;
            const auto more = interfaces_of(message);
            found.insert(found.end(), more.begin(), more.end());
        }
    }
}

}  // namespace

SocketResult<InterfaceFacts> learn_interface(const std::string& name) {
    InterfaceFacts facts{.name = name, .index = static_cast<int>(::if_nametoindex(name.c_str()))};
    if (facts.index == 0 || name.size() >= IFNAMSIZ)
        return base::Failure{fmt::format("{}: no such interface; there are: {}", name, capture::names_of_interfaces())};
    const base::Descriptor socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    ifreq ask = {};
    std::copy(name.begin(), name.end(), ask.ifr_name);
    if (!socket || ::ioctl(socket.number(), SIOCGIFFLAGS, &ask) != 0)
        return interface_failure(name + ": cannot tell its state", errno);
    facts.up = (ask.ifr_flags & IFF_UP) != 0;
    if (::ioctl(socket.number(), SIOCGIFMTU, &ask) != 0)
        return interface_failure(name + ": cannot tell its MTU", errno);
    facts.mtu = static_cast<std::uint32_t>(ask.ifr_mtu);
    if (::ioctl(socket.number(), SIOCGIFHWADDR, &ask) != 0)
        return interface_failure(name + ": cannot tell its address", errno);
    facts.hardware = ask.ifr_hwaddr.sa_family;
    facts.ethernet = facts.hardware == ARPHRD_ETHER || facts.hardware == ARPHRD_LOOPBACK;
    std::memcpy(facts.address.data(), ask.ifr_hwaddr.sa_data, facts.address.size());
    return facts;
}

SocketResult<std::vector<std::string>> default_routes_by(const InterfaceFacts& interface) {
    std::vector<std::string> found;
    for (const auto& [family, name] : {std::pair{static_cast<unsigned char>(AF_INET), "IPv4"},
                                       std::pair{static_cast<unsigned char>(AF_INET6), "IPv6"}}) {
        const auto interfaces = default_interfaces(family);
        if (!interfaces) return base::Failure{interfaces.error()};
        for (const int index : *interfaces) {
            const std::string text = fmt::format("{} by {}", name, name_of(index));
            if (carries(interface.name, name_of(index)) && std::find(found.begin(), found.end(), text) == found.end())
                found.push_back(text);
        }
    }
    return found;
}

}  // namespace replay::sockets
