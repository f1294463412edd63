#include "iwarp/transport/tcp_address.h"

#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>

namespace iwarp::transport {

std::string host_text(const TcpAddress& address) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(address.data(), address.size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        return "?";
    return text.data();
}

std::uint16_t port_of(const TcpAddress& address) {
    if (address.family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port);
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
}

std::string text_of(const std::string& host, std::uint16_t port) {
    const bool brackets = host.find(':') != std::string::npos && host.front() != '[';
    return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string text_of(const TcpAddress& address) { return text_of(host_text(address), port_of(address)); }

base::Result<std::vector<TcpAddress>, std::string> resolve(const std::string& host, std::uint16_t port,
                                                           bool to_listen) {
    std::string bare = host;
    if (bare.size() > 2 && bare.front() == '[' && bare.back() == ']') bare = bare.substr(1, bare.size() - 2);
    const std::string service = std::to_string(port);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    int failure = EAI_NONAME;
    for (const int flags : {AI_NUMERICHOST, AI_ADDRCONFIG}) {  // the resolver is slow: only where there is a name
        hints.ai_flags = flags | AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0);
        failure = getaddrinfo(bare.empty() ? nullptr : bare.c_str(), service.c_str(), &hints, &found);
        if (failure != EAI_NONAME) break;
    }
    if (failure != 0)
        return base::Failure{std::string(failure == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(failure))};
    std::vector<TcpAddress> addresses;
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
    for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
        if (one->ai_addrlen > sizeof(sockaddr_storage)) continue;
        TcpAddress address;
        std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
        address.size = one->ai_addrlen;
        addresses.push_back(address);
    }
    if (addresses.empty()) return base::Failure{std::string(gai_strerror(EAI_NONAME))};
    return addresses;
}

}  // namespace iwarp::transport
