#include "iwarp/transport/tcp.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <system_error>
#include <utility>

#include "iwarp/transport/tcp_connection.h"

namespace iwarp::transport {
namespace {

using verbs::Stream;

constexpr int accepts_in_a_turn = 64;
constexpr std::int64_t accept_again_ns = 50'000'000;         ///< where there is not even a descriptor to refuse with
constexpr std::size_t bulk_octets = std::size_t{16} * 1024;  ///< a turn that moves more is not about latency
constexpr std::int64_t never = INT64_MAX;
constexpr std::int64_t alarm_from_ns = 2'000'000;
constexpr std::int64_t longest_sleep_ns = 3'600'000'000'000;

std::int64_t clock_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

timespec as_timespec(std::int64_t ns) {
    timespec time{};
    time.tv_sec = ns / 1'000'000'000;
    time.tv_nsec = ns % 1'000'000'000;
    return time;
}

std::int64_t later(std::int64_t time_ns, std::int64_t by_ns) {
    return by_ns > never - time_ns ? never : time_ns + by_ns;
}

std::string message_of(int error) { return std::generic_category().message(error); }

struct TcpListener : TcpSource {
    TcpListener() : TcpSource(Kind::listener) {}
    Descriptor socket;
    Acceptor* acceptor = nullptr;
    std::uint64_t handle = 0;
    bool ready = false;
};

/// Whether to spin before sleeping: where events come sooner than that, mostly, and not where spinning was in vain: the
/// peer may be waiting for this very processor.
class Spin {
public:
    std::int64_t budget_ns(std::int64_t max_ns) {
        if (mean_ns_ > max_ns) return 0;
        if (rest_ > 0 && --rest_ > 0) return 0;
        return std::min(2 * mean_ns_ + 1000, max_ns);
    }
    void waited(std::int64_t ns) { mean_ns_ += (std::min(ns, longest_ns) - mean_ns_) / 8; }
    void spun(bool found) {
        if (found) {
            in_vain_ = 0;
            next_rest_ = shortest_rest;
        } else if (++in_vain_ == patience) {
            in_vain_ = 0;
            rest_ = next_rest_;
            next_rest_ = std::min(2 * next_rest_, longest_rest);
        }
    }

private:
    static constexpr std::int64_t longest_ns = 400'000;
    static constexpr int patience = 4;
    static constexpr int shortest_rest = 256;  // waits
    static constexpr int longest_rest = 65536;
    std::int64_t mean_ns_ = longest_ns;
    int in_vain_ = 0;
    int rest_ = 0;
    int next_rest_ = shortest_rest;
};

bool several_processors() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1;
}

}  // namespace

struct TcpTransport::Impl {
    explicit Impl(const TcpOptions& options);
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();

    bool progress(std::int64_t wait_ns);
    bool run_queue();
    bool run_listeners();
    bool run_timers();
    bool poll(std::int64_t wait_ns);
    int wait_for_events(std::int64_t wait_ns);
    int sleep(std::int64_t wait_ns);
    bool set_alarm(std::int64_t due_ns);
    void note(const epoll_event& event);
    std::int64_t next_ns() const;
    void wind_timer();

    TcpConnection& add(std::shared_ptr<Stream> stream);
    void queue(TcpConnection& connection);
    bool serve(TcpConnection& connection);
    bool look_after(TcpConnection& connection);
    static bool wants_a_turn(const TcpConnection& connection);
    void let_go(TcpConnection& connection, bool orderly);
    bool watch(int descriptor, TcpSource& source, std::uint32_t events);

    bool continue_connecting(TcpConnection& connection);
    bool try_next_address(TcpConnection& connection);
    bool try_address(TcpConnection& connection, const TcpAddress& address);
    void connected(TcpConnection& connection, const std::string& peer);

    bool accept(TcpListener& listener);
    bool welcome(TcpListener& listener, Descriptor socket, const TcpAddress& address);
    bool turn_away(const TcpListener& listener);

    TcpShared shared;
    bool in_progress = false;
    bool skipped_poll = false;
    bool may_spin = several_processors();
    Spin spin;
    Descriptor epoll;
    Descriptor reserve;  ///< given up for a moment where there is no other left
    Descriptor timer;    ///< once descriptor() was asked for
    TcpSource timer_source{TcpSource::Kind::timer};
    Descriptor alarm;  ///< ends long sleeps
    TcpSource alarm_source{TcpSource::Kind::alarm};
    std::int64_t alarm_ns = 0;
    std::int64_t timer_ns = never;
    std::array<epoll_event, 256> events{};
    TimerHeap timers;
    std::vector<std::unique_ptr<TcpConnection>> connections;
    std::vector<std::unique_ptr<TcpConnection>> gone;
    std::vector<TcpConnection*> waiting;  ///< for their turn
    std::vector<TcpConnection*> working;
    std::vector<std::unique_ptr<TcpListener>> listeners;
    std::uint64_t last_handle = 0;
    std::int64_t accept_again_at_ns = never;
    bool listener_ready = false;
};

TcpTransport::Impl::Impl(const TcpOptions& options) : shared(options) {
    if (options.raise_descriptor_limit) {
        rlimit limit{};
        if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
            limit.rlim_cur = limit.rlim_max;
            setrlimit(RLIMIT_NOFILE, &limit);
        }
    }
    epoll = Descriptor(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll) throw Error("no epoll instance: " + message_of(errno));
    reserve = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    shared.now_ns = clock_ns();
}

TcpTransport::Impl::~Impl() {
    for (const auto& connection : connections) {
        connection->stream->transport_data = nullptr;
        connection->close(false, shared);
    }
}

bool TcpTransport::Impl::watch(int descriptor, TcpSource& source, std::uint32_t wanted) {
    epoll_event event{};
    event.events = wanted | EPOLLET;
    event.data.ptr = &source;
    return epoll_ctl(epoll.number(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

// Connections and their turns.

TcpConnection& TcpTransport::Impl::add(std::shared_ptr<Stream> stream) {
    auto connection = std::make_unique<TcpConnection>();
    connection->stream = std::move(stream);
    connection->stream->transport_data = connection.get();
    connection->index = connections.size();
    connections.push_back(std::move(connection));
    return *connections.back();
}

void TcpTransport::Impl::queue(TcpConnection& connection) {
    if (connection.queued || connection.gone) return;
    connection.queued = true;
    waiting.push_back(&connection);
}

/// The transport forgets the stream; the connection's memory goes when no list knows it any more.
void TcpTransport::Impl::let_go(TcpConnection& connection, bool orderly) {
    if (connection.gone) return;
    connection.gone = true;
    connection.stream->transport_data = nullptr;
    connection.stream.reset();
    connection.close(orderly, shared);
    timers.remove(connection);
    const std::size_t index = connection.index;
    gone.push_back(std::move(connections[index]));
    if (index + 1 < connections.size()) {
        connections[index] = std::move(connections.back());
        connections[index]->index = index;
    }
    connections.pop_back();
}

/// One turn: sends what is wanted, receives what is there, sends what that caused.
bool TcpTransport::Impl::serve(TcpConnection& connection) {
    if (connection.connecting && !continue_connecting(connection)) return connection.gone;
    const std::shared_ptr<Stream> stream = connection.stream;
    bool moved = false;
    if (connection.attention || (connection.blocked && connection.writable)) moved = connection.send(shared);
    if (connection.failure != 0) {
        while (connection.receive(shared)) {  // what the peer said last, before its reset met our octets
        }
    } else if (connection.receive(shared)) {
        moved = true;
        if (connection.failure == 0) connection.send(shared);
    }
    if (connection.error && (connection.fin_received || stream->receive_paused())) connection.look_for_error();
    if (connection.failure == 0) return look_after(connection) || moved;
    const std::string why = describe_tcp_error(connection.failure, connection.peer);
    let_go(connection, false);
    stream->lost(why, shared.now_ns);
    return true;
}

/// FIN, RST and deadline, as the stream wants them now.
bool TcpTransport::Impl::look_after(TcpConnection& connection) {
    const Stream& stream = *connection.stream;
    const Stream::Closing closing = stream.closing();
    bool moved = false;
    if (closing == Stream::Closing::reset) {
        let_go(connection, false);
        return true;
    }
    if (closing != Stream::Closing::no && connection.drained) {
        if (!std::exchange(connection.fin_sent, true)) {
            shutdown(connection.socket.number(), SHUT_WR);
            moved = true;
        }
        if (closing == Stream::Closing::full) {
            let_go(connection, true);
            return true;
        }
    }
    if (const auto deadline = stream.deadline_ns())
        timers.set(connection, *deadline);
    else
        timers.remove(connection);
    return moved;
}

bool TcpTransport::Impl::wants_a_turn(const TcpConnection& connection) {
    if (connection.gone || connection.connecting) return false;
    return connection.attention || connection.wants_to_receive() || (connection.blocked && connection.writable);
}

bool TcpTransport::Impl::run_queue() {
    bool moved = false;
    if (std::exchange(listener_ready, false)) moved = run_listeners();
    working.swap(waiting);
    for (TcpConnection* const connection : working) {
        if (!connection->gone && serve(*connection)) moved = true;
        connection->queued = false;
        if (wants_a_turn(*connection)) queue(*connection);
    }
    working.clear();
    return moved;
}

bool TcpTransport::Impl::run_listeners() {
    bool moved = false;
    for (std::size_t i = 0; i < listeners.size(); ++i) {  // NOLINT(modernize-loop-convert): an acceptor may listen
        if (listeners[i]->ready && accept(*listeners[i])) moved = true;
        if (listeners[i]->ready && accept_again_at_ns == never) listener_ready = true;
    }
    std::erase_if(listeners, [](const auto& listener) { return listener->acceptor == nullptr; });
    return moved;
}

bool TcpTransport::Impl::run_timers() {
    bool moved = false;
    while (!timers.empty() && timers.first().due_ns <= shared.now_ns) {
        auto& connection = static_cast<TcpConnection&>(timers.first());
        timers.remove(connection);  // set again by its turn, so that none comes twice in one call
        connection.attention = true;
        queue(connection);
        if (!connection.connecting) connection.stream->tick(shared.now_ns);
        moved = true;
    }
    if (accept_again_at_ns <= shared.now_ns) {
        accept_again_at_ns = never;
        listener_ready = true;
    }
    return moved;
}

std::int64_t TcpTransport::Impl::next_ns() const {
    return std::min(accept_again_at_ns, timers.empty() ? never : timers.first().due_ns);
}

// Waiting.

/// A time-out of its own for every sleep costs more than the rest of it. One alarm serves all sleeps that would last
/// until then or longer: they end early at worst. Whether there is one.
bool TcpTransport::Impl::set_alarm(std::int64_t due_ns) {
    if (timer) return false;  // others wait for the descriptor, and an alarm would wake them
    if (!alarm) {
        alarm = Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
        if (!alarm) return false;
        if (!watch(alarm.number(), alarm_source, EPOLLIN)) {
            alarm.close();
            return false;
        }
    }
    if (alarm_ns > shared.now_ns && alarm_ns <= due_ns) return true;
    itimerspec when{};
    when.it_value = as_timespec(due_ns);
    alarm_ns = due_ns;
    return timerfd_settime(alarm.number(), TFD_TIMER_ABSTIME, &when, nullptr) == 0;
}

int TcpTransport::Impl::sleep(std::int64_t wait_ns) {
    if (wait_ns > 0) ++shared.counters.waits;
    const int room = static_cast<int>(events.size());
    if (wait_ns >= alarm_from_ns && set_alarm(later(shared.now_ns, wait_ns)))
        return epoll_wait(epoll.number(), events.data(), room, -1);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
    static bool precise = true;
    if (precise && wait_ns > 0) {
        const timespec wait = as_timespec(wait_ns);
        const int found = epoll_pwait2(epoll.number(), events.data(), room, &wait, nullptr);
        if (found >= 0 || errno != ENOSYS) return found;
        precise = false;
    }
#endif
    const std::int64_t wait_ms = wait_ns <= 0 ? 0 : std::min<std::int64_t>((wait_ns - 1) / 1'000'000 + 1, 3'600'000);
    return epoll_wait(epoll.number(), events.data(), room, static_cast<int>(wait_ms));
}

/// Time goes on meanwhile.
int TcpTransport::Impl::wait_for_events(std::int64_t wait_ns) {
    if (wait_ns <= 0) return sleep(0);
    const bool short_turns = std::exchange(shared.turn_octets, 0) <= bulk_octets;
    const std::int64_t budget_ns = may_spin && short_turns ? spin.budget_ns(shared.options.max_spin_ns) : 0;
    const std::int64_t start_ns = shared.now_ns;
    std::int64_t spent_ns = 0;
    int found = 0;
    if (budget_ns > 0) {
        do {
            found = sleep(0);
            spent_ns = clock_ns() - start_ns;
        } while (found == 0 && spent_ns < std::min(budget_ns, wait_ns));
        spin.spun(found != 0);
    }
    if (found == 0 && spent_ns < wait_ns) found = sleep(wait_ns - spent_ns);
    shared.now_ns = std::max(shared.now_ns, clock_ns());
    if (short_turns) spin.waited(shared.now_ns - start_ns);
    return found;
}

void TcpTransport::Impl::note(const epoll_event& event) {
    auto* const source = static_cast<TcpSource*>(event.data.ptr);
    switch (source->kind) {
        case TcpSource::Kind::timer: timer_ns = never; return;
        case TcpSource::Kind::alarm: alarm_ns = 0; return;
        case TcpSource::Kind::listener:
            static_cast<TcpListener*>(source)->ready = true;
            listener_ready = true;
            return;
        case TcpSource::Kind::connection: break;
    }
    auto& connection = static_cast<TcpConnection&>(*source);
    const std::uint32_t what = event.events;
    if ((what & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) connection.hang_up = true;
    if ((what & EPOLLERR) != 0) connection.error = true;
    if ((what & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) connection.readable = true;
    if ((what & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) connection.writable = true;
    if (connection.readable || connection.blocked || connection.connecting) queue(connection);
}

bool TcpTransport::Impl::poll(std::int64_t wait_ns) {
    const std::int64_t next = next_ns();
    const std::int64_t until_next_ns = next == never ? never : std::max<std::int64_t>(next - shared.now_ns, 0);
    const int found = wait_for_events(std::min({wait_ns, until_next_ns, longest_sleep_ns}));
    for (int i = 0; i < found; ++i) note(events[static_cast<std::size_t>(i)]);
    return found > 0;
}

bool TcpTransport::Impl::progress(std::int64_t wait_ns) {
    in_progress = true;
    shared.now_ns = std::max(shared.now_ns, clock_ns());
    const bool ticked = run_timers();
    bool moved = run_queue() || ticked;
    // What has just been sent cannot have been answered yet: once in two calls the question is left out.
    skipped_poll = moved && !skipped_poll;
    if (!skipped_poll) {
        const bool idle = !moved && waiting.empty() && !listener_ready;
        poll(idle ? wait_ns : 0);
        if (run_timers()) moved = true;
        if (run_queue()) moved = true;
    }
    std::erase_if(gone, [](const auto& connection) { return !connection->queued; });
    if (timer) wind_timer();
    in_progress = false;
    return moved;
}

/// For those who wait for the descriptor: it becomes readable with the next deadline, or at once where work is left.
void TcpTransport::Impl::wind_timer() {
    const std::int64_t wanted = waiting.empty() && !listener_ready ? next_ns() : 0;
    if (wanted == timer_ns) return;
    timer_ns = wanted;
    itimerspec when{};
    if (wanted != never) when.it_value = as_timespec(std::max<std::int64_t>(wanted, 1));
    timerfd_settime(timer.number(), TFD_TIMER_ABSTIME, &when, nullptr);
}

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
    } else if (connection.place != Timer::nowhere || !connection.attention) {
        return false;
    } else {  // its timer has come
        connecting.why = describe_tcp_error(ETIMEDOUT, text_of(connecting.addresses[connecting.next - 1]));
    }
    return try_next_address(connection);
}

/// Always `false`: no connection is there at once.
bool TcpTransport::Impl::try_next_address(TcpConnection& connection) {
    TcpConnecting& connecting = *connection.connecting;
    connection.socket.close();
    while (connecting.next < connecting.addresses.size()) {
        const TcpAddress& address = connecting.addresses[connecting.next++];
        if (try_address(connection, address)) return false;
    }
    const std::shared_ptr<Stream> stream = connection.stream;
    const std::string why = connecting.why;
    let_go(connection, false);
    stream->connect_failed(why, shared.now_ns);
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
            connection.socket.close();
            return false;
        }
    }
    if (failure == 0 && ::connect(socket, address.data(), address.size) != 0 && errno != EINPROGRESS) failure = errno;
    if (failure == 0 && !watch(socket, connection, EPOLLIN | EPOLLOUT | EPOLLRDHUP)) failure = errno;
    if (failure != 0) {
        connecting.why = describe_tcp_error(failure, peer);
        connection.socket.close();
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
        Descriptor socket(
            accept4(listener.socket.number(), address.data(), &address.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (socket) {
            if (!welcome(listener, std::move(socket), address)) ++shared.counters.declined;
        } else if (errno == EAGAIN) {
            listener.ready = false;
            return moved;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            if (!turn_away(listener)) {
                accept_again_at_ns = later(shared.now_ns, accept_again_ns);
                return moved;
            }
        }  // else that one connection failed before it was ours
        moved = true;
    }
    return moved;
}

bool TcpTransport::Impl::welcome(TcpListener& listener, Descriptor socket, const TcpAddress& address) {
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
    reserve.close();
    TcpConnection nobody;
    nobody.socket = Descriptor(accept4(listener.socket.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const bool taken = static_cast<bool>(nobody.socket);
    nobody.close(false, shared);
    reserve = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (taken) ++shared.counters.without_descriptor;
    return taken;
}

// The face.

TcpTransport::TcpTransport(const TcpOptions& options) : impl_(std::make_unique<Impl>(options)) {}
TcpTransport::~TcpTransport() = default;

std::int64_t TcpTransport::now_ns() const {
    return impl_->in_progress ? impl_->shared.now_ns : std::max(impl_->shared.now_ns, clock_ns());
}

void TcpTransport::connect(std::shared_ptr<Stream> stream, const std::string& host, std::uint16_t port,
                           const ConnectionOptions& options) {
    TcpResolution resolution = resolve(host, port, false);
    auto connecting = std::make_unique<TcpConnecting>();
    connecting->name = text_of(host, port);
    connecting->why = resolution.error + ": " + connecting->name;
    connecting->addresses = std::move(resolution.addresses);
    connecting->congestion_control = options.congestion_control;
    connecting->give_up_ns = later(now_ns(), std::chrono::nanoseconds(options.connect_timeout).count());
    TcpConnection& connection = impl_->add(std::move(stream));
    connection.connecting = std::move(connecting);
    impl_->queue(connection);
    if (impl_->timer) impl_->wind_timer();
}

Listening TcpTransport::listen(const std::string& host, std::uint16_t port, int backlog,
                               const ConnectionOptions& options, Acceptor& acceptor) {
    const std::string where = "cannot listen on " + text_of(host, port) + ": ";
    const TcpResolution resolution = resolve(host, port, true);
    std::string why = resolution.error;
    for (const TcpAddress& address : resolution.addresses) {
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
        listener->socket.close();
        listener->acceptor = nullptr;  // its memory goes when nothing is under way with it
        impl_->listener_ready = true;
    }
}

void TcpTransport::attention(Stream& stream) {
    if (stream.transport_data == nullptr) return;
    auto& connection = *static_cast<TcpConnection*>(stream.transport_data);
    connection.attention = true;
    impl_->queue(connection);
    if (impl_->timer && !impl_->in_progress) impl_->wind_timer();
}

bool TcpTransport::progress(std::int64_t wait_ns) { return impl_->progress(wait_ns); }

int TcpTransport::descriptor() const {
    Impl& impl = *impl_;
    if (!impl.timer) {
        impl.timer = Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
        if (impl.timer) impl.watch(impl.timer.number(), impl.timer_source, EPOLLIN);
        if (impl.timer && !impl.in_progress) impl.wind_timer();
    }
    return impl.epoll.number();
}

const TcpCounters& TcpTransport::counters() const { return impl_->shared.counters; }
std::size_t TcpTransport::connections() const { return impl_->connections.size(); }

}  // namespace iwarp::transport
