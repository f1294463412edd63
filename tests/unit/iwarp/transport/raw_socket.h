#pragma once
/// A plain blocking TCP socket on loopback, as a peer that knows nothing of the transport.
#include <arpa/inet.h>
#include <cstdint>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <vector>

#include "base/bytes.h"
#include "base/descriptor.h"

namespace transport_test {

class RawSocket {
public:
    RawSocket() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
    explicit RawSocket(int number) : socket_(number) {}

    int number() const { return socket_.number(); }
    static sockaddr_in loopback(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return address;
    }
    bool connect(std::uint16_t port) {
        const sockaddr_in to = loopback(port);
        return ::connect(number(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    }
    /// On a port of the system's choice, which it returns.
    std::uint16_t listen(int backlog) {
        sockaddr_in address = loopback(0);
        socklen_t size = sizeof address;
        if (bind(number(), reinterpret_cast<const sockaddr*>(&address), size) != 0) return 0;
        if (::listen(number(), backlog) != 0) return 0;
        getsockname(number(), reinterpret_cast<sockaddr*>(&address), &size);
        return ntohs(address.sin_port);
    }
    RawSocket accept() { return RawSocket(::accept4(number(), nullptr, nullptr, SOCK_CLOEXEC)); }
    bool readable_within(int ms) {
        pollfd one{number(), POLLIN, 0};
        return poll(&one, 1, ms) > 0;
    }
    void send(base::Bytes octets) {
        while (!octets.empty()) {
            const ssize_t sent = ::send(number(), octets.data(), octets.size(), MSG_NOSIGNAL);
            if (sent <= 0) return;
            octets = octets.subspan(static_cast<std::size_t>(sent));
        }
    }
    /// What is there now: octets, nothing at the end of the stream; `error` is errno.
    std::vector<std::byte> take() {
        std::vector<std::byte> octets(1 << 20);
        const ssize_t got = recv(number(), octets.data(), octets.size(), MSG_DONTWAIT);
        error = got < 0 ? errno : 0;
        end = got == 0;
        octets.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return octets;
    }
    void finish() { shutdown(number(), SHUT_WR); }
    void reset() {
        const linger now{1, 0};
        setsockopt(number(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
        socket_.reset();
    }
    void close() { socket_.reset(); }

    int error = 0;
    bool end = false;

private:
    base::Descriptor socket_;
};

}  // namespace transport_test
