#include "daemon/own_addresses.h"

#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <netinet/in.h>

namespace service {

std::vector<metrics::Address> own_addresses() {
    std::vector<metrics::Address> own;
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) return own;
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(all, freeifaddrs);
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr) continue;
        metrics::Address address;
        if (one->ifa_addr->sa_family == AF_INET) {
            sockaddr_in ip{};
            std::memcpy(&ip, one->ifa_addr, sizeof ip);
            address.family = wire::AddressFamily::ipv4;
            std::memcpy(address.octets.data(), &ip.sin_addr, 4);
        } else if (one->ifa_addr->sa_family == AF_INET6) {
            sockaddr_in6 ip{};
            std::memcpy(&ip, one->ifa_addr, sizeof ip);
            address.family = wire::AddressFamily::ipv6;
            std::memcpy(address.octets.data(), &ip.sin6_addr, 16);
        } else {
            continue;
        }
        own.push_back(address);
    }
    return own;
}

}  // namespace service
