#include "iwarp/preload/local_addresses.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>
#include <sstream>
#include <sys/ioctl.h>

#include "base/descriptor.h"
#include "base/file.h"

namespace iwarp::preload {
namespace {

struct Freed {
    void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

const void* octets_of(const sockaddr_storage& address) {
    const void* const storage = &address;
    if (address.ss_family == AF_INET) return &static_cast<const sockaddr_in*>(storage)->sin_addr;
    return &static_cast<const sockaddr_in6*>(storage)->sin6_addr;
}

std::string text_of(const sockaddr_storage& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const char* const written = inet_ntop(address.ss_family, octets_of(address), text.data(), text.size());
    return written == nullptr ? std::string() : std::string(written);
}

/// In the one way that inet_ntop has, so that "2001:DB8:0::1" names the same as "2001:db8::1".
std::string canonical(const std::string& text) {
    for (const int family : {AF_INET, AF_INET6}) {
        std::array<std::uint8_t, 16> octets{};
        if (inet_pton(family, text.c_str(), octets.data()) != 1) continue;
        std::array<char, INET6_ADDRSTRLEN> out{};
        return inet_ntop(family, octets.data(), out.data(), out.size());
    }
    return {};
}

/// Does a request about `name` (SIOCGIF*).
bool ask(const std::string& name, unsigned long request, ifreq& answer) {
    const base::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket) return false;
    answer = {};
    name.copy(answer.ifr_name, IFNAMSIZ - 1);
    return ioctl(socket.number(), request, &answer) == 0;
}

}  // namespace

std::array<std::uint8_t, 16> LocalAddress::gid() const {
    std::array<std::uint8_t, 16> gid{};
    if (address.ss_family == AF_INET) {
        gid[10] = gid[11] = 0xff;
        std::memcpy(gid.data() + 12, octets_of(address), 4);
    } else {
        std::memcpy(gid.data(), octets_of(address), gid.size());
    }
    return gid;
}

std::vector<LocalAddress> local_addresses(const Settings& settings) {
    std::vector<std::string> wanted;
    for (const std::string& text : settings.addresses) wanted.push_back(canonical(text));
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return {};
    const std::unique_ptr<ifaddrs, Freed> owner(list);
    std::vector<LocalAddress> found;
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
        const sa_family_t family = entry->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        LocalAddress local;
        local.interface = entry->ifa_name;
        local.interface_index = if_nametoindex(entry->ifa_name);
        local.loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
        std::memcpy(&local.address, entry->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
        if (wanted.empty() || std::find(wanted.begin(), wanted.end(), text_of(local.address)) != wanted.end())
            found.push_back(std::move(local));
    }
    std::stable_sort(found.begin(), found.end(), [](const LocalAddress& a, const LocalAddress& b) {
        return std::pair(a.loopback, a.interface_index) < std::pair(b.loopback, b.interface_index);
    });
    return found;
}

Interface interface_named(const std::string& name) {
    Interface interface;
    ifreq answer{};
    if (ask(name, SIOCGIFHWADDR, answer)) std::memcpy(interface.hardware_address.data(), answer.ifr_hwaddr.sa_data, 6);
    if (ask(name, SIOCGIFMTU, answer) && answer.ifr_mtu > 0) interface.mtu = static_cast<std::uint32_t>(answer.ifr_mtu);
    std::istringstream file(base::first_line("/sys/class/net/" + name + "/speed"));
    long speed = 0;
    if (file >> speed && speed > 0) interface.speed_mbps = static_cast<std::uint32_t>(speed);
    return interface;
}

bool is_numeric_address(const std::string& text) { return !canonical(text).empty(); }

}  // namespace iwarp::preload
