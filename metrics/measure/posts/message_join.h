#pragma once
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>

#include "metrics/figures/post_figures.h"
#include "metrics/figures/state.h"

/// The nth work request of a queue pair that becomes a message, and the nth message of its flow, are the same thing.
namespace metrics::inline measure::posts {

/// How far the clocks of trace and capture may differ. Both are this machine's system clock if the kernel stamps
/// frames; an adapter's clock, if used, is within 20 us of it.
inline constexpr std::int64_t clock_tolerance_ns = 100'000;
inline constexpr std::int64_t unknown_time = std::numeric_limits<std::int64_t>::min();

/// A work request, until its message is known.
struct Post {
    Operation operation{};
    bool own = false;       ///< the completion was its own: it was signalled
    bool retired = false;   ///< it has left the send queue
    bool failed = false;    ///< with an error
    bool doubtful = false;  ///< another request's completion may have completed it
    std::uint64_t bytes = 0;
    std::int64_t post_ns = unknown_time;
    std::int64_t poll_ns = unknown_time;  ///< when it left the queue
};

/// Those of a queue pair, in their order. Bounded: the oldest go.
class Posts {
public:
    static constexpr std::size_t most = 65'536;        ///< where a flow takes them; devices grant some ten thousand
    static constexpr std::size_t most_waiting = 8192;  ///< if none is known

    void set_taken(bool taken) { taken_ = taken; }
    bool taken() const { return taken_; }
    /// Returns its ordinal: 0 is the first of the queue pair's life.
    std::uint64_t add(Operation operation, std::uint64_t bytes, std::int64_t time_ns);
    struct Retirement {
        std::int64_t time_ns = 0;
        bool own = false;
        bool failed = false;
        bool doubtful = false;
    };
    void retire(std::uint64_t ordinal, const Retirement& how);
    void drop(std::size_t count);
    void clear() { drop(entries_.size()); }

    std::size_t size() const { return entries_.size(); }
    Post& operator[](std::size_t place) { return entries_[place]; }
    const Post& operator[](std::size_t place) const { return entries_[place]; }
    std::uint64_t first() const { return first_; }
    std::uint64_t end() const { return first_ + entries_.size(); }

private:
    std::deque<Post> entries_;
    std::uint64_t first_ = 0;
    bool taken_ = false;
};

/// A message, as packets showed it.
struct WireMessage {
    Operation operation{};
    bool answered = false;
    bool unseen = false;      ///< its last packet has not passed
    std::uint64_t bytes = 0;  ///< 0: not known, or none
    std::uint64_t position = 0;
    std::int64_t first_ns = unknown_time;
    std::int64_t last_ns = unknown_time;
    std::int64_t ack_ns = unknown_time;
    /// The gap before its first packet, where packets alone call it the application's.
    std::optional<State> gap_state;
    std::uint64_t gap_ns = 0;
    std::int64_t gap_end_ns = unknown_time;
};

/// The properties of a transport that decide which times are possible.
struct JoinRules {
    bool acknowledged = true;    ///< a reliable service
    bool completes_late = true;  ///< a completion means an acknowledgement; iWARP's Sends and Writes complete when the
                                 ///< transport has taken them. RFC 5040, 5.5
};

/// One flow's messages, matched with the posts of its queue pair.
class MessageJoin {
public:
    /// From packets: in the order of FrameObserver.
    void message(const WireMessage& message, bool late);
    /// The same, for a message that came before all others; has no effect once any has been matched.
    void put_first(const WireMessage& message);
    void continued(std::uint64_t position, std::int64_t last_ns);
    void answered(std::uint64_t position, bool single, std::int64_t time_ns);
    void forgotten(bool apart);

    /// Post `ordinal` and the first message are the same: both are known from their beginning.
    void align_beginning(std::uint64_t ordinal = 0);
    /// Packets or records were lost: the match of posts and messages must be found again.
    void lose();
    /// Matches what can be matched by now. `last`: nothing more will come.
    void advance(Posts& posts, const JoinRules& rules, bool last = false);

    bool aligned() const { return aligned_; }
    /// Adds matched, unmatched, polled_early, delays, held_ns and unpolled_ns.
    void describe(VerbsFigures& out) const;
    std::size_t waiting() const { return wires_.size(); }
    /// Forgets messages that cannot be matched any more.
    void discard();

private:
    static constexpr std::size_t most = 65'536;
    static constexpr std::size_t few = 8;             ///< messages that must agree before a place is accepted
    static constexpr std::size_t search_most = 1024;  ///< of both, that are searched

    std::uint64_t end() const { return first_ + wires_.size(); }
    void pop_front();
    bool fits(const Post& post, const WireMessage& wire, const JoinRules& rules, std::int64_t tolerance_ns) const;
    bool consistent(const Posts& posts, const JoinRules& rules, std::int64_t offset, std::size_t need,
                    std::int64_t tolerance_ns) const;
    void search(Posts& posts, const JoinRules& rules, std::size_t need);
    bool drop_unmatched(Posts& posts);
    void introduce(const Post& post, const WireMessage& wire);
    bool finish_front(Posts& posts, const JoinRules& rules);
    void measure(const Post& post, const WireMessage& wire, const JoinRules& rules);

    std::deque<WireMessage> wires_;
    std::uint64_t first_ = 0;       ///< number of the front of wires_, from 0
    std::uint64_t introduced_ = 0;  ///< of wires_, from the front: their posts are known to be theirs
    std::uint64_t unanswered_ = 0;  ///< number below which all are answered
    bool aligned_ = false;
    std::int64_t offset_ = 0;  ///< a message's number plus this is its post's ordinal
    std::size_t next_search_ = few;
    std::int64_t last_ack_ns_ = unknown_time;  ///< of the last message that was finished
    std::int64_t last_poll_ns_ = unknown_time;

    VerbsFigures found_;
};

}  // namespace metrics::measure::posts
