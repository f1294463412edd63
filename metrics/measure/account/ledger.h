#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "metrics/figures/operation.h"

namespace metrics::inline measure::inline account {

__extension__ using Wide = unsigned __int128;

/// A message that was sent and waits for its acknowledgement or response.
struct OutstandingMessage {
    std::int64_t last_ns = 0;         ///< when its last packet passed (for READ and atomics: the request)
    std::uint64_t position : 48 = 0;  ///< of its last packet: everything up to here acknowledged means it is done
    std::uint64_t operation : 4 = 0;
    std::uint64_t again : 1 = 0;      ///< some of it was transmitted again: no latency is taken from it (Karn)
    std::uint64_t responded : 1 = 0;  ///< a first response packet was seen
    std::uint64_t merged : 1 = 0;     ///< stands for several messages, because the ring was full: no latency either
    std::uint64_t mark : 9 = 0;       ///< distinguishes its response from others'; 0: unmarked. Or see
                                      ///< move_newest()
    std::uint32_t bytes = 0;
    std::uint16_t messages = 1;   ///< how many it stands for; 0: one that is not counted
    std::uint16_t responses = 0;  ///< the number of these that need a response
};
static_assert(sizeof(OutstandingMessage) == 24);

/// Rings of outstanding messages that all flows of a worker share, of 4, 16, 64 entries. Bounded; not thread-safe.
class LedgerPool {
public:
    explicit LedgerPool(std::size_t max_entries);
    ~LedgerPool();
    LedgerPool(const LedgerPool&) = delete;
    LedgerPool& operator=(const LedgerPool&) = delete;
    std::size_t octets() const;  ///< memory taken from the system
    std::size_t used() const;    ///< entries in rings that flows hold

private:
    friend class Ledger;
    struct State;
    std::unique_ptr<State> state_;
};

/// The outstanding messages of a flow, their count over time (Little: the mean is the integral by the time), and its
/// maxima. Positions are sequence numbers made monotonous: a PSN or TCP sequence number with its wraps counted.
///
/// A message is outstanding from its first packet (`begin`) until it is acknowledged. `end` gives it its position.
///
/// A ring that is full and cannot grow is thinned out: neighbours become one entry that stands for all of them and has
/// the time and position of the youngest; all entries stand for about as many. A merged entry is acknowledged in part,
/// in proportion of the positions: counts and bytes stay exact where its messages are of one size, and are never off by
/// more than what it stands for. Its youngest message is handed out by itself, as any other; the rest is handed out as
/// `merged`, without a latency. Bounds of an entry: 65535 messages, 4 GiB; what exceeds them is taken from the ledger
/// and counted as merged.
///
/// Trivially copyable, but the ring has one owner: copy to move, and `clear` before it is dropped.
class Ledger {
public:
    static constexpr std::uint64_t max_position = (std::uint64_t{1} << 48) - 1;

    /// The first of several packets, with its bytes. A message that was begun and never ended is forgotten.
    void begin(std::int64_t now_ns, Operation operation, std::uint64_t bytes = 0);
    /// To the begun message.
    void add_bytes(std::int64_t now_ns, std::uint64_t bytes);
    /// `bytes` is all of the message, whatever was added before. Without `begin` it is outstanding from now on.
    void end(LedgerPool& pool, std::int64_t now_ns, Operation operation, std::uint64_t position, std::uint32_t bytes);
    /// A message of one packet: begin, add_bytes and end at once. A begun message is not touched. False: there was no
    /// room, and it is forgotten.
    bool post(LedgerPool& pool, std::int64_t now_ns, Operation operation, std::uint64_t position, std::uint32_t bytes,
              std::uint16_t mark = 0);
    /// A message that passed before it could be recognised. It does not count as outstanding, since the number
    /// outstanding at that time is unknown. Only complete_oldest() handles it. Returns false if there was no room.
    bool post_late(LedgerPool& pool, std::int64_t passed_ns, Operation operation, std::uint64_t position,
                   std::uint32_t bytes, std::uint16_t mark);

    /// Calls done(const OutstandingMessage&) for every message whose position is at most `position`, oldest first,
    /// after it has left the ledger. Returns how many messages they stood for. `done` may look at the ledger, but not
    /// change it.
    template <class Done>
    unsigned acknowledge(LedgerPool& pool, std::int64_t now_ns, std::uint64_t position, Done&& done);
    /// Completes only the oldest message, at any position, with the same callback. For responses that come in order.
    template <class Done>
    unsigned complete_oldest(LedgerPool& pool, std::int64_t now_ns, Done&& done);

    /// Calls look(const OutstandingMessage&) for every entry whose position is at most `position`, oldest first.
    template <class Look>
    void look(std::uint64_t position, Look&& look) const {
        for (unsigned i = 0; i < size_; ++i) {
            const OutstandingMessage& message = ring_[(head_ + i) & (capacity_ - 1u)];
            if (message.position > position) return;
            look(message);
        }
    }
    OutstandingMessage* oldest(LedgerPool&) { return size_ == 0 ? nullptr : &at(0); }
    /// The oldest that needs a response (READ, atomic) and whose position is at least `position`; nullptr if there is
    /// none.
    OutstandingMessage* oldest_response(LedgerPool& pool, std::uint64_t position);
    /// Marks every message from `position` on as transmitted again, the begun one among them.
    void mark_again(LedgerPool& pool, std::uint64_t position);
    /// Marks those alone that have something of [begin, end): TCP repeats a segment and not all that followed.
    void mark_again(LedgerPool& pool, std::uint64_t begin, std::uint64_t end);
    /// The end of the message at `position`, which was assumed to have passed unseen, passes only now: its latency
    /// begins here.
    void end_late(std::int64_t now_ns, std::uint64_t position);
    /// The newest message, if its last packet had that position, is longer: a READ whose extent was unknown. If the
    /// length is `guessed`, shorten() may undo it; such a message has no other mark.
    void move_newest(std::uint64_t from, std::uint64_t to, bool guessed = false);
    /// Takes positions from `begin` on away from a message whose length was guessed. Returns the position after the
    /// last one taken away; 0 if there is no such message.
    std::uint64_t shorten(std::uint64_t begin);
    /// Forgets all messages, because the connection ended or its sequence jumped. Returns the ring to the pool.
    void clear(LedgerPool& pool, std::int64_t now_ns);
    /// Returns an empty ring to the pool: for flows that have become idle.
    void trim(LedgerPool& pool);

    /// Prefetches the places of the next and of the oldest message.
    void prefetch() const {
        if (capacity_ == 0) return;
        __builtin_prefetch(&ring_[head_]);
        __builtin_prefetch(&ring_[(head_ + size_) & (capacity_ - 1u)], 1);
    }

    std::uint32_t messages() const { return messages_; }
    std::uint32_t kept() const;  ///< entries' messages, late ones among them; the begun one not
    std::uint64_t bytes() const { return bytes_; }
    std::uint32_t responses() const { return responses_; }  ///< READs and atomics among the messages
    std::uint32_t messages_max() const { return messages_max_; }
    std::uint64_t bytes_max() const { return bytes_max_; }
    std::uint32_t responses_max() const { return responses_max_; }
    std::uint32_t merged() const { return merged_; }  ///< messages without a latency, because they were merged
    /// Integral of the outstanding messages over time up to `now_ns`, in message-nanoseconds; the bytes have one too. A
    /// time before that of the last change counts as that one.
    Wide message_ns(std::int64_t now_ns) const;
    Wide byte_ns(std::int64_t now_ns) const;
    std::uint64_t at_max_ns(std::int64_t now_ns) const;  ///< time spent at messages_max

private:
    static constexpr std::uint64_t no_floor = ~std::uint64_t{0};
    static constexpr unsigned max_capacity = 64;
    static constexpr std::uint64_t most_mark = 511;

    /// An unsigned number of 128 bits without an alignment of 16.
    struct Area {
        std::uint64_t low = 0;
        std::uint64_t high = 0;
        void add(std::uint64_t height, std::uint64_t width) {
            const Wide sum = value() + static_cast<Wide>(height) * width;
            low = static_cast<std::uint64_t>(sum);
            high = static_cast<std::uint64_t>(sum >> 64);
        }
        Wide value() const { return static_cast<Wide>(high) << 64 | low; }
    };

    std::uint64_t elapsed_ns(std::int64_t now_ns) const { return base::elapsed(changed_ns_, now_ns); }
    void advance(std::int64_t now_ns) {
        // A message that begins and ends with one packet comes here several times.
        if (now_ns <= changed_ns_) return;
        const std::uint64_t elapsed = elapsed_ns(now_ns);
        changed_ns_ = now_ns;
        message_area_.add(messages_, elapsed);
        byte_area_.add(bytes_, elapsed);
        at_max_ns_ += messages_ == messages_max_ ? elapsed : 0;
    }
    void raise_maxima() {
        if (messages_ > messages_max_) {
            messages_max_ = messages_;
            at_max_ns_ = 0;
        }
        bytes_max_ = std::max(bytes_, bytes_max_);
        responses_max_ = std::max(responses_, responses_max_);
    }
    OutstandingMessage& at(unsigned place) { return ring_[(head_ + place) & (capacity_ - 1u)]; }
    bool push(LedgerPool& pool, std::int64_t now_ns, Operation operation, std::uint64_t position, std::uint32_t bytes,
              bool again, std::uint16_t mark = 0);
    bool make_room(LedgerPool& pool);
    void thin_out();
    void absorb(OutstandingMessage& older, const OutstandingMessage& younger);
    void give_back(LedgerPool& pool);
    void take_out(const OutstandingMessage& message) {
        messages_ -= message.messages;
        bytes_ -= message.bytes;
        responses_ -= message.responses;
    }
    OutstandingMessage pop() {
        const OutstandingMessage message = ring_[head_];
        head_ = static_cast<std::uint8_t>((head_ + 1u) & (capacity_ - 1u));
        --size_;
        floor_ = message.position;
        take_out(message);
        return message;
    }
    /// Takes `count` of the messages that the oldest, merged entry stands for, fewer than all.
    OutstandingMessage split(unsigned count);
    /// How many of them an acknowledgement of `position`, below its own, covers.
    unsigned covered(const OutstandingMessage& merged, std::uint64_t position) const;

    std::uint64_t bytes_ = 0;
    std::uint64_t bytes_max_ = 0;
    std::uint64_t open_bytes_ = 0;  ///< of `bytes_`, what belongs to the begun message
    Area message_area_;
    Area byte_area_;
    std::int64_t changed_ns_ = INT64_MIN;  ///< up to when the areas are computed
    std::uint64_t at_max_ns_ = 0;
    std::uint64_t floor_ = no_floor;  ///< up to where messages have left the ring
    OutstandingMessage* ring_ = nullptr;
    std::uint32_t messages_ = 0;
    std::uint32_t responses_ = 0;
    std::uint32_t messages_max_ = 0;
    std::uint32_t responses_max_ = 0;
    std::uint32_t merged_ = 0;
    std::uint8_t capacity_ = 0;
    std::uint8_t head_ = 0;
    std::uint8_t size_ = 0;
    bool open_ : 1 = false;
    bool open_response_ : 1 = false;
    bool open_again_ : 1 = false;
};
static_assert(sizeof(Ledger) <= 128 && std::is_trivially_copyable_v<Ledger>);

inline void Ledger::begin(std::int64_t now_ns, Operation operation, std::uint64_t bytes) {
    advance(now_ns);
    const bool response = wants_response(operation);
    messages_ += open_ ? 0 : 1;
    responses_ += static_cast<std::uint32_t>(response) - static_cast<std::uint32_t>(open_response_);
    bytes_ += bytes - open_bytes_;
    open_bytes_ = bytes;
    open_ = true;
    open_response_ = response;
    open_again_ = false;
    raise_maxima();
}

inline void Ledger::add_bytes(std::int64_t now_ns, std::uint64_t bytes) {
    advance(now_ns);
    if (!open_) return;
    bytes_ += bytes;
    open_bytes_ += bytes;
    bytes_max_ = std::max(bytes_, bytes_max_);
}

inline void Ledger::end(LedgerPool& pool, std::int64_t now_ns, Operation operation, std::uint64_t position,
                        std::uint32_t bytes) {
    advance(now_ns);
    const bool again = open_again_;
    messages_ += open_ ? 0 : 1;
    responses_ += static_cast<std::uint32_t>(wants_response(operation)) - static_cast<std::uint32_t>(open_response_);
    bytes_ += bytes - open_bytes_;
    open_bytes_ = 0;
    open_ = open_response_ = open_again_ = false;
    raise_maxima();
    push(pool, now_ns, operation, position, bytes, again);
}

inline bool Ledger::post(LedgerPool& pool, std::int64_t now_ns, Operation operation, std::uint64_t position,
                         std::uint32_t bytes, std::uint16_t mark) {
    advance(now_ns);
    ++messages_;
    responses_ += wants_response(operation) ? 1 : 0;
    bytes_ += bytes;
    raise_maxima();
    return push(pool, now_ns, operation, position, bytes, false, mark);
}

inline bool Ledger::post_late(LedgerPool& pool, std::int64_t passed_ns, Operation operation, std::uint64_t position,
                              std::uint32_t bytes, std::uint16_t mark) {
    if (size_ == capacity_ && !make_room(pool)) {
        ++merged_;
        return false;
    }
    push(pool, passed_ns, operation, position, bytes, false, mark);
    OutstandingMessage& message = at(size_ - 1u);
    message.messages = message.responses = 0;
    bytes_ += bytes;
    return true;
}

inline bool Ledger::push(LedgerPool& pool, std::int64_t now_ns, Operation operation, std::uint64_t position,
                         std::uint32_t bytes, bool again, std::uint16_t mark) {
    const std::uint64_t place = std::min(position, max_position);
    const std::uint16_t response = wants_response(operation) ? 1 : 0;
    if (size_ == capacity_ && !make_room(pool)) [[unlikely]] {
        --messages_;  // there was no room for the smallest ring, or late messages fill the ring
        bytes_ -= bytes;
        responses_ -= response;
        ++merged_;
        return false;
    }
    if (floor_ == no_floor) [[unlikely]]
        floor_ = place == 0 ? 0 : place - 1u;
    // Written straight into its place, in one piece: bytes stored apart and loaded together would stall.
    at(size_) = OutstandingMessage{.last_ns = now_ns,
                                   .position = place & max_position,
                                   .operation = static_cast<std::uint8_t>(operation) & 15u,
                                   .again = again,
                                   .responded = 0,
                                   .merged = 0,
                                   .mark = static_cast<std::uint16_t>(mark & 511u),
                                   .bytes = bytes,
                                   .messages = 1,
                                   .responses = response};
    ++size_;
    return true;
}

template <class Done>
unsigned Ledger::acknowledge(LedgerPool&, std::int64_t now_ns, std::uint64_t position, Done&& done) {
    if (size_ == 0) return 0;
    if (ring_[head_].position > position && !ring_[head_].merged) return 0;
    advance(now_ns);
    unsigned count = 0;
    while (size_ != 0) {
        // Whole messages leave together, so that what is counted stays in registers.
        const unsigned first = head_;
        const unsigned mask = capacity_ - 1u;
        const unsigned size = size_;
        OutstandingMessage* const ring = ring_;
        std::uint64_t bytes = 0;
        std::uint32_t responses = 0;
        unsigned taken = 0;
        for (; taken < size; ++taken) {
            const OutstandingMessage& message = ring[(first + taken) & mask];
            if (message.position > position || message.merged) break;
            bytes += message.bytes;
            responses += message.responses;
        }
        if (taken != 0) [[likely]] {
            floor_ = ring[(first + taken - 1) & mask].position;
            head_ = static_cast<std::uint8_t>((first + taken) & mask);
            size_ = static_cast<std::uint8_t>(size - taken);
            messages_ -= taken;
            bytes_ -= bytes;
            responses_ -= responses;
            count += taken;
            // Their places are not reused while `done` looks at them.
            for (unsigned i = 0; i < taken; ++i) done(std::as_const(ring[(first + i) & mask]));
            if (taken == size) break;
        }
        const OutstandingMessage& head = ring_[head_];
        const bool whole = head.position <= position;
        if (head.merged) [[unlikely]] {
            const unsigned part = whole ? head.messages - 1u : covered(head, position);
            if (part != 0) {
                const OutstandingMessage rest = split(part);
                count += part;
                done(rest);
            }
        }
        if (!whole) break;
        const OutstandingMessage message = pop();
        ++count;
        done(message);
    }
    return count;
}

template <class Done>
unsigned Ledger::complete_oldest(LedgerPool&, std::int64_t now_ns, Done&& done) {
    if (size_ == 0) return 0;
    advance(now_ns);
    const OutstandingMessage message = ring_[head_].merged ? split(1) : pop();
    done(message);
    return 1;
}

}  // namespace metrics::measure::account
