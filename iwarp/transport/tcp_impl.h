#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <sys/epoll.h>
#include <vector>

#include "iwarp/transport/tcp_connection.h"
#include "iwarp/transport/tcp_transport.h"

/// The inside of TcpTransport: tcp_loop.cpp drives, tcp_set_up.cpp connects and accepts, tcp.cpp is the interface.
namespace iwarp::transport {

inline constexpr std::int64_t never = INT64_MAX;

struct TcpListener : TcpSource {
    TcpListener() : TcpSource(Kind::listener) {}
    base::Descriptor socket;
    iwarp::verbs::Acceptor* acceptor = nullptr;
    std::uint64_t handle = 0;
    bool ready = false;
};

/// Decides whether to spin before sleeping: yes if events mostly come sooner than that; no if spinning found nothing,
/// because the peer may be waiting for this very processor.
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

/// Whether two threads can run at once.
bool several_processors();

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

    TcpConnection& add(std::shared_ptr<verbs::Stream> stream);
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
    bool accept_socket(TcpListener& listener, base::Descriptor socket, const TcpAddress& address);
    bool turn_away(const TcpListener& listener);

    TcpShared shared;
    bool in_progress = false;
    bool skipped_poll = false;
    bool may_spin = several_processors();
    Spin spin;
    base::Descriptor epoll;
    base::Descriptor reserve;  ///< closed for a moment if there is no other descriptor left
    base::Descriptor timer;    ///< made when descriptor() is first called
    TcpSource timer_source{TcpSource::Kind::timer};
    base::Descriptor alarm;  ///< ends long sleeps
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

}  // namespace iwarp::transport
