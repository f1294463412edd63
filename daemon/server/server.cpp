#include "daemon/server/server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "control/protocol.h"
#include "daemon/server/answers.h"
#include "daemon/server/client_connection.h"
#include "daemon/server/socket_file.h"

namespace service::inline server {

namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};
constexpr std::uint64_t nanoseconds_per_ms = 1'000'000;
constexpr std::uint64_t linger_ns = 1000 * nanoseconds_per_ms;       ///< for a client that has got the good-bye to hang
                                                                     ///< up
constexpr std::uint64_t accept_pause_ns = 100 * nanoseconds_per_ms;  ///< when the process has no descriptor left
constexpr std::size_t max_subscriptions = 8;                         ///< a client

bool blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

class Server final : public ControlServer {
public:
    Server(const ServerOptions& options, Commands& commands) : options_(options), answers_(commands) {}
    base::Result<void> begin();

    void progress(int wait_ms) override;
    void wake() override {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(wake_.number(), &one, sizeof one);
    }
    base::Result<void> end() override {
        clients_.clear();
        return file_->remove();
    }
    int descriptor() const override { return epoll_.number(); }
    const ServerCounters& counters() const override { return counters_; }

private:
    bool watch(int descriptor, std::uint32_t events, int how) const;
    void drain(int descriptor) const;
    void accept_all(std::uint64_t now_ns);
    void refuse(const base::Descriptor& socket);
    void serve_all(std::uint64_t now_ns);
    bool is_in_slice(std::uint64_t begin_ns) const;
    /// False if the client asked for nothing.
    bool serve(Connection& client, std::uint64_t now_ns);
    std::size_t owed() const;
    void handle(Connection& client, std::string_view line, std::uint64_t now_ns);
    void subscribe(Connection& client, const control::Request& request, std::uint64_t now_ns);
    void unsubscribe(Connection& client, const control::Request& request);
    void update_all(std::uint64_t now_ns);
    void update(Connection& client, Subscription& subscription, std::uint64_t now_ns);
    void settle(std::uint64_t now_ns);
    std::uint64_t due_ns(const Connection& client, std::uint64_t now_ns) const;
    void arm(std::uint64_t due, std::uint64_t now_ns);

    ServerOptions options_;
    Answers answers_;
    ServerCounters counters_ = {};
    std::unique_ptr<SocketFile> file_ = {};
    base::Descriptor epoll_ = base::Descriptor();
    base::Descriptor wake_ = base::Descriptor();
    base::Descriptor timer_ = base::Descriptor();
    std::uint64_t armed_ns_ = never;
    std::uint64_t accept_again_ns_ = never;  ///< while no descriptor is left
    std::uint64_t subscriptions_begun_ = 0;
    std::uint64_t turns_ = 0;
    std::unordered_map<int, std::unique_ptr<Connection>> clients_ = {};
};

base::Result<void> Server::begin() {
    auto file = SocketFile::open(options_.path, {options_.user, options_.group});
    if (!file) return base::Failure{file.error()};
    file_ = std::move(file).value();
    epoll_ = base::Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    wake_ = base::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    timer_ = base::Descriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (epoll_ && wake_ && timer_ && watch(file_->descriptor(), EPOLLIN, EPOLL_CTL_ADD) &&
        watch(wake_.number(), EPOLLIN, EPOLL_CTL_ADD) && watch(timer_.number(), EPOLLIN, EPOLL_CTL_ADD))
        return {};
    return base::failure(fmt::format("the control socket cannot be watched: {}", std::strerror(errno)));
}

bool Server::watch(int descriptor, std::uint32_t events, int how) const {
    epoll_event event{};
    event.events = events;
    event.data.fd = descriptor;
    return ::epoll_ctl(epoll_.number(), how, descriptor, &event) == 0;
}

void Server::drain(int descriptor) const {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(descriptor, &count, sizeof count);
}

void Server::progress(int wait_ms) {
    std::array<epoll_event, 64> events;
    const int found = ::epoll_wait(epoll_.number(), events.data(), static_cast<int>(events.size()), wait_ms);
    const std::uint64_t now = static_cast<std::uint64_t>(base::steady_ns());
    bool arrivals = false;
    for (int i = 0; i < found; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.fd == file_->descriptor())
            arrivals = true;
        else if (event.data.fd == wake_.number())
            drain(wake_.number());
        else if (event.data.fd == timer_.number()) {
            drain(timer_.number());
            armed_ns_ = never;
        } else if (const auto at = clients_.find(event.data.fd); at != clients_.end()) {
            // A client that has hung up in both directions may have sent a command before.
            if ((event.events & (EPOLLHUP | EPOLLERR)) != 0) at->second->lose();
            at->second->receive();
        }
    }
    serve_all(now);
    update_all(now);
    settle(now);
    if (arrivals || accept_again_ns_ <= now) accept_all(now);
}

/// The clients whose last request is longest ago come first: one that asks without end does not hold up the others.
void Server::serve_all(std::uint64_t now_ns) {
    std::vector<Connection*> in_order;
    for (const auto& [descriptor, client] : clients_) in_order.push_back(client.get());
    std::ranges::sort(in_order, {}, [](const Connection* client) { return client->served; });
    bool any = false;  // one at least, however short the slice is
    for (Connection* client : in_order) {
        if (!any || is_in_slice(now_ns)) any |= serve(*client, now_ns);
        client->pump(now_ns);
    }
}

bool Server::is_in_slice(std::uint64_t begin_ns) const {
    return static_cast<std::uint64_t>(base::steady_ns()) - begin_ns < options_.slice_ns;
}

bool Server::serve(Connection& client, std::uint64_t now_ns) {
    if (client.line_too_long()) {
        ++counters_.requests;
        ++counters_.errors;
        client.queue(Answers::text(control::refusal_line(
            {"null", fmt::format("a line has at most {} bytes; this connection ends here", options_.max_line)})));
        client.close_when_sent();
        return true;
    }
    for (auto line = client.next_line(); line; line = client.next_line()) {
        if (blank(*line)) continue;
        client.served = ++turns_;
        handle(client, *line, now_ns);
        return true;
    }
    return false;
}

std::size_t Server::owed() const {
    std::size_t octets = 0;
    for (const auto& [descriptor, client] : clients_) octets += client->waiting();
    return octets;
}

void Server::handle(Connection& client, std::string_view line, std::uint64_t now_ns) {
    ++counters_.requests;
    const auto request = control::parse_request(line);
    if (!request) {
        ++counters_.errors;
        return client.queue(Answers::text(control::refusal_line(request.error())));
    }
    // A client that is gone needs no figures.
    if (client.lost() && request->command != control::Command::trigger && request->command != control::Command::reload)
        return;
    if (owed() >= options_.max_owed) {
        ++counters_.errors;
        return client.queue(
            Answers::refusal(*request, "clients have not read what they asked for, and memory is bounded: ask again")
                .body);
    }
    if (request->command == control::Command::subscribe) return subscribe(client, *request, now_ns);
    if (request->command == control::Command::unsubscribe) return unsubscribe(client, *request);
    Answer answer = answers_.answer(*request, counters_);
    counters_.errors += answer.refused ? 1U : 0U;
    client.queue(std::move(answer.body));
    if (answer.last) client.close_when_sent();
}

void Server::subscribe(Connection& client, const control::Request& request, std::uint64_t now_ns) {
    auto possible = Answers::check_subscription(request);
    if (possible && client.subscriptions().size() >= max_subscriptions)
        possible =
            base::failure(fmt::format("{} subscriptions are enough for one connection: end some with "
                                      "`unsubscribe`, or connect once more",
                                      max_subscriptions));
    if (!possible) {
        ++counters_.errors;
        return client.queue(Answers::refusal(request, possible.error()).body);
    }
    Subscription subscription;
    subscription.request = request;
    subscription.serial = ++subscriptions_begun_;
    subscription.interval_ns = request.interval_ms * nanoseconds_per_ms;
    // Those with the same interval are due together, and share what is made for them. The first line is not at once.
    subscription.due_ns =
        ((now_ns + subscription.interval_ns / 2) / subscription.interval_ns + 1) * subscription.interval_ns;
    answers_.begin(subscription);
    client.queue(
        Answers::text(control::answer_line(request.id, fmt::format("{{\"subscribed\":\"{}\",\"interval_ms\":{}}}",
                                                                   name_of(*request.what), request.interval_ms))));
    client.subscriptions().push_back(std::move(subscription));
}

void Server::unsubscribe(Connection& client, const control::Request& request) {
    const std::size_t ended = std::erase_if(client.subscriptions(), [&](const Subscription& subscription) {
        return !request.what || subscription.request.what == request.what;
    });
    client.queue(Answers::text(control::answer_line(request.id, fmt::format("{{\"ended\":{}}}", ended))));
}

void Server::update_all(std::uint64_t now_ns) {
    struct Due {
        Connection* client;
        Subscription* subscription;
    };
    std::vector<Due> all;
    for (const auto& [descriptor, client] : clients_)
        for (Subscription& subscription : client->subscriptions())
            if (subscription.due_ns <= now_ns) all.push_back({client.get(), &subscription});
    // Those that were due first come first, so that each has its turn where there are too many for one slice.
    std::ranges::sort(all, {}, [](const Due& due) { return due.subscription->due_ns; });
    const auto begin_ns = static_cast<std::uint64_t>(base::steady_ns());
    for (const Due& due : all) {
        if (&due != &all.front() && !is_in_slice(begin_ns)) break;
        if (due.client->lost()) continue;  // by an earlier update, and its subscriptions with it
        update(*due.client, *due.subscription, now_ns);
        due.client->pump(now_ns);
    }
}

void Server::update(Connection& client, Subscription& subscription, std::uint64_t now_ns) {
    const std::uint64_t before = subscription.due_ns;
    subscription.due_ns = (now_ns / subscription.interval_ns + 1) * subscription.interval_ns;
    // Whole intervals in which the server itself was busy have no line of their own either.
    const std::uint64_t late = (subscription.due_ns - before) / subscription.interval_ns - 1;
    const bool has_room = owed() < options_.max_owed && client.can_take_update(subscription);
    const std::uint64_t missed = late + (has_room ? 0U : 1U);
    subscription.skipped += missed;
    counters_.skipped += missed;
    if (missed == late) client.queue_update(subscription, answers_.update(subscription, counters_));
}

void Server::settle(std::uint64_t now_ns) {
    std::uint64_t due = accept_again_ns_;
    for (auto at = clients_.begin(); at != clients_.end();) {
        Connection& client = *at->second;
        const bool slow = now_ns > options_.slow_ns && client.stalled(now_ns - options_.slow_ns);
        const bool lingered = client.lingers() && now_ns - client.progress_ns() >= linger_ns;
        if (slow || lingered || client.finished()) {
            counters_.closed_slow += slow ? 1U : 0U;
            at = clients_.erase(at);
            continue;
        }
        const std::uint32_t interest = (client.wants_input() ? std::uint32_t{EPOLLIN} : 0U) |
                                       (client.wants_output() ? std::uint32_t{EPOLLOUT} : 0U);
        if (interest != client.interest && watch(client.descriptor(), interest, EPOLL_CTL_MOD))
            client.interest = interest;
        due = std::min(due, due_ns(client, now_ns));
        ++at;
    }
    counters_.clients = clients_.size();
    arm(due, now_ns);
}

/// When something is to be done for a client without its doing anything.
std::uint64_t Server::due_ns(const Connection& client, std::uint64_t now_ns) const {
    std::uint64_t due = never;
    if (client.has_line() && client.ready_for_request()) due = now_ns;
    if (client.can_produce()) due = std::min(due, now_ns + client.pause_ns());
    if (client.owes()) due = std::min(due, client.progress_ns() + options_.slow_ns);
    if (client.lingers()) due = std::min(due, client.progress_ns() + linger_ns);
    for (const Subscription& subscription : client.subscriptions()) due = std::min(due, subscription.due_ns);
    return due;
}

void Server::arm(std::uint64_t due, std::uint64_t now_ns) {
    if (due == armed_ns_) return;
    armed_ns_ = due;
    itimerspec when{};
    if (due != never) {
        const std::uint64_t at = std::max({due, now_ns, std::uint64_t{1}});
        when.it_value.tv_sec = static_cast<time_t>(at / 1'000'000'000);
        when.it_value.tv_nsec = static_cast<long>(at % 1'000'000'000);
    }
    ::timerfd_settime(timer_.number(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void Server::accept_all(std::uint64_t now_ns) {
    if (accept_again_ns_ != never && watch(file_->descriptor(), EPOLLIN, EPOLL_CTL_MOD)) accept_again_ns_ = never;
    for (;;) {
        base::Descriptor socket(::accept4(file_->descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) {
            if (errno == EINTR || errno == ECONNABORTED) continue;
            if (errno == EAGAIN) return;
            // There are no descriptors left to accept with: clients that wait stay in the queue.
            watch(file_->descriptor(), 0, EPOLL_CTL_MOD);
            accept_again_ns_ = now_ns + accept_pause_ns;
            return arm(std::min(armed_ns_, accept_again_ns_), now_ns);
        }
        if (clients_.size() >= options_.max_clients) {
            refuse(socket);
            continue;
        }
        const int descriptor = socket.number();
        auto client = std::make_unique<Connection>(std::move(socket),
                                                   Connection::Limits{options_.max_line, options_.max_waiting}, now_ns);
        if (!watch(descriptor, EPOLLIN, EPOLL_CTL_ADD)) continue;
        client->interest = EPOLLIN;
        clients_.emplace(descriptor, std::move(client));
        ++counters_.accepted;
        counters_.clients = clients_.size();
    }
}

void Server::refuse(const base::Descriptor& socket) {
    ++counters_.refused;
    const std::string line = control::refusal_line(
        {"null",
         fmt::format("control.max_clients is {}, and this number of clients is connected; try again when one has gone",
                     options_.max_clients)});
    [[maybe_unused]] const ssize_t sent =
        ::send(socket.number(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

base::Result<std::unique_ptr<ControlServer>> ControlServer::open(const ServerOptions& options, Commands& commands) {
    auto server = std::make_unique<Server>(options, commands);
    if (const auto begun = server->begin(); !begun) return base::Failure{begun.error()};
    return std::unique_ptr<ControlServer>(std::move(server));
}

}  // namespace service::server
