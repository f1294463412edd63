#include "daemon/server/client_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/socket.h>
#include <utility>

namespace service::inline server {

namespace {

constexpr std::size_t octets_per_read = std::size_t{64} << 10;
constexpr std::size_t octets_per_piece = std::size_t{256} << 10;  ///< made, and sent, in one turn
constexpr std::size_t answer_waiting = std::size_t{1} << 20;      ///< more of an answer is made when this is taken
constexpr std::size_t small = std::size_t{64} << 10;

}  // namespace

std::size_t Connection::high_water() const { return std::min(answer_waiting, limits_.max_waiting); }

void Connection::receive() {
    if (!wants_input()) return;
    std::array<char, octets_per_read> octets;
    const ssize_t got = ::recv(socket_.number(), octets.data(), octets.size(), MSG_DONTWAIT);
    if (got < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            ended_ = true;
            lose();
        }
        return;
    }
    if (got == 0) {
        ended_ = true;
        return;
    }
    if (closing_) return;
    in_.erase(0, taken_);
    taken_ = 0;
    in_.append(octets.data(), static_cast<std::size_t>(got));
    find_newline();
}

/// Starts where the last search ended: a line that comes byte by byte costs no more than one that comes whole.
void Connection::find_newline() {
    newline_ = in_.find('\n', taken_ + scanned_);
    scanned_ = newline_ == std::string::npos ? in_.size() - taken_ : 0;
}

bool Connection::line_too_long() const {
    const std::size_t end = newline_ == std::string::npos ? in_.size() : newline_;
    return !closing_ && end - taken_ > limits_.max_line;
}

std::optional<std::string_view> Connection::next_line() {
    if (!has_line() || !ready_for_request()) return {};
    const std::size_t end = std::min(newline_, in_.size());
    const std::string_view line(in_.data() + taken_, end - taken_);
    taken_ = std::min(end + 1, in_.size());
    scanned_ = 0;
    find_newline();
    return line;
}

void Connection::queue(std::unique_ptr<Body> body) {
    if (lost_) return;
    bodies_.push_back({std::move(body), 0});
    ++answers_;
}

bool Connection::can_take_update(const Subscription& subscription) const {
    const auto its_own = [&](const Queued& queued) { return queued.subscription == subscription.serial; };
    return waiting() <= limits_.max_waiting && std::none_of(bodies_.begin(), bodies_.end(), its_own);
}

void Connection::queue_update(const Subscription& subscription, std::unique_ptr<Body> body) {
    if (!lost_) bodies_.push_back({std::move(body), subscription.serial});
}

bool Connection::can_produce() const {
    if (bodies_.empty()) return false;
    return waiting() < (bodies_.front().subscription == 0 ? high_water() : limits_.max_waiting);
}

void Connection::pump(std::uint64_t now_ns) {
    if (waiting() == 0) progress_ns_ = now_ns;
    std::size_t made = 0;
    paused_ = false;
    while (made < octets_per_piece && can_produce()) {
        const std::size_t before = out_.size();
        Queued& front = bodies_.front();
        const bool more = front.body->produce(out_, octets_per_piece);
        made += std::max<std::size_t>(out_.size() - before, 1);
        if (!more) {
            if (front.subscription == 0) --answers_;
            bodies_.pop_front();
        } else if (out_.size() == before) {
            paused_ = front.body->pause_ns() != 0;
            break;  // it needs another turn
        }
    }
    send(now_ns);
}

void Connection::send(std::uint64_t now_ns) {
    std::size_t room = 4 * octets_per_piece;
    while (waiting() != 0 && room != 0) {
        const std::size_t part = std::min({waiting(), octets_per_piece, room});
        const ssize_t taken = ::send(socket_.number(), out_.data() + sent_, part, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (taken < 0) {
            if (errno == EINTR) continue;
            if (errno != EAGAIN && errno != ENOBUFS) lose();
            break;
        }
        sent_ += static_cast<std::size_t>(taken);
        room -= static_cast<std::size_t>(taken);
        progress_ns_ = now_ns;
    }
    if (waiting() == 0) {
        if (closing_ && bodies_.empty() && !std::exchange(shut_, true)) ::shutdown(socket_.number(), SHUT_WR);
        sent_ = 0;
        if (out_.capacity() > small)
            std::string().swap(out_);
        else
            out_.clear();
    } else if (sent_ > out_.size() / 2) {
        out_.erase(0, sent_);
        sent_ = 0;
    }
}

void Connection::close_when_sent() {
    closing_ = true;
    subscriptions_.clear();
    std::string().swap(in_);
    taken_ = scanned_ = 0;
    newline_ = std::string::npos;
}

void Connection::lose() {
    lost_ = true;
    paused_ = false;
    bodies_.clear();
    answers_ = 0;
    out_.clear();
    sent_ = 0;
    subscriptions_.clear();
}

bool Connection::finished() const {
    if (closing_) return lost_ || (!owes() && ended_);
    return ended_ && !has_line() && !owes() && subscriptions_.empty();
}

}  // namespace service::server
