#include "replay/sockets/tcp_socket.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"

namespace replay::inline sockets {
namespace {

using iwarp::transport::TcpAddress;
using namespace std::chrono_literals;

base::Failure<std::string> socket_failure(const std::string& doing, int code) {
    return base::Failure{fmt::format("{}: {}", doing, std::strerror(code))};
}

void set_no_delay(int socket) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

base::Descriptor open_socket(const TcpAddress& address) {
    return base::Descriptor{::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP)};
}

template <class Ask>
TcpAddress address_of(const base::Descriptor& socket, Ask ask) {
    TcpAddress address;
    if (ask(socket.number(), address.data(), &address.size) != 0) address.storage.ss_family = AF_UNSPEC;
    return address;
}

}  // namespace

SocketResult<base::Descriptor> listen_tcp(const std::string& host, std::uint16_t port) {
    const auto addresses = iwarp::transport::resolve(host, port, true);
    if (!addresses) return base::Failure{addresses.error()};
    const TcpAddress& address = addresses->front();
    base::Descriptor listener = open_socket(address);
    const int on = 1;
    if (listener) ::setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!listener || ::bind(listener.number(), address.data(), address.size) != 0 ||
        ::listen(listener.number(), SOMAXCONN) != 0)
        return socket_failure("cannot listen on " + iwarp::transport::text_of(address), errno);
    return listener;
}

TcpAttempt::TcpAttempt(std::string what, std::vector<TcpAddress> addresses)
    : what_(std::move(what)), addresses_(std::move(addresses)) {}

TcpAttempt::TcpAttempt(const std::string& host, std::uint16_t port) : what_(iwarp::transport::text_of(host, port)) {
    auto addresses = iwarp::transport::resolve(host, port, false);
    if (addresses)
        addresses_ = std::move(*addresses);
    else
        reasons_.push_back(addresses.error());
}

base::Descriptor TcpAttempt::next() {
    while (at_ < addresses_.size()) {
        const TcpAddress& address = addresses_[at_++];
        base::Descriptor socket = open_socket(address);
        if (socket) set_no_delay(socket.number());
        if (socket && (::connect(socket.number(), address.data(), address.size) == 0 || errno == EINPROGRESS))
            return socket;
        failed(std::strerror(errno));
    }
    return {};
}

void TcpAttempt::failed(const std::string& why) {
    const bool several = addresses_.size() > 1;
    reasons_.push_back((several ? iwarp::transport::text_of(addresses_[at_ - 1]) + ": " : std::string{}) + why);
}

std::string TcpAttempt::error() const {
    return fmt::format("cannot connect to {}: {}", what_, fmt::join(reasons_, "; "));
}

SocketResult<base::Descriptor> connect_tcp(TcpAttempt attempt, std::int64_t timeout_ns) {
    for (std::size_t left = attempt.left(); base::Descriptor socket = attempt.next(); left = attempt.left()) {
        const std::int64_t begun_ns = base::steady_ns();
        pollfd wait{socket.number(), POLLOUT, 0};
        const std::int64_t share_ns = timeout_ns / static_cast<std::int64_t>(std::max<std::size_t>(left, 1));
        const int ready = ::poll(&wait, 1, static_cast<int>(share_ns / 1'000'000));
        const std::string why = ready == 0 ? "no answer" : ready < 0 ? std::strerror(errno) : connect_error(socket);
        if (why.empty()) return socket;
        attempt.failed(why);
        timeout_ns -= std::min<std::int64_t>(timeout_ns, base::steady_ns() - begun_ns);
    }
    return base::Failure{attempt.error()};
}

SocketResult<base::Descriptor> connect_tcp(const std::string& host, std::uint16_t port, std::int64_t timeout_ns) {
    return connect_tcp(TcpAttempt(host, port), timeout_ns);
}

std::string connect_error(const base::Descriptor& socket) {
    int code = 0;
    socklen_t size = sizeof code;
    if (::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &code, &size) != 0) code = errno;
    return code == 0 ? "" : std::strerror(code);
}

SocketResult<base::Descriptor> accept_tcp(const base::Descriptor& listener) {
    base::Descriptor socket{::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (socket) {
        set_no_delay(socket.number());
        return socket;
    }
    // accept(2): an error of a connection before it was accepted is not the listener's fault.
    switch (errno) {
        case EAGAIN:
        case EINTR:
        case ECONNABORTED:
        case ENETDOWN:
        case EPROTO:
        case ENOPROTOOPT:
        case EHOSTDOWN:
        case ENONET:
        case EHOSTUNREACH:
        case EOPNOTSUPP:
        case ENETUNREACH: return base::Descriptor{};
        default: return socket_failure("cannot accept a connection", errno);
    }
}

std::string local_address(const base::Descriptor& socket) {
    return iwarp::transport::text_of(address_of(socket, ::getsockname));
}
std::string peer_address(const base::Descriptor& socket) {
    return iwarp::transport::text_of(address_of(socket, ::getpeername));
}
std::uint16_t local_port(const base::Descriptor& socket) {
    return iwarp::transport::port_of(address_of(socket, ::getsockname));
}

Transferred receive_some(const base::Descriptor& socket, base::MutableBytes into) {
    const ssize_t got = ::recv(socket.number(), into.data(), into.size(), 0);
    if (got > 0) return {static_cast<std::size_t>(got)};
    if (got == 0) return {.ended = !into.empty()};
    if (errno == EAGAIN || errno == EINTR) return {};
    return {.error = std::strerror(errno)};
}

Transferred send_some(const base::Descriptor& socket, base::Bytes octets) {
    const ssize_t sent = ::send(socket.number(), octets.data(), octets.size(), MSG_NOSIGNAL);
    if (sent >= 0) return {static_cast<std::size_t>(sent)};
    if (errno == EAGAIN || errno == EINTR) return {};
    return {.error = std::strerror(errno)};
}

void end_sending(const base::Descriptor& socket) { ::shutdown(socket.number(), SHUT_WR); }

void reset(base::Descriptor& socket) {
    const linger at_once{1, 0};
    if (socket) ::setsockopt(socket.number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    socket.reset();
}

}  // namespace replay::sockets
