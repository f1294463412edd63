#include "metrics/measure/posts/message_join.h"

#include <algorithm>

#include "base/clock.h"
#include "metrics/measure/account/frame_observer.h"

namespace metrics::inline measure::posts {

namespace {

enum class Kind : std::uint8_t { send, write, read, fetch_add, compare_swap };

/// Operations that may be one another's: only the last packet shows what a Send or Write carries in addition to its
/// bytes.
Kind kind_of(Operation operation) {
    switch (operation) {
        case Operation::send:
        case Operation::send_immediate:
        case Operation::send_invalidate: return Kind::send;
        case Operation::write:
        case Operation::write_immediate: return Kind::write;
        case Operation::read: return Kind::read;
        case Operation::fetch_add: return Kind::fetch_add;
        case Operation::compare_swap: break;
    }
    return Kind::compare_swap;
}

bool is_atomic(Kind kind) { return kind == Kind::fetch_add || kind == Kind::compare_swap; }

/// Whether `early` can be before `late` or at the same time, if clocks differ by the tolerance.
bool in_order(std::int64_t early_ns, std::int64_t late_ns, std::int64_t tolerance_ns) {
    return early_ns == unknown_time || late_ns == unknown_time || early_ns <= late_ns ||
           base::elapsed(late_ns, early_ns) <= static_cast<std::uint64_t>(tolerance_ns);
}

std::optional<std::size_t> application_index(State state) {
    if (group_of(state) != StateGroup::application) return std::nullopt;
    return index_of(state) - index_of(State::application_in_flight);
}

}  // namespace

// ---- posts ----

std::uint64_t Posts::add(Operation operation, std::uint64_t bytes, std::int64_t time_ns) {
    if (entries_.size() >= (taken_ ? most : most_waiting)) drop(1);
    Post& post = entries_.emplace_back();
    post.operation = operation;
    post.bytes = bytes;
    post.post_ns = time_ns;
    return end() - 1;
}

void Posts::retire(std::uint64_t ordinal, const Retirement& how) {
    if (ordinal < first_ || ordinal >= end()) return;
    Post& post = entries_[static_cast<std::size_t>(ordinal - first_)];
    post.retired = true;
    post.own = how.own;
    post.failed = how.failed;
    post.doubtful = how.doubtful;
    post.poll_ns = how.time_ns;
}

void Posts::drop(std::size_t count) {
    count = std::min(count, entries_.size());
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(count));
    first_ += count;
}

// ---- messages, as packets show them ----

void MessageJoin::message(const WireMessage& message, bool late) {
    const auto same = [&](const WireMessage& wire) {
        return wire.unseen && wire.position == message.position && wire.operation == message.operation;
    };
    if (late) {
        // Its end was missing, and has passed after all; or messages that were posted after it have overtaken it.
        const auto known = std::find_if(wires_.begin(), wires_.end(), same);
        if (known != wires_.end()) {
            known->unseen = message.unseen;
            known->last_ns = message.last_ns;
            if (known->first_ns == unknown_time) known->first_ns = message.first_ns;
            if (message.bytes != 0) known->bytes = message.bytes;
            return;
        }
        const auto behind = std::find_if(wires_.begin(), wires_.end(), [&](const WireMessage& wire) {
            return ((wire.position ^ message.position) & FrameObserver::answered_apart) == 0 &&
                   wire.position > message.position;
        });
        // Messages after it have its post already.
        if (static_cast<std::uint64_t>(behind - wires_.begin()) < introduced_) return lose();
        unanswered_ = std::min(unanswered_, first_ + static_cast<std::uint64_t>(behind - wires_.begin()));
        wires_.insert(behind, message);
    } else {
        wires_.push_back(message);
    }
    if (wires_.size() > most) {
        if (introduced_ == 0) ++found_.messages_unmatched;
        pop_front();
    }
}

void MessageJoin::put_first(const WireMessage& message) {
    if (first_ != 0 || introduced_ != 0) return;
    wires_.push_front(message);
    unanswered_ = 0;
}

void MessageJoin::continued(std::uint64_t position, std::int64_t last_ns) {
    if (wires_.empty()) return;
    WireMessage& wire = wires_.back();
    if (kind_of(wire.operation) != Kind::write) return;
    wire.operation = Operation::write_immediate;
    wire.last_ns = last_ns;
    if (!wire.answered) wire.position = position;
}

void MessageJoin::answered(std::uint64_t position, bool single, std::int64_t time_ns) {
    unanswered_ = std::max(unanswered_, first_);
    while (unanswered_ < end() && wires_[static_cast<std::size_t>(unanswered_ - first_)].answered) ++unanswered_;
    for (auto place = static_cast<std::size_t>(unanswered_ - first_); place < wires_.size(); ++place) {
        WireMessage& wire = wires_[place];
        if (((wire.position ^ position) & FrameObserver::answered_apart) != 0 || wire.answered) continue;
        if (wire.position > position) return;
        if (single && wire.position != position) continue;
        wire.answered = true;
        wire.ack_ns = time_ns;
        if (single) return;
    }
}

void MessageJoin::forgotten(bool apart) {
    for (WireMessage& wire : wires_)
        if (((wire.position & FrameObserver::answered_apart) != 0) == apart) wire.answered = true;
}

void MessageJoin::discard() {
    found_.messages_unmatched += wires_.size() - introduced_;
    first_ += wires_.size();
    wires_.clear();
    introduced_ = 0;
}

void MessageJoin::pop_front() {
    wires_.pop_front();
    ++first_;
    if (introduced_ > 0) --introduced_;
}

// ---- which belongs to which ----

void MessageJoin::align_beginning(std::uint64_t ordinal) {
    aligned_ = true;
    offset_ = static_cast<std::int64_t>(ordinal) - static_cast<std::int64_t>(first_);
}

void MessageJoin::lose() {
    discard();  // those that were matched stay unmeasured
    aligned_ = false;
    next_search_ = few;
    last_ack_ns_ = last_poll_ns_ = unknown_time;
}

bool MessageJoin::fits(const Post& post, const WireMessage& wire, const JoinRules& rules,
                       std::int64_t tolerance_ns) const {
    const Kind kind = kind_of(post.operation);
    if (kind != kind_of(wire.operation)) return false;
    // An atomic's bytes are those of its answer, or zero: recorders count either way.
    if (wire.bytes != 0 && wire.bytes != post.bytes && !is_atomic(kind)) return false;
    if (!in_order(post.post_ns, wire.first_ns, tolerance_ns)) return false;
    if (!post.retired || post.failed || post.doubtful) return true;
    const bool late = rules.completes_late || kind == Kind::read || is_atomic(kind);
    return !rules.acknowledged || !late || in_order(wire.ack_ns, post.poll_ns, tolerance_ns);
}

/// Whether all messages that have posts at this offset fit them, `need` at least, and no message is left without one
/// at the end: posts are known before packets are.
bool MessageJoin::consistent(const Posts& posts, const JoinRules& rules, std::int64_t offset, std::size_t need,
                             std::int64_t tolerance_ns) const {
    const std::int64_t ahead = static_cast<std::int64_t>(posts.first()) - offset - static_cast<std::int64_t>(first_);
    const auto begin = static_cast<std::size_t>(std::max<std::int64_t>(ahead, 0));
    if (begin + need > wires_.size()) return false;
    const auto place = [&](std::size_t wire) {
        return static_cast<std::size_t>(static_cast<std::int64_t>(wire) - ahead);
    };
    if (place(wires_.size() - 1) >= posts.size()) return false;
    for (std::size_t wire = begin; wire < wires_.size(); ++wire)
        if (!fits(posts[place(wire)], wires_[wire], rules, tolerance_ns)) return false;
    // The next one has not been sent, so it cannot have been complete before this was.
    const std::size_t next = place(wires_.size());
    if (next >= posts.size() || !rules.completes_late || !posts[next].retired) return true;
    if (posts[next].failed || posts[next].doubtful) return true;
    return in_order(wires_.back().last_ns, posts[next].poll_ns, tolerance_ns);
}

/// Tries every place of the messages among the posts; accepts it if there is only one.
void MessageJoin::search(Posts& posts, const JoinRules& rules, std::size_t need) {
    while (wires_.size() > search_most) {
        pop_front();
        ++found_.messages_unmatched;
    }
    const auto lowest = static_cast<std::int64_t>(posts.first()) - static_cast<std::int64_t>(end()) + 1;
    const auto highest = static_cast<std::int64_t>(posts.end()) - static_cast<std::int64_t>(end());
    const auto deepest = std::max(lowest, highest - static_cast<std::int64_t>(2 * search_most));
    for (const std::int64_t tolerance : {std::int64_t{0}, clock_tolerance_ns}) {
        std::size_t found = 0;
        for (std::int64_t offset = highest; offset >= deepest && found < 2; --offset) {
            if (!consistent(posts, rules, offset, need, tolerance)) continue;
            if (found++ == 0) offset_ = offset;
        }
        if (found == 1) {
            aligned_ = true;
            return;
        }
        if (found > 1) return;
    }
}

/// Drops what has no counterpart, so that the fronts belong together. False where there is no pair.
bool MessageJoin::drop_unmatched(Posts& posts) {
    const std::int64_t ahead = static_cast<std::int64_t>(posts.first()) - offset_ - static_cast<std::int64_t>(first_);
    if (ahead < 0 && introduced_ == 0) posts.drop(static_cast<std::size_t>(-ahead));
    for (std::int64_t i = 0; i < ahead && !wires_.empty(); ++i) {
        if (introduced_ == 0) ++found_.messages_unmatched;
        pop_front();
    }
    return !wires_.empty() && posts.size() > 0 &&
           static_cast<std::int64_t>(posts.first()) == offset_ + static_cast<std::int64_t>(first_);
}

void MessageJoin::advance(Posts& posts, const JoinRules& rules, bool last) {
    if (!aligned_ && !wires_.empty() && (last || wires_.size() >= next_search_)) {
        search(posts, rules, last ? std::min(few, wires_.size()) : few);
        next_search_ = aligned_ ? few : std::min(2 * wires_.size(), search_most);
    }
    while (aligned_ && drop_unmatched(posts)) {
        if (finish_front(posts, rules)) continue;
        const auto place = static_cast<std::size_t>(introduced_);
        if (place >= wires_.size() || place >= posts.size()) return;
        if (!fits(posts[place], wires_[place], rules, clock_tolerance_ns)) return lose();
        introduce(posts[place], wires_[place]);
        ++introduced_;
    }
}

/// The gap before the message is divided at its post: the part after the post was the adapter's or the stack's.
void MessageJoin::introduce(const Post& post, const WireMessage& wire) {
    ++found_.messages_matched;
    if (!wire.gap_state || wire.gap_end_ns == unknown_time) return;
    const auto index = application_index(*wire.gap_state);
    if (!index) return;
    const auto length = static_cast<std::int64_t>(
        std::min<std::uint64_t>(wire.gap_ns, wire.gap_end_ns > 0 ? static_cast<std::uint64_t>(wire.gap_end_ns) : 0));
    const std::int64_t begin_ns = wire.gap_end_ns - length;
    const std::int64_t post_ns = std::clamp(post.post_ns, begin_ns, wire.gap_end_ns);
    found_.held_ns[*index] += base::elapsed(post_ns, wire.gap_end_ns);
    if (last_ack_ns_ != unknown_time && last_poll_ns_ != unknown_time)
        found_.unpolled_ns[*index] += base::elapsed(std::max(begin_ns, last_ack_ns_), std::min(post_ns, last_poll_ns_));
}

/// The first pair, if all is known of it.
bool MessageJoin::finish_front(Posts& posts, const JoinRules& rules) {
    if (introduced_ == 0) return false;
    const WireMessage& wire = wires_.front();
    const Post& post = posts[0];
    if (!post.retired || (rules.acknowledged && !wire.answered)) return false;
    if (!fits(post, wire, rules, clock_tolerance_ns)) {
        lose();
        return false;
    }
    measure(post, wire, rules);
    last_ack_ns_ = post.doubtful ? unknown_time : wire.ack_ns;
    last_poll_ns_ = post.poll_ns;
    pop_front();
    posts.drop(1);
    return true;
}

/// A part that the clocks, or a transport that completes early, would make negative ends where the next one does: so
/// the parts always add up.
void MessageJoin::measure(const Post& post, const WireMessage& wire, const JoinRules& rules) {
    if (post.doubtful) return;
    if (wire.ack_ns != unknown_time && post.own && wire.ack_ns > post.poll_ns) ++found_.polled_early;
    const bool known = wire.first_ns != unknown_time && wire.last_ns != unknown_time &&
                       (wire.ack_ns != unknown_time || !rules.acknowledged);
    if (!post.own || post.failed || !known || post.poll_ns < post.post_ns) return;
    const std::int64_t first = std::clamp(wire.first_ns, post.post_ns, post.poll_ns);
    const std::int64_t last = std::clamp(wire.last_ns, first, post.poll_ns);
    const std::int64_t ack = wire.ack_ns == unknown_time ? post.poll_ns : std::clamp(wire.ack_ns, last, post.poll_ns);
    DelayFigures& delays = found_.waits(wire.operation).delays;
    delays.post_to_wire_ns.record(base::elapsed(post.post_ns, first));
    delays.wire_ns.record(base::elapsed(first, last));
    delays.wire_to_ack_ns.record(base::elapsed(last, ack));
    delays.ack_to_poll_ns.record(base::elapsed(ack, post.poll_ns));
    delays.whole_ns.record(base::elapsed(post.post_ns, post.poll_ns));
}

void MessageJoin::describe(VerbsFigures& out) const {
    const std::uint64_t waiting = wires_.size() - static_cast<std::size_t>(introduced_);
    out.messages_matched += found_.messages_matched;
    out.messages_unmatched += found_.messages_unmatched + waiting;
    out.polled_early += found_.polled_early;
    for (std::size_t i = 0; i < application_states; ++i) {
        out.held_ns[i] += found_.held_ns[i];
        out.unpolled_ns[i] += found_.unpolled_ns[i];
    }
    for (const OperationWaits& one : found_.operations) out.waits(one.operation).delays = one.delays;
}

}  // namespace metrics::measure::posts
