#include "iwarp/transport/tcp_connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "iwarp/probes.h"

namespace iwarp::transport {
namespace {

using verbs::Stream;

/// The path's segment size grows with the peer's window at first: asked again after this number of bytes, then ever
/// more seldom.
constexpr std::uint64_t first_question_octets = std::uint64_t{128} * 1024;
constexpr std::uint64_t last_question_octets = std::uint64_t{64} * 1024 * 1024;

constexpr std::size_t copied_octets = 512;

template <class Pieces>
std::size_t gather(const Pieces& pieces, TcpShared& shared, std::size_t& used) {
    std::size_t octets = 0;
    used = 0;
    for (const auto piece : pieces) {
        if (piece.empty()) continue;
        if (used == shared.pieces.size()) break;
        shared.pieces[used++] = {const_cast<std::byte*>(piece.data()), piece.size()};
        octets += piece.size();
    }
    return octets;
}

msghdr message(TcpShared& shared, std::size_t used) {
    msghdr header{};
    header.msg_iov = shared.pieces.data();
    header.msg_iovlen = used;
    return header;
}

/// A few bytes are cheaper copied here than described to the kernel.
ssize_t send_pieces(int socket, TcpShared& shared, std::size_t used, std::size_t octets, int flags) {
    if (octets > copied_octets || octets > shared.options.staging_octets) {
        const msghdr header = message(shared, used);
        return sendmsg(socket, &header, flags);
    }
    std::byte* at = shared.staging.get();
    for (std::size_t i = 0; i < used; ++i) {
        std::memcpy(at, shared.pieces[i].iov_base, shared.pieces[i].iov_len);
        at += shared.pieces[i].iov_len;
    }
    return ::send(socket, shared.staging.get(), octets, flags);
}

ssize_t receive_pieces(int socket, TcpShared& shared, std::size_t used) {
    if (used == 1) return recv(socket, shared.pieces[0].iov_base, shared.pieces[0].iov_len, 0);
    msghdr header = message(shared, used);
    return recvmsg(socket, &header, 0);
}

}  // namespace

bool TcpConnection::send(TcpShared& shared) {
    bool moved = false;
    std::size_t budget = shared.options.turn_octets;
    drained = fin_sent;
    attention = false;
    while (writable && !fin_sent && stream->closing() != Stream::Closing::reset) {
        const Stream::Output output = stream->output(shared.now_ns);
        std::size_t used = 0;
        const std::size_t octets = gather(output.pieces, shared, used);
        if (octets == 0) {
            blocked = false;
            drained = true;
            return moved;
        }
        blocked = true;
        if (budget == 0) {
            attention = true;
            return moved;
        }
        const int flags = MSG_NOSIGNAL | (output.end_of_segment ? MSG_EOR : 0);
        const ssize_t sent = send_pieces(socket.number(), shared, used, octets, flags);
        if (sent < 0) {
            if (errno == EINTR) continue;
            writable = false;
            if (errno == EAGAIN) return moved;
            failure = errno;
            readable = hang_up = true;  // there may be last words
            return moved;
        }
        const auto taken = static_cast<std::size_t>(sent);
        ++shared.counters.sends;
        shared.turn_octets += taken;
        octets_sent += taken;
        IWARP_PROBE(socket_send, socket.number(), taken, used);
        moved = true;
        stream->sent(taken, shared.now_ns);
        if (taken < octets) writable = false;  // full; epoll reports when it is not
        budget -= std::min(budget, taken);
        if (octets_sent >= segment_size_asked_at) {
            const std::uint32_t size = current_segment_size();
            segment_size_asked_at = octets_sent + std::clamp(octets_sent, first_question_octets, last_question_octets);
            if (size != 0 && std::exchange(segment_size, size) != size)
                stream->segment_size_changed(size, shared.now_ns);
        }
    }
    return moved;
}

/// What is missing of a long payload goes where it belongs, and what has come after it into the transport's buffer, by
/// one system call: those that take little cost the sender, too, which gets an acknowledgement of each.
bool TcpConnection::receive(TcpShared& shared) {
    bool moved = false;
    std::size_t budget = shared.options.turn_octets;
    while (budget > 0 && wants_to_receive() && stream->closing() != Stream::Closing::reset) {
        std::size_t used = 0;
        const std::size_t direct = gather(stream->room(shared.options.direct_octets), shared, used);
        std::size_t asked = direct;
        if (used < shared.pieces.size()) {
            const std::size_t staged =
                std::min(bulk ? shared.options.bulk_octets : shared.options.staging_octets, budget);
            shared.pieces[used++] = {shared.staging.get(), staged};
            asked += staged;
        }
        const ssize_t got = receive_pieces(socket.number(), shared, used);
        ++shared.counters.receives;
        if (got < 0) {
            if (errno == EINTR) continue;
            readable = false;
            if (errno != EAGAIN) failure = errno;
            return moved;
        }
        const auto octets = static_cast<std::size_t>(got);
        if (octets == 0) {
            readable = false;
            if (failure != 0) return false;  // not a FIN: the reset that sending met
            fin_received = true;
            stream->peer_closed(shared.now_ns);
            return true;
        }
        moved = true;
        shared.turn_octets += octets;
        IWARP_PROBE(socket_receive, socket.number(), octets, direct > 0 ? 1 : 0);
        const std::size_t placed = std::min(octets, direct);
        shared.counters.direct_octets += placed;
        shared.counters.staged_octets += octets - placed;
        if (placed > 0) stream->received(placed, shared.now_ns);
        if (octets > placed) stream->receive({shared.staging.get(), octets - placed}, shared.now_ns);
        bulk = octets >= shared.options.staging_octets;
        if (octets < asked && !hang_up) readable = false;  // empty; epoll reports when it is not
        budget -= std::min(budget, octets);
    }
    return moved;
}

void TcpConnection::look_for_error() {
    error = false;
    int found = 0;
    socklen_t size = sizeof found;
    if (getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &found, &size) == 0 && found != 0) failure = found;
}

std::uint32_t TcpConnection::current_segment_size() const {
    int octets = 0;
    socklen_t size = sizeof octets;
    if (getsockopt(socket.number(), IPPROTO_TCP, TCP_MAXSEG, &octets, &size) != 0) return 0;
    return static_cast<std::uint32_t>(std::max(octets, 0));
}

void TcpConnection::close(bool orderly, TcpShared& shared) {
    if (!socket) return;
    if (!orderly) {
        const linger now{1, 0};
        setsockopt(socket.number(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    } else {
        if (!fin_sent) shutdown(socket.number(), SHUT_WR);
        for (std::size_t left = shared.options.turn_octets; left > 0 && !fin_received;) {
            const ssize_t got = recv(socket.number(), shared.staging.get(), shared.options.staging_octets, 0);
            if (got <= 0) break;
            left -= std::min(left, static_cast<std::size_t>(got));
        }
    }
    socket.reset();
}

base::Descriptor tcp_socket(int family) {
    return base::Descriptor(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
}

int prepare_tcp_socket(int socket, const std::string& congestion_control) {
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (congestion_control.empty()) return 0;
    const int done = setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, congestion_control.data(),
                                static_cast<socklen_t>(congestion_control.size()));
    return done == 0 ? 0 : errno;
}

bool has_congestion_control(const std::string& name) {
    const base::Descriptor socket = tcp_socket(AF_INET);
    return !socket || prepare_tcp_socket(socket.number(), name) != ENOENT;
}

int set_traffic_class(int socket, int family, std::uint8_t traffic_class) {
    if (traffic_class == 0) return 0;
    const int value = traffic_class;
    const int done = family == AF_INET6 ? setsockopt(socket, IPPROTO_IPV6, IPV6_TCLASS, &value, sizeof value)
                                        : setsockopt(socket, IPPROTO_IP, IP_TOS, &value, sizeof value);
    return done == 0 ? 0 : errno;
}

Failure failure_of(int error) {
    switch (error) {
        case ECONNREFUSED: return Failure::refused;
        case ECONNRESET:
        case EPIPE: return Failure::reset;
        case ETIMEDOUT: return Failure::timed_out;
        case ENETUNREACH:
        case EHOSTUNREACH:
        case ENETDOWN:
        case EHOSTDOWN:
        case EADDRNOTAVAIL:
        case EAFNOSUPPORT: return Failure::unreachable;
        default: return Failure::other;
    }
}

std::string message_of(int error) { return std::strerror(error); }

std::string describe_tcp_error(int error, const std::string& peer) {
    switch (error) {
        case ECONNREFUSED: return "Connection refused by " + peer;
        case ECONNRESET:
        case EPIPE: return "Connection reset by " + peer;
        default: return message_of(error) + ": " + peer;
    }
}

}  // namespace iwarp::transport
