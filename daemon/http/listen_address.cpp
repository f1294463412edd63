#include "daemon/http/listen_address.h"

#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "daemon/http/port_holder.h"

namespace service::http {
namespace {

constexpr int backlog = 1024;

struct Address {
    sockaddr_storage storage{};
    socklen_t length = 0;
    bool all = false;

    void set(const in_addr& host, std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr = host;
        address.sin_port = htons(port);
        store(address);
    }
    void set(const in6_addr& host, std::uint16_t port) {
        sockaddr_in6 address{};
        address.sin6_family = AF_INET6;
        address.sin6_addr = host;
        address.sin6_port = htons(port);
        store(address);
    }

private:
    template <class SocketAddress>
    void store(const SocketAddress& address) {
        length = sizeof address;
        std::memcpy(&storage, &address, sizeof address);
    }
};

std::uint16_t port_of(const sockaddr_storage& storage) {
    // At the same place in both families.
    sockaddr_in address{};
    std::memcpy(&address, &storage, sizeof address);
    return ntohs(address.sin_port);
}

base::Result<Address> parse(const std::string& text) {
    const auto wrong = [](std::string_view what) {
        return base::Failure{
            base::Error{fmt::format("{}; an address is like 127.0.0.1:14791, [::1]:14791, or :14791 for all", what)}};
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) return wrong("there is no port");
    std::string host = text.substr(0, colon);
    const std::string port_text = text.substr(colon + 1);
    std::uint16_t port = 0;
    const char* const end = port_text.data() + port_text.size();
    const auto parsed = std::from_chars(port_text.data(), end, port);
    if (parsed.ec != std::errc{} || parsed.ptr != end)
        return wrong(fmt::format("'{}' is no port (0 to 65535)", port_text));
    Address address;
    address.all = host.empty();
    in_addr four{};
    in6_addr six = in6addr_any;
    if (address.all) {
        address.set(six, port);
    } else if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
        if (inet_pton(AF_INET6, host.c_str(), &six) != 1) return wrong(fmt::format("'{}' is no IPv6 address", host));
        address.set(six, port);
    } else {
        if (inet_pton(AF_INET, host.c_str(), &four) != 1) return wrong(fmt::format("'{}' is no IP address", host));
        address.set(four, port);
    }
    return address;
}

/// EADDRINUSE in words, with the name of the other program where this process may see it.
std::string port_in_use(std::uint16_t port) {
    const std::string holder = port_holder(port);
    return fmt::format("another program listens there{}; stop it, or choose another port",
                       holder.empty() ? " (ss -ltnp shows which)" : ": " + holder);
}

std::string explain(int error, std::uint16_t port) {
    switch (error) {
        case EADDRINUSE: return port_in_use(port);
        case EACCES: return "that needs root or CAP_NET_BIND_SERVICE; choose a port above 1023";
        case EADDRNOTAVAIL: return "no interface has this address (ip address shows the addresses)";
        case EAFNOSUPPORT: return "this machine has no IPv6; choose an IPv4 address";
        default: return std::strerror(error);
    }
}

/// An empty descriptor if it fails; errno then has the reason.
base::Descriptor try_to_listen(const Address& address) {
    base::Descriptor listening(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listening) return listening;
    const int handle = listening.number();
    const int on = 1;
    const int only_six = address.all ? 0 : 1;
    setsockopt(handle, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.storage.ss_family == AF_INET6)
        setsockopt(handle, IPPROTO_IPV6, IPV6_V6ONLY, &only_six, sizeof only_six);
    if (bind(handle, reinterpret_cast<const sockaddr*>(&address.storage), address.length) == 0 &&
        listen(handle, backlog) == 0)
        return listening;
    return base::Descriptor();
}

}  // namespace

base::Result<ListeningSocket> listen_on(const std::string& text) {
    const auto failure = [&text](const std::string& why) {
        return base::Failure{base::Error{fmt::format("cannot listen on '{}': {}", text, why)}};
    };
    auto parsed = parse(text);
    if (!parsed.ok()) return failure(parsed.error().message);
    base::Descriptor listening = try_to_listen(*parsed);
    if (!listening && parsed->all && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
        parsed->set(in_addr{}, port_of(parsed->storage));
        listening = try_to_listen(*parsed);
    }
    if (!listening) return failure(explain(errno, port_of(parsed->storage)));
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    getsockname(listening.number(), reinterpret_cast<sockaddr*>(&bound), &length);
    return ListeningSocket{std::move(listening), port_of(bound)};
}

}  // namespace service::http
