#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <utility>

#include "base/clock.h"
#include "iwarp/transport/tcp_impl.h"

namespace iwarp::transport {
namespace {

using verbs::Stream;

constexpr int accepts_in_a_turn = 64;
constexpr std::int64_t refused_again_ns = 10'000'000;
constexpr std::int64_t accept_again_ns = 50'000'000;  ///< where there is not even a descriptor to refuse with

/// Where one is asked for. 0 or errno.
int bind_source(int socket, const TcpAddress& target, const TcpConnecting& connecting) {
    if (connecting.sources.empty()) return 0;
    const auto source = std::ranges::find_if(connecting.sources,
                                             [&](const TcpAddress& one) { return one.family() == target.family(); });
    if (source == connecting.sources.end()) return EAFNOSUPPORT;
    const int on = 1;
    // A port that the system chooses is chosen by connect(2), when it knows the peer: there are more to choose from.
    const bool any_port = port_of(*source) == 0;
    setsockopt(socket, any_port ? IPPROTO_IP : SOL_SOCKET, any_port ? IP_BIND_ADDRESS_NO_PORT : SO_REUSEADDR, &on,
               sizeof on);
    return bind(socket, source->data(), source->size) == 0 ? 0 : errno;
}

}  // namespace

// Connecting.

/// Whether the connection is there. Else it goes on, or is gone.
bool TcpTransport::Impl::continue_connecting(TcpConnection& connection) {
    const Stream::Closing closing = connection.stream->closing();
    if (closing == Stream::Closing::reset || closing == Stream::Closing::full) {
        let_go(connection, false);
        return false;
    }
    if (!connection.socket) return try_next_address(connection);
    TcpConnecting& connecting = *connection.connecting;
    if (connection.writable) {
        connection.look_for_error();
        const std::string peer = text_of(connecting.addresses[connecting.next - 1]);
        const int failure = std::exchange(connection.failure, 0);
        if (failure == 0) {
            connected(connection, peer);
            return true;
        }
        connecting.why = describe_tcp_error(failure, peer);
        connecting.failure = failure_of(failure);
    } else if (connection.place != Timer::nowhere || !connection.attention) {
        return false;
    } else {  // its timer has come
        connecting.why = describe_tcp_error(ETIMEDOUT, text_of(connecting.addresses[connecting.next - 1]));
        connecting.failure = Failure::timed_out;
    }
    return try_next_address(connection);
}

/// Always `false`: no connection is there at once.
bool TcpTransport::Impl::try_next_address(TcpConnection& connection) {
    TcpConnecting& connecting = *connection.connecting;
    connection.socket.reset();
    while (connecting.next < connecting.addresses.size()) {
        const TcpAddress& address = connecting.addresses[connecting.next++];
        if (try_address(connection, address)) return false;
    }
    const std::shared_ptr<Stream> stream = connection.stream;
    if (connecting.failure == Failure::refused && shared.now_ns < connecting.refused_until_ns) {
        connecting.next = 0;
        timers.set(connection, shared.now_ns + refused_again_ns);
        return false;
    }
    const std::string why = connecting.why;
    const Failure kind = connecting.failure;
    let_go(connection, false);
    stream->connect_failed(kind, why, shared.now_ns);
    return false;
}

/// Whether its answer is to be waited for.
bool TcpTransport::Impl::try_address(TcpConnection& connection, const TcpAddress& address) {
    TcpConnecting& connecting = *connection.connecting;
    connection.readable = connection.writable = connection.error = connection.hang_up = false;
    const std::string peer = text_of(address);
    connection.socket = tcp_socket(address.family());
    const int socket = connection.socket.number();
    int failure = connection.socket ? 0 : errno;
    if (failure == 0) {
        failure = prepare_tcp_socket(socket, connecting.congestion_control);
        if (failure != 0) {
            connecting.why =
                "congestion control \"" + connecting.congestion_control + "\" cannot be had: " + message_of(failure);
            connecting.failure = Failure::other;
            connection.socket.reset();
            return false;
        }
        set_traffic_class(socket, address.family(), connecting.traffic_class);
        failure = bind_source(socket, address, connecting);
    }
    if (failure == 0 && ::connect(socket, address.data(), address.size) != 0 && errno != EINPROGRESS) failure = errno;
    if (failure == 0 && !watch(socket, connection, EPOLLIN | EPOLLOUT | EPOLLRDHUP)) failure = errno;
    if (failure != 0) {
        connecting.why = describe_tcp_error(failure, peer);
        connecting.failure = failure_of(failure);
        connection.socket.reset();
        return false;
    }
    const auto left = static_cast<std::int64_t>(connecting.addresses.size() - connecting.next + 1);
    timers.set(connection, shared.now_ns + std::max<std::int64_t>(connecting.give_up_ns - shared.now_ns, 0) / left);
    return true;
}

void TcpTransport::Impl::connected(TcpConnection& connection, const std::string& peer) {
    connection.connecting.reset();
    timers.remove(connection);
    connection.peer = peer;
    connection.attention = true;
    connection.writable = true;
    connection.segment_size = connection.current_segment_size();
    connection.stream->connected(peer, connection.segment_size, shared.now_ns);
}

// Accepting.

bool TcpTransport::Impl::accept(TcpListener& listener) {
    bool moved = false;
    for (int i = 0; i < accepts_in_a_turn && listener.acceptor != nullptr; ++i) {
        TcpAddress address;
        base::Descriptor socket(
            accept4(listener.socket.number(), address.data(), &address.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (socket) {
            if (!accept_socket(listener, std::move(socket), address)) ++shared.counters.declined;
        } else if (errno == EAGAIN) {
            listener.ready = false;
            return moved;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            if (!turn_away(listener)) {
                accept_again_at_ns = base::add_ns(shared.now_ns, accept_again_ns);
                return moved;
            }
        }  // else that one connection failed before it was ours
        moved = true;
    }
    return moved;
}

bool TcpTransport::Impl::accept_socket(TcpListener& listener, base::Descriptor socket, const TcpAddress& address) {
    const std::string peer = text_of(address);
    prepare_tcp_socket(socket.number(), {});
    std::shared_ptr<Stream> stream = listener.acceptor->accepted(peer);
    if (!stream) {
        TcpConnection nobody;
        nobody.socket = std::move(socket);
        nobody.close(false, shared);
        return false;
    }
    ++shared.counters.accepted;
    TcpConnection& connection = add(std::move(stream));
    connection.socket = std::move(socket);
    if (!watch(connection.socket.number(), connection, EPOLLIN | EPOLLOUT | EPOLLRDHUP)) connection.failure = errno;
    connected(connection, peer);
    connection.readable = true;
    queue(connection);
    return true;
}

/// Without a descriptor a connection could only be left waiting, and its peer with it: the reserve takes it, and it is
/// reset.
bool TcpTransport::Impl::turn_away(const TcpListener& listener) {
    reserve.reset();
    TcpConnection nobody;
    nobody.socket = base::Descriptor(accept4(listener.socket.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const bool taken = static_cast<bool>(nobody.socket);
    nobody.close(false, shared);
    reserve = base::Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (taken) ++shared.counters.without_descriptor;
    return taken;
}

}  // namespace iwarp::transport
