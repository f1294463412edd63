#include "iwarp/transport/tcp_transport.h"

#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <utility>

#include "base/clock.h"
#include "iwarp/transport/tcp_impl.h"

namespace iwarp::transport {
namespace {

using verbs::Stream;

}  // namespace

TcpTransport::TcpTransport(const TcpOptions& options) : impl_(std::make_unique<Impl>(options)) {}
TcpTransport::~TcpTransport() = default;

std::int64_t TcpTransport::now_ns() const {
    return impl_->in_progress ? impl_->shared.now_ns : std::max(impl_->shared.now_ns, base::steady_ns());
}

void TcpTransport::connect(std::shared_ptr<Stream> stream, const std::string& host, std::uint16_t port,
                           const ConnectionOptions& options) {
    auto addresses = resolve(host, port, false);
    auto connecting = std::make_unique<TcpConnecting>();
    connecting->name = text_of(host, port);
    if (addresses)
        connecting->addresses = std::move(*addresses);
    else
        connecting->why = addresses.error() + ": " + connecting->name;
    connecting->congestion_control = options.congestion_control;
    connecting->traffic_class = options.traffic_class;
    if (!options.source.empty() || options.source_port != 0) {
        auto sources = resolve(options.source, options.source_port, true);
        if (sources) {
            connecting->sources = std::move(*sources);
        } else {
            connecting->why = sources.error() + ": " + text_of(options.source, options.source_port);
            connecting->addresses.clear();
        }
    }
    connecting->refused_until_ns = base::add_ns(now_ns(), std::chrono::nanoseconds(options.refused_patience).count());
    connecting->give_up_ns = base::add_ns(now_ns(), std::chrono::nanoseconds(options.connect_timeout).count());
    TcpConnection& connection = impl_->add(std::move(stream));
    connection.connecting = std::move(connecting);
    impl_->queue(connection);
    if (impl_->timer) impl_->wind_timer();
}

iwarp::verbs::Listening TcpTransport::listen(const std::string& host, std::uint16_t port, int backlog,
                                             const ConnectionOptions& options, iwarp::verbs::Acceptor& acceptor) {
    const std::string where = "cannot listen on " + text_of(host, port) + ": ";
    const auto addresses = resolve(host, port, true);
    if (!addresses) throw Error(where + addresses.error());
    std::string why;
    for (const TcpAddress& address : *addresses) {
        auto listener = std::make_unique<TcpListener>();
        listener->socket = tcp_socket(address.family());
        const int socket = listener->socket.number();
        const int on = 1;
        if (listener->socket) {
            setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
            const int failure = prepare_tcp_socket(socket, options.congestion_control);
            if (failure != 0)
                throw Error(where + "congestion control \"" + options.congestion_control +
                            "\" cannot be had: " + message_of(failure));
            set_traffic_class(socket, address.family(), options.traffic_class);
            if (options.ipv6_only && address.family() == AF_INET6)
                setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
        }
        TcpAddress bound;
        if (!listener->socket || bind(socket, address.data(), address.size) != 0 || ::listen(socket, backlog) != 0 ||
            getsockname(socket, bound.data(), &bound.size) != 0 || !impl_->watch(socket, *listener, EPOLLIN)) {
            why = message_of(errno);
            continue;
        }
        listener->acceptor = &acceptor;
        listener->handle = ++impl_->last_handle;
        impl_->listeners.push_back(std::move(listener));
        return {impl_->last_handle, host_text(bound), port_of(bound)};
    }
    throw Error(where + why);
}

void TcpTransport::stop_listening(std::uint64_t handle) {
    for (const auto& listener : impl_->listeners) {
        if (listener->handle != handle) continue;
        listener->socket.reset();
        listener->acceptor = nullptr;  // its memory goes when nothing is under way with it
        impl_->listener_ready = true;
    }
}

void TcpTransport::attention(Stream& stream) {
    if (stream.transport_data == nullptr) return;
    auto& connection = *static_cast<TcpConnection*>(stream.transport_data);
    connection.attention = true;
    impl_->queue(connection);
    if (impl_->timer && !impl_->in_progress && impl_->shared.options.descriptor_tells_posts) impl_->wind_timer();
}

std::string TcpTransport::local(const Stream& stream) const {
    const auto* const connection = static_cast<const TcpConnection*>(stream.transport_data);
    if (connection == nullptr || !connection->socket) return {};
    TcpAddress address;
    if (getsockname(connection->socket.number(), address.data(), &address.size) != 0) return {};
    return text_of(address);
}

bool TcpTransport::progress(std::int64_t wait_ns) { return impl_->progress(wait_ns); }

int TcpTransport::descriptor() const {
    Impl& impl = *impl_;
    if (!impl.timer) {
        impl.timer = base::Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
        if (impl.timer) impl.watch(impl.timer.number(), impl.timer_source, EPOLLIN);
        if (impl.timer && !impl.in_progress) impl.wind_timer();
    }
    return impl.epoll.number();
}

bool TcpTransport::work_waits() const { return !impl_->waiting.empty() || impl_->listener_ready; }

const TcpCounters& TcpTransport::counters() const { return impl_->shared.counters; }
std::size_t TcpTransport::connections() const { return impl_->connections.size(); }

}  // namespace iwarp::transport
