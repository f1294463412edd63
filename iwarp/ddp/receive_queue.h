#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "iwarp/iwarp.h"

/// Untagged buffers of queue 0: a queue pair's own, or shared between several. RFC 5041 section 4.3.
namespace iwarp::ddp {

/// A posted receive with its pieces, at most 32.
struct Receive {
    std::uint64_t id = 0;
    std::vector<Sge> pieces;
    std::uint64_t length = 0;  ///< of all pieces
};

/// A bounded queue of them. After warm-up, posting and taking allocate nothing.
class ReceiveQueue {
public:
    ReceiveQueue(std::uint32_t capacity, std::uint32_t max_pieces);
    Posted post(const ReceiveRequest& request);
    /// Exchanges the oldest for `out` (whose memory is kept for later posts); `false` if absent.
    bool take(Receive& out);
    std::uint32_t size() const { return count_; }
    std::uint32_t capacity() const { return capacity_; }
    std::uint32_t max_pieces() const { return max_pieces_; }
    /// `false` if more are posted.
    bool resize(std::uint32_t capacity);
    /// Of a shared queue: whether the last take() went below the armed limit; the call disarms it.
    void arm_limit(std::uint32_t limit);
    bool limit_reached();

private:
    void make_slots(std::uint32_t slots);

    std::vector<Receive> slots_;  ///< a ring that grows up to capacity_: most queues hold only a few
    std::uint32_t capacity_;
    std::uint32_t max_pieces_;
    std::uint32_t first_ = 0;
    std::uint32_t count_ = 0;
    std::uint32_t limit_ = 0;
    bool limit_reached_ = false;
};

}  // namespace iwarp::ddp
