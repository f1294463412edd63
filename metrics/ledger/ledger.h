#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "metrics/operation.h"

namespace metrics {

/// A message that was sent and waits for its acknowledgement or response.
struct OutstandingMessage {
    std::int64_t last_ns = 0;         ///< when its last packet passed (for READ and atomics: the request)
    std::uint64_t position : 48 = 0;  ///< of its last packet: everything up to here acknowledged means it is done
    std::uint64_t operation : 4 = 0;
    std::uint64_t again : 1 = 0;      ///< some of it was transmitted again: no latency is taken from it (Karn)
    std::uint64_t responded : 1 = 0;  ///< a first response packet was seen
    std::uint64_t merged : 1 = 0;     ///< stands for several messages: the ring was full
    std::uint32_t bytes = 0;
    std::uint32_t messages = 1;  ///< how many it stands for
};
static_assert(sizeof(OutstandingMessage) == 24);

/// Rings of outstanding messages that all flows of a worker share, of 4, 16, 32, 64 entries. Bounded; not thread-safe.
class LedgerPool {
public:
    explicit LedgerPool(std::size_t max_entries);
    ~LedgerPool();
    LedgerPool(const LedgerPool&) = delete;
    LedgerPool& operator=(const LedgerPool&) = delete;
    std::size_t octets() const;

private:
    friend class Ledger;
    struct State;
    std::unique_ptr<State> state_;
};

/// The outstanding messages of a flow, their count over time (Little: the mean is the integral by the time), and its
/// maxima. Positions are sequence numbers made monotonous: a PSN or TCP sequence number with its wraps counted.
///
/// A message is outstanding from its first packet (`begin`) until it is acknowledged. `end` gives it its position. When
/// the ring cannot grow, the two oldest neighbours become one: counts, bytes and integrals stay exact, latency samples
/// of the merged ones are given up and counted.
class Ledger {
public:
    void begin(std::int64_t now_ns, Operation operation);
    void add_bytes(std::int64_t now_ns, std::uint64_t bytes);
    void end(LedgerPool& pool, std::int64_t now_ns, Operation operation, std::uint64_t position, std::uint32_t bytes);

    /// Calls done(const OutstandingMessage&) for every message whose position is at most `position`, oldest first,
    /// after it has left the ledger. Returns how many messages they stood for.
    template <class Done>
    unsigned acknowledge(LedgerPool& pool, std::int64_t now_ns, std::uint64_t position, Done&& done);
    /// The oldest message alone, whatever its position; the same callback. For responses that come in order.
    template <class Done>
    unsigned complete_oldest(LedgerPool& pool, std::int64_t now_ns, Done&& done);

    OutstandingMessage* oldest(LedgerPool& pool);
    /// The oldest that wants a response (READ, atomic) and whose position is at least `position`; nullptr where none
    /// is.
    OutstandingMessage* oldest_response(LedgerPool& pool, std::uint64_t position);
    /// Marks every message from `position` on as transmitted again.
    void mark_again(LedgerPool& pool, std::uint64_t position);
    /// Forgets them all: the connection is gone or its sequence jumped. Gives the ring back.
    void clear(LedgerPool& pool, std::int64_t now_ns);

    std::uint32_t messages() const { return messages_; }
    std::uint64_t bytes() const { return bytes_; }
    std::uint32_t responses() const { return responses_; }  ///< READs and atomics among the messages
    std::uint32_t messages_max() const { return messages_max_; }
    std::uint64_t bytes_max() const { return bytes_max_; }
    std::uint32_t responses_max() const { return responses_max_; }
    std::uint32_t merged() const { return merged_; }
    /// Integral of the outstanding messages over time up to `now_ns`, in message-nanoseconds; of the bytes likewise.
    unsigned __int128 message_ns(std::int64_t now_ns) const;
    unsigned __int128 byte_ns(std::int64_t now_ns) const;
    std::uint64_t at_max_ns(std::int64_t now_ns) const;  ///< time spent at messages_max

private:
    std::uint32_t messages_ = 0;
    std::uint32_t bytes_ = 0;
    std::uint32_t responses_ = 0;
    std::uint32_t messages_max_ = 0;
    std::uint32_t bytes_max_ = 0;
    std::uint32_t responses_max_ = 0;
    std::uint32_t merged_ = 0;
    // The helper structure behind it is its author's: ring handle, head, size, integrals, time of the last change.
};

}  // namespace metrics
