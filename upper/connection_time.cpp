#include "upper/connection_time.h"

#include <algorithm>

namespace upper {

std::string_view name_of(IoState state) {
    switch (state) {
        case IoState::host: return "host";
        case IoState::request: return "request";
        case IoState::target: return "target";
        case IoState::data: return "data";
        case IoState::response: return "response";
        case IoState::repair: return "repair";
        case IoState::limit: return "limit";
    }
    return {};
}

namespace {

/// An initiator that waits for room asks this soon after a response: its own time to handle the response, at least
/// 100 us, or an eighth of the latency of the answered command where the hosts are slow.
std::int64_t turnaround_ns(std::uint64_t latency_ns) {
    constexpr std::uint64_t least = 100'000;
    constexpr std::uint64_t most = 1'000'000'000;
    return static_cast<std::int64_t>(std::clamp(latency_ns / 8, least, most));
}

}  // namespace

void ConnectionTime::reach_limit(std::int64_t time_ns) {
    at_limit_ = true;
    latest_ = {time_ns, time_ns};
}

void ConnectionTime::leave_limit(std::int64_t time_ns, std::uint64_t latency_ns, const Repairs& repairs) {
    at_limit_ = false;
    latest_.end_ns = std::max(latest_.begin_ns, time_ns);
    at_limit_ns_ += static_cast<std::uint64_t>(latest_.end_ns - latest_.begin_ns);
    held_up_until_ns_ = latest_.end_ns + turnaround_ns(latency_ns);
    is_unsure_ = latest_.end_ns > latest_.begin_ns;
    if (!is_unsure_) settle(repairs);
}

void ConnectionTime::ask(std::int64_t time_ns, const Repairs& repairs) {
    if (!is_unsure_) return;
    is_unsure_ = false;
    if (time_ns <= held_up_until_ns_ && spans_.size() < max_spans) spans_.push_back(latest_);
    settle(repairs);
}

/// Splits the time of the commands that waited.
void ConnectionTime::settle(const Repairs& repairs) {
    while (!waiting_.empty()) {
        const Waiting command = waiting_.front();
        waiting_.pop_front();
        split(command, repairs);
    }
}

void ConnectionTime::add(std::int64_t request_begin_ns, const CommandParts& parts, const Repairs& repairs) {
    const Waiting command{request_begin_ns, parts};
    if (!at_limit_ && !is_unsure_) return split(command, repairs);
    if (waiting_.size() == max_waiting) {
        const Waiting oldest = waiting_.front();
        waiting_.pop_front();
        split(oldest, repairs);
    }
    waiting_.push_back(command);
}

void ConnectionTime::end(std::int64_t time_ns, const Repairs& repairs) {
    if (at_limit_ && time_ns > latest_.begin_ns) at_limit_ns_ += static_cast<std::uint64_t>(time_ns - latest_.begin_ns);
    at_limit_ = false;
    is_unsure_ = false;
    settle(repairs);
}

std::optional<std::uint64_t> ConnectionTime::take_host_next_ns() {
    if (host_next_ns_.empty()) return std::nullopt;
    const std::uint64_t oldest = host_next_ns_.front();
    host_next_ns_.pop_front();
    return oldest;
}

void ConnectionTime::split(const Waiting& command, const Repairs& repairs) {
    if (!first_ns_) {
        first_ns_ = command.request_begin_ns;
        cursor_ns_ = command.request_begin_ns;
    }
    if (cursor_ns_ < command.request_begin_ns)
        host_next_ns_.push_back(static_cast<std::uint64_t>(command.request_begin_ns - cursor_ns_));
    spend(IoState::host, cursor_ns_, command.request_begin_ns, repairs);
    constexpr std::array states{IoState::request, IoState::target, IoState::data, IoState::target, IoState::response};
    std::int64_t at = command.request_begin_ns;
    for (std::size_t i = 0; i < command.parts.ns.size(); ++i) {
        const std::int64_t until = at + static_cast<std::int64_t>(command.parts.ns[i]);
        spend(states[i], at, until, repairs);
        at = until;
    }
}

/// The time from `begin_ns` on that is not split yet: spans at the limit, and between them the state.
void ConnectionTime::spend(IoState state, std::int64_t begin_ns, std::int64_t end_ns, const Repairs& repairs) {
    while (std::max(begin_ns, cursor_ns_) < end_ns) {
        const std::int64_t from = std::max(begin_ns, cursor_ns_);
        while (!spans_.empty() && spans_.front().end_ns <= from) spans_.pop_front();
        if (spans_.empty() || spans_.front().begin_ns >= end_ns) return spend_whole(state, from, end_ns, repairs);
        const Span span = spans_.front();
        if (from < span.begin_ns) spend_whole(state, from, span.begin_ns, repairs);
        spend_whole(IoState::limit, std::max(from, span.begin_ns), std::min(end_ns, span.end_ns), repairs);
    }
}

void ConnectionTime::spend_whole(IoState state, std::int64_t begin_ns, std::int64_t end_ns, const Repairs& repairs) {
    const std::uint64_t repaired = state == IoState::host ? 0 : repairs.within(begin_ns, end_ns);
    state_ns_[static_cast<std::size_t>(IoState::repair)] += repaired;
    state_ns_[static_cast<std::size_t>(state)] += static_cast<std::uint64_t>(end_ns - begin_ns) - repaired;
    cursor_ns_ = end_ns;
}

}  // namespace upper
