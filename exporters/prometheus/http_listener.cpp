#include "exporters/prometheus/http_listener.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "exporters/prometheus/http_answer.h"
#include "exporters/prometheus/listen_address.h"

namespace exporters::prometheus {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_connections = 64;
constexpr auto time_to_ask = std::chrono::seconds(5);
constexpr auto time_to_take = std::chrono::seconds(10);
constexpr auto time_to_leave = std::chrono::seconds(1);

/// One client, from accept() to close(): asks, takes, leaves.
class Connection {
public:
    explicit Connection(base::Descriptor socket) : socket_(std::move(socket)) { next(Stage::asking, time_to_ask); }

    int descriptor() const { return socket_.number(); }
    short events() const { return stage_ == Stage::taking ? POLLOUT : POLLIN; }
    Clock::time_point deadline() const { return deadline_; }
    bool is_asking() const { return stage_ == Stage::asking; }

    /// False when it is over.
    bool on_ready(const Pages& pages) {
        switch (stage_) {
            case Stage::asking: return ask(pages);
            case Stage::taking: return take();
            case Stage::leaving: return leave();
        }
        return false;
    }

private:
    enum class Stage : std::uint8_t { asking, taking, leaving };

    void next(Stage stage, Clock::duration time) {
        stage_ = stage;
        deadline_ = Clock::now() + time;
    }
    /// Of a read or write that gave `result`: whether to come back later.
    static bool would_block(ssize_t result) {
        return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    }

    bool ask(const Pages& pages) {
        std::array<char, 4096> octets;
        const ssize_t count = recv(socket_.number(), octets.data(), octets.size(), 0);
        if (count <= 0) return would_block(count);
        request_.append(octets.data(), static_cast<std::size_t>(count));
        HttpRequest request;
        const HttpProgress progress = parse_request(request_, request);
        if (progress == HttpProgress::incomplete) return true;
        answer_ = progress == HttpProgress::complete ? http_answer(request, pages) : http_refusal(progress);
        next(Stage::taking, time_to_take);
        return take();
    }

    bool take() {
        while (sent_ < answer_.size()) {
            const ssize_t count = send(socket_.number(), answer_.data() + sent_, answer_.size() - sent_, MSG_NOSIGNAL);
            if (count < 0) return would_block(count);
            sent_ += static_cast<std::size_t>(count);
        }
        // Closing while bytes of the client are unread would reset the connection, and the answer with it.
        shutdown(socket_.number(), SHUT_WR);
        answer_ = {};
        next(Stage::leaving, time_to_leave);
        return true;
    }

    bool leave() {
        std::array<char, 4096> ignored;
        const ssize_t count = recv(socket_.number(), ignored.data(), ignored.size(), 0);
        return count > 0 || would_block(count);
    }

    base::Descriptor socket_;
    Stage stage_ = Stage::asking;
    Clock::time_point deadline_;
    std::string request_;
    std::string answer_;
    std::size_t sent_ = 0;
};

class HttpListener final : public Listener {
public:
    HttpListener(ListeningSocket socket, Pages pages)
        : socket_(std::move(socket)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), pages_(std::move(pages)) {
        // The thread inherits the mask: other threads wait for signals.
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        thread_ = std::thread([this] { serve(); });
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    ~HttpListener() override {
        eventfd_write(wake_.number(), 1);
        thread_.join();
    }
    HttpListener(const HttpListener&) = delete;
    HttpListener& operator=(const HttpListener&) = delete;

    std::uint16_t port() const override { return socket_.port; }

private:
    void serve();
    void accept_all();
    void make_room();
    int wait_ms() const;

    ListeningSocket socket_;
    base::Descriptor wake_;
    Pages pages_;
    std::vector<std::unique_ptr<Connection>> connections_;  ///< the oldest first
    Clock::time_point deaf_until_;                          ///< where there are no handles left
    std::thread thread_;
};

void HttpListener::serve() {
    std::vector<pollfd> waiting;
    while (true) {
        const bool deaf = Clock::now() < deaf_until_;
        waiting.assign({{wake_.number(), POLLIN, 0}, {deaf ? -1 : socket_.descriptor.number(), POLLIN, 0}});
        for (const auto& connection : connections_)
            waiting.push_back({connection->descriptor(), connection->events(), 0});
        if (poll(waiting.data(), waiting.size(), wait_ms()) < 0 && errno != EINTR) return;
        if (waiting[0].revents != 0) return;
        const auto now = Clock::now();
        for (std::size_t i = 0; i < connections_.size(); ++i) {
            const bool ready = waiting[i + 2].revents != 0;
            // A trickle of bytes does not help beyond the deadline.
            if (now >= connections_[i]->deadline() || (ready && !connections_[i]->on_ready(pages_)))
                connections_[i].reset();
        }
        std::erase(connections_, nullptr);
        if (waiting[1].revents != 0) accept_all();
    }
}

void HttpListener::accept_all() {
    for (std::size_t i = 0; i < most_connections; ++i) {
        base::Descriptor socket(accept4(socket_.descriptor.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                deaf_until_ = Clock::now() + std::chrono::milliseconds(100);
            return;
        }
        if (connections_.size() >= most_connections) make_room();
        connections_.push_back(std::make_unique<Connection>(std::move(socket)));
    }
}

/// The client that has been asking longest; if all have asked, the client nearest to its deadline.
void HttpListener::make_room() {
    const auto asking = std::find_if(connections_.begin(), connections_.end(),
                                     [](const auto& connection) { return connection->is_asking(); });
    const auto first = std::min_element(connections_.begin(), connections_.end(),
                                        [](const auto& a, const auto& b) { return a->deadline() < b->deadline(); });
    connections_.erase(asking != connections_.end() ? asking : first);
}

int HttpListener::wait_ms() const {
    const auto now = Clock::now();
    auto next = now + std::chrono::hours(1);
    for (const auto& connection : connections_) next = std::min(next, connection->deadline());
    if (deaf_until_ > now) next = std::min(next, deaf_until_);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - now).count();
    return static_cast<int>(std::max<std::int64_t>(left + 1, 0));
}

}  // namespace

base::Result<std::unique_ptr<Listener>> Listener::open(const std::string& address, Pages pages) {
    auto socket = listen_on(address);
    if (!socket.ok()) return base::Failure{socket.error()};
    return std::unique_ptr<Listener>(std::make_unique<HttpListener>(std::move(*socket), std::move(pages)));
}

}  // namespace exporters::prometheus
