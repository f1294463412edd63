#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "daemon/server/answers.h"

namespace service::inline server {

/// One client: lines that came, answers that wait. Reads nothing while earlier answers are unsent, so its memory is
/// bounded whatever the client does. Times are the caller's clock.
class Connection {
public:
    struct Limits {
        std::size_t max_line = 0;
        std::size_t max_waiting = 0;
    };
    Connection(base::Descriptor socket, const Limits& limits, std::uint64_t now_ns)
        : socket_(std::move(socket)), limits_(limits), progress_ns_(now_ns) {}

    int descriptor() const { return socket_.number(); }

    /// Reads once, if there is room.
    void receive();
    bool wants_input() const { return !ended_ && (closing_ || !has_line()); }
    /// The next line without its newline, once everything that was requested before is on its way. Valid until
    /// receive().
    std::optional<std::string_view> next_line();
    bool has_line() const { return newline_ != std::string::npos || (ended_ && taken_ < in_.size()); }
    /// One request at a time: the answer to the previous one was sent.
    bool ready_for_request() const { return !closing_ && answers_ == 0 && waiting() == 0; }
    /// The first bytes hold more than a line may have.
    bool line_too_long() const;

    void queue(std::unique_ptr<Body> body);
    /// False if the update does not fit: the client has too much to read already.
    bool can_take_update(const Subscription& subscription) const;
    void queue_update(const Subscription& subscription, std::unique_ptr<Body> body);

    /// Turns answers into bytes, up to the limit for waiting bytes, and sends what the socket accepts.
    void pump(std::uint64_t now_ns);
    /// Bytes that were made and not sent.
    std::size_t waiting() const { return out_.size() - sent_; }
    /// Whether there are bytes to send, or to be made.
    bool owes() const { return waiting() != 0 || !bodies_.empty(); }
    /// More can be produced without room in the socket ...
    bool can_produce() const;
    /// ... after this time.
    std::uint64_t pause_ns() const { return paused_ ? bodies_.front().body->pause_ns() : 0; }
    /// There is something to do when the socket has room.
    bool wants_output() const { return waiting() != 0 || (!bodies_.empty() && !paused_); }

    /// Reads no more requests; closes when everything is sent.
    void close_when_sent();
    /// Everything is sent; the client has not hung up yet.
    bool lingers() const { return closing_ && !owes(); }
    /// The other end is gone: answers are dropped.
    void lose();
    bool lost() const { return lost_; }
    /// Nothing is left to do.
    bool finished() const;
    bool ended() const { return ended_; }

    /// Whether the client has read nothing since `since_ns` although there was something to read.
    bool stalled(std::uint64_t since_ns) const { return waiting() != 0 && progress_ns_ <= since_ns; }
    /// When the client last read something, or had read everything.
    std::uint64_t progress_ns() const { return progress_ns_; }

    std::vector<Subscription>& subscriptions() { return subscriptions_; }
    const std::vector<Subscription>& subscriptions() const { return subscriptions_; }
    /// The turn in which the last request was answered.
    std::uint64_t served = 0;
    /// The events that epoll watches.
    std::uint32_t interest = 0;

private:
    struct Queued {
        std::unique_ptr<Body> body;
        std::uint64_t subscription;  ///< its serial; 0 for an answer
    };
    std::size_t high_water() const;
    void find_newline();
    void send(std::uint64_t now_ns);

    base::Descriptor socket_;
    Limits limits_;
    std::string in_ = {};
    std::size_t taken_ = 0;    ///< bytes of in_ that were lines
    std::size_t scanned_ = 0;  ///< in which no newline was found, from taken_ on
    std::size_t newline_ = std::string::npos;
    std::string out_ = {};
    std::size_t sent_ = 0;
    std::deque<Queued> bodies_ = {};
    std::size_t answers_ = 0;  ///< of bodies_, those that are not updates
    std::vector<Subscription> subscriptions_ = {};
    std::uint64_t progress_ns_;
    bool paused_ = false;   ///< the next part of the answer does not exist yet
    bool ended_ = false;    ///< the client will send no more
    bool closing_ = false;  ///< its further requests are ignored
    bool lost_ = false;
    bool shut_ = false;
};

}  // namespace service::server
