#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <utility>

#include "base/clock.h"
#include "iwarp/transport/tcp_impl.h"

namespace iwarp::transport {
namespace {

using verbs::Stream;

constexpr std::size_t bulk_octets = std::size_t{16} * 1024;  ///< a turn that moves more is not about latency
constexpr std::int64_t alarm_from_ns = 2'000'000;
constexpr std::int64_t longest_sleep_ns = 3'600'000'000'000;

timespec as_timespec(std::int64_t ns) {
    timespec time{};
    time.tv_sec = ns / 1'000'000'000;
    time.tv_nsec = ns % 1'000'000'000;
    return time;
}

}  // namespace

bool several_processors() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1;
}

TcpTransport::Impl::Impl(const TcpOptions& options) : shared(options) {
    if (options.raise_descriptor_limit) {
        rlimit limit{};
        if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
            limit.rlim_cur = limit.rlim_max;
            setrlimit(RLIMIT_NOFILE, &limit);
        }
    }
    epoll = base::Descriptor(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll) throw Error("no epoll instance: " + message_of(errno));
    reserve = base::Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    shared.now_ns = base::steady_ns();
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

/// The transport forgets the stream; the connection is freed when no list has it any more.
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

/// One turn: sends what is requested, receives what is there, sends what that caused.
bool TcpTransport::Impl::serve(TcpConnection& connection) {
    if (connection.connecting && !continue_connecting(connection)) return connection.gone;
    const std::shared_ptr<Stream> stream = connection.stream;
    bool moved = false;
    if (connection.attention || (connection.blocked && connection.writable)) moved = connection.send(shared);
    if (connection.failure != 0) {
        while (connection.receive(shared)) {  // what the peer said last, before its reset met our bytes
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

/// FIN, RST and deadline, as the stream requests them now.
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
        alarm = base::Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
        if (!alarm) return false;
        if (!watch(alarm.number(), alarm_source, EPOLLIN)) {
            alarm.reset();
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
    if (wait_ns >= alarm_from_ns && set_alarm(base::add_ns(shared.now_ns, wait_ns)))
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
            spent_ns = base::steady_ns() - start_ns;
        } while (found == 0 && spent_ns < std::min(budget_ns, wait_ns));
        spin.spun(found != 0);
    }
    if (found == 0 && spent_ns < wait_ns) found = sleep(wait_ns - spent_ns);
    shared.now_ns = std::max(shared.now_ns, base::steady_ns());
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
    shared.now_ns = std::max(shared.now_ns, base::steady_ns());
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

/// For callers that wait for the descriptor: it becomes readable at the next deadline, or at once if work is left.
void TcpTransport::Impl::wind_timer() {
    const std::int64_t wanted = waiting.empty() && !listener_ready ? next_ns() : 0;
    if (wanted == timer_ns) return;
    timer_ns = wanted;
    itimerspec when{};
    if (wanted != never) when.it_value = as_timespec(std::max<std::int64_t>(wanted, 1));
    timerfd_settime(timer.number(), TFD_TIMER_ABSTIME, &when, nullptr);
}

}  // namespace iwarp::transport
