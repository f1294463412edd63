#include "replay/sockets/relay.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "replay/impair/stream_line.h"

namespace replay::inline sockets {
namespace {

/// One way: from a socket through a line to a socket.
struct Way {
    Way(const ImpairmentSettings& settings, unsigned direction) : line(settings, direction) {}
    StreamLine line;
    bool ended = false;    ///< its source will send no more
    bool closed = false;   ///< and its target knows
    bool blocked = false;  ///< its target accepts no more for now
};

struct Pair {
    Pair(base::Descriptor from, base::Descriptor to, TcpAttempt onward, const ImpairmentSettings& settings)
        : sockets{std::move(from), std::move(to)},
          attempt(std::move(onward)),
          ways{Way{settings, 0}, Way{settings, 1}} {}
    std::array<base::Descriptor, 2> sockets;  ///< the client and the target
    TcpAttempt attempt;                       ///< to reach the target
    std::array<Way, 2> ways;                  ///< there and back
    bool connected = false;                   ///< the target has answered

    bool over() const { return ways[0].closed && ways[1].closed; }
};

}  // namespace

class Relay::Work {
public:
    Work(base::Descriptor listener, int waker, Target target, const ImpairmentSettings& settings,
         RelayCounters& counters)
        : listener_(std::move(listener)),
          waker_(waker),
          target_(std::move(target)),
          settings_(settings),
          counters_(counters),
          buffer_(std::size_t{64} << 10) {}

    void run() {
        for (;;) {
            for (auto& pair : pairs_) advance(*pair);
            forget_ended();
            if (wait()) break;
        }
        for (auto& pair : pairs_) lose(*pair, "");
        forget_ended();
    }

private:
    /// True where it is to end.
    bool wait() {
        polled_.clear();
        polled_.push_back({waker_, POLLIN, 0});
        polled_.push_back({listener_.number(), POLLIN, 0});
        std::int64_t next_ns = INT64_MAX;
        for (const auto& pair : pairs_) {
            for (unsigned side = 0; side < 2; ++side)
                polled_.push_back({pair->sockets[side].number(), wanted(*pair, side), 0});
            for (const Way& way : pair->ways)
                if (const auto due = way.line.next_ns(); due && !way.blocked && pair->connected)
                    next_ns = std::min(next_ns, *due);
        }
        const std::int64_t left_ns = std::clamp<std::int64_t>(
            next_ns == INT64_MAX ? 1'000'000'000 : next_ns - base::steady_ns(), 0, 1'000'000'000);
        const timespec timeout{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
        if (::ppoll(polled_.data(), polled_.size(), &timeout, nullptr) <= 0) return false;
        if (polled_[0].revents != 0) return true;
        for (std::size_t i = 0; i < pairs_.size(); ++i) seen(*pairs_[i], polled_[2 + 2 * i], polled_[3 + 2 * i]);
        if (polled_[1].revents != 0) accept();
        return false;
    }

    static short wanted(const Pair& pair, unsigned side) {
        if (!pair.connected) return static_cast<short>(side == 1 ? POLLOUT : 0);
        int events = 0;
        if (!pair.ways[side].ended && pair.ways[side].line.room() != 0) events |= POLLIN;
        if (pair.ways[1 - side].blocked) events |= POLLOUT;
        return static_cast<short>(events);
    }

    void accept() {
        auto came = accept_tcp(listener_);
        if (!came) counters_.last_error = came.error();
        if (!came || !*came) return;
        ++counters_.connections;
        TcpAttempt attempt(target_.host, target_.port);
        base::Descriptor onward = attempt.next();
        if (!onward) {
            counters_.last_error = attempt.error();
            ++counters_.not_reached;
            ++counters_.reset;
            reset(*came);
            return;
        }
        ImpairmentSettings settings = settings_;
        settings.seed = Random{settings_.seed, 64 + counters_.connections}.next();
        pairs_.push_back(std::make_unique<Pair>(std::move(*came), std::move(onward), std::move(attempt), settings));
    }

    void seen(Pair& pair, const pollfd& from, const pollfd& to) {
        if (!pair.connected) {
            if (to.revents == 0 && (from.revents & (POLLERR | POLLHUP)) != 0) return lose(pair, "");
            if (to.revents == 0) return;
            if (const std::string error = connect_error(pair.sockets[1]); !error.empty())
                return try_next_address(pair, error);
            pair.connected = true;
        }
        const std::array<const pollfd*, 2> events{&from, &to};
        for (unsigned side = 0; side < 2 && pair.sockets[side]; ++side) {
            if ((events[side]->revents & POLLOUT) != 0) pair.ways[1 - side].blocked = false;
            if ((events[side]->revents & (POLLERR | POLLHUP)) != 0) pair.ways[1 - side].blocked = false;
            if ((events[side]->revents & (POLLIN | POLLERR | POLLHUP)) != 0) take(pair, side);
        }
    }

    void try_next_address(Pair& pair, const std::string& why) {
        pair.attempt.failed(why);
        pair.sockets[1] = pair.attempt.next();
        if (pair.sockets[1]) return;
        ++counters_.not_reached;
        lose(pair, pair.attempt.error());
    }

    void take(Pair& pair, unsigned side) {
        Way& way = pair.ways[side];
        if (way.ended) {
            if (const std::string error = connect_error(pair.sockets[side]); !error.empty()) lose(pair, error);
            return;
        }
        const std::size_t room = std::min(way.line.room(), buffer_.size());
        if (room == 0) return;
        const Transferred got = receive_some(pair.sockets[side], base::MutableBytes{buffer_}.first(room));
        if (!got.error.empty()) return lose(pair, got.error);
        way.line.put(base::Bytes{buffer_}.first(got.octets), base::steady_ns());
        (side == 0 ? counters_.octets_there : counters_.octets_back) += got.octets;
        way.ended = got.ended;
    }

    void advance(Pair& pair) {
        if (!pair.connected) return;
        for (unsigned side = 0; side < 2 && pair.sockets[0]; ++side) {
            Way& way = pair.ways[side];
            for (base::Bytes ready = way.line.ready(base::steady_ns()); !ready.empty() && !way.blocked;
                 ready = way.line.ready(base::steady_ns())) {
                const Transferred given = send_some(pair.sockets[1 - side], ready);
                if (!given.error.empty()) return lose(pair, given.error);
                way.line.consume(given.octets);
                way.blocked = given.octets < ready.size();
            }
            if (!way.ended || way.closed || !way.line.empty()) continue;
            end_sending(pair.sockets[1 - side]);
            way.closed = true;
        }
    }

    void lose(Pair& pair, const std::string& why) {
        if (!pair.sockets[0]) return;
        if (!why.empty()) counters_.last_error = why;
        ++counters_.reset;
        for (base::Descriptor& socket : pair.sockets) reset(socket);
    }

    void forget_ended() {
        const auto ended = [this](const std::unique_ptr<Pair>& pair) {
            if (pair->sockets[0] && !pair->over()) return false;
            for (const Way& way : pair->ways) counters_.corrupted_blocks += way.line.corrupted_blocks();
            return true;
        };
        pairs_.erase(std::remove_if(pairs_.begin(), pairs_.end(), ended), pairs_.end());
    }

    base::Descriptor listener_;
    int waker_;
    Target target_;
    ImpairmentSettings settings_;
    RelayCounters& counters_;
    std::vector<std::byte> buffer_;
    std::vector<std::unique_ptr<Pair>> pairs_ = {};
    std::vector<pollfd> polled_ = {};
};

SocketResult<std::unique_ptr<Relay>> Relay::open(const std::string& host, std::uint16_t port, Target target,
                                                 const ImpairmentSettings& settings) {
    auto listener = listen_tcp(host, port);
    if (!listener) return base::Failure{listener.error()};
    base::Descriptor waker{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (!waker) return base::Failure{std::string("cannot make an event descriptor: ") + std::strerror(errno)};
    return std::unique_ptr<Relay>(new Relay(std::move(*listener), std::move(waker), std::move(target), settings));
}

Relay::Relay(base::Descriptor listener, base::Descriptor waker, Target target, const ImpairmentSettings& settings)
    : port_(local_port(listener)),
      waker_(std::move(waker)),
      work_(std::make_unique<Work>(std::move(listener), waker_.number(), std::move(target), settings, counters_)),
      thread_([this] { work_->run(); }) {}

Relay::~Relay() { stop(); }

const RelayCounters& Relay::stop() {
    if (thread_.joinable()) {
        const std::uint64_t one = 1;
        while (::write(waker_.number(), &one, sizeof one) < 0 && errno == EINTR) {
        }
        thread_.join();
    }
    return counters_;
}

}  // namespace replay::sockets
