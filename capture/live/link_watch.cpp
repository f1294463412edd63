#include "capture/live/link_watch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <optional>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <system_error>

namespace capture::inline live {
namespace {

/// IFF_...; nothing where there is no such interface.
std::optional<short> flags_of(const std::string& name) {
    ifreq ask = {};
    std::memcpy(ask.ifr_name, name.data(), std::min(name.size(), sizeof ask.ifr_name - 1));
    const base::Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const bool known = socket && ::ioctl(socket.number(), SIOCGIFFLAGS, &ask) == 0;
    return known ? std::optional(ask.ifr_flags) : std::nullopt;
}

}  // namespace

std::vector<Link> present_links() {
    std::vector<Link> links;
    struct if_nameindex* const all = ::if_nameindex();
    for (const struct if_nameindex* each = all; each != nullptr && each->if_index != 0; ++each)
        links.push_back({each->if_name, static_cast<int>(each->if_index)});
    if (all != nullptr) ::if_freenameindex(all);
    return links;
}

bool is_loopback(const std::string& name) { return (flags_of(name).value_or(0) & IFF_LOOPBACK) != 0; }
bool is_up(const std::string& name) { return (flags_of(name).value_or(0) & IFF_UP) != 0; }

bool lies_on_others(const std::string& name) {
    std::error_code none;
    std::filesystem::directory_iterator each("/sys/class/net/" + name, none);
    for (; !none && each != std::filesystem::directory_iterator(); each.increment(none))
        if (each->path().filename().native().starts_with("lower_")) return true;
    return false;
}

LinkWatch::LinkWatch() : descriptor_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE)) {
    sockaddr_nl links = {};
    links.nl_family = AF_NETLINK;
    links.nl_groups = RTMGRP_LINK;
    if (descriptor_ && ::bind(descriptor(), reinterpret_cast<const sockaddr*>(&links), sizeof links) != 0)
        descriptor_.reset();
}

bool LinkWatch::changed() {
    if (!descriptor_) return true;
    bool any = false;
    std::array<char, 8192> news{};
    for (;;) {
        const auto got = ::recv(descriptor(), news.data(), news.size(), 0);
        if (got > 0 || (got < 0 && errno == ENOBUFS)) {  // lost news are news
            any = true;
        } else if (got == 0 || errno != EINTR) {
            return any;
        }
    }
}

}  // namespace capture::live
