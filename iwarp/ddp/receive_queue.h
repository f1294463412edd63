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

/// A bounded queue of them. After warm-up posting and taking allocate nothing.
class ReceiveQueue {
public:
    ReceiveQueue(std::uint32_t capacity, std::uint32_t max_pieces);
    Posted post(const ReceiveRequest& request);
    /// The oldest is exchanged for `out` (whose memory is kept for later posts); `false` where there is none.
    bool take(Receive& out);
    std::uint32_t size() const;
    std::uint32_t capacity() const;
    std::uint32_t max_pieces() const;
    /// `false` where more are posted.
    bool resize(std::uint32_t capacity);
    /// Of a shared one: whether the last take() went below the armed limit; asking disarms.
    void arm_limit(std::uint32_t limit);
    bool limit_reached();

private:
    // The author of receive_queue.cpp completes what is private.
};

}  // namespace iwarp::ddp
