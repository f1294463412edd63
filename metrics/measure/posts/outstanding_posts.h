#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "metrics/figures/operation.h"

namespace metrics::inline measure::posts {

/// A work request that waits for its completion.
struct Request {
    std::uint64_t id = 0;                ///< wr_id: chosen by the program, often the same for all requests
    std::int64_t time_ns = 0;            ///< when it was posted
    std::uint64_t ordinal = 0;           ///< of those that become messages, from 0; of another the next one's
    std::optional<Operation> operation;  ///< no value if it makes no message
    bool signalled = false;
};

/// What ibv_wr_opcode asks of the peer; nothing for what stays on this side.
std::optional<Operation> operation_of(std::uint8_t work_opcode);

/// Work requests between their post and the completion that reports them. A send queue completes in its order, so a
/// completion also completes all unsignalled requests before its own. The caller bounds it.
class OutstandingPosts {
public:
    void post(const Request& request);

    struct Completed {
        std::size_t requests = 0;  ///< that leave the queue, the completion's own last; 0: none fits it
        std::size_t missed = 0;    ///< of them, signalled ones before its own: their completions were not seen
    };
    /// The requests that a completion with that id concerns: those at the front of the queue, to be read with at() and
    /// removed with pop(). A failed request completes, signalled or not.
    Completed find(std::uint64_t id, bool failed) const;

    const Request& at(std::size_t place) const { return ring_[(head_ + place) & (ring_.size() - 1)]; }
    void pop(std::size_t count);
    std::size_t size() const { return count_; }
    std::size_t octets() const {
        return ring_.capacity() * sizeof(Request) + signalled_.size() * sizeof signalled_.front();
    }

private:
    /// The most entries that are searched for an id: an id that is in no queue must not cost a search of the whole
    /// queue each time.
    static constexpr std::size_t farthest = 1024;

    std::vector<Request> ring_;            ///< a power of two
    std::deque<std::uint64_t> signalled_;  ///< which of all that were ever posted are signalled and still here
    std::uint64_t popped_ = 0;             ///< of all that were ever posted
    std::size_t head_ = 0;
    std::size_t count_ = 0;
};

}  // namespace metrics::measure::posts
