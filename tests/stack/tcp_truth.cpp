#include "tcp_truth.h"

#include <arpa/inet.h>
#include <charconv>
#include <filesystem>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>

namespace stack {

namespace {

template <class Name>
std::uint16_t port_by(int socket, Name name) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    if (name(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 || address.sin_family != AF_INET) return 0;
    return ntohs(address.sin_port);
}

}  // namespace

int find_socket(std::uint16_t local, std::uint16_t remote) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const std::string name = entry.path().filename();
        int socket = -1;
        std::from_chars(name.data(), name.data() + name.size(), socket);
        const std::uint16_t peer = port_by(socket, getpeername);
        if (peer != 0 && (remote == 0 || peer == remote) && (local == 0 || port_by(socket, getsockname) == local))
            return socket;
    }
    return -1;
}

void limit_receiving(int socket, int octets) {
    if (setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &octets, sizeof octets) != 0)
        throw std::runtime_error("the receive buffer cannot be limited");
}

std::optional<TcpTruth> ask(int socket) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
    // Chronographs came with Linux 4.10.
    if (size < offsetof(tcp_info, tcpi_sndbuf_limited) + sizeof info.tcpi_sndbuf_limited) return std::nullopt;
    return TcpTruth{info.tcpi_busy_time * 1000, info.tcpi_rwnd_limited * 1000, info.tcpi_sndbuf_limited * 1000,
                    info.tcpi_unacked,          info.tcpi_notsent_bytes,       info.tcpi_total_retrans};
}

}  // namespace stack
