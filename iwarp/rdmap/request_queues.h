#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "iwarp/iwarp.h"

/// What both directions of a stream share.
namespace iwarp::rdmap {

/// A read or an atomic of the peer, from its delivery to its answer's last byte. Answers leave in this order. RFC 5040
/// section 5.5, RFC 7306 section 5.
struct OwedResponse {
    bool atomic = false;
    std::uint32_t request_id = 0;  ///< atomic
    std::uint64_t original = 0;    ///< atomic: performed on delivery
    std::uint32_t sink_stag = 0;
    std::uint64_t sink_offset = 0;
    std::uint32_t length = 0;
    std::uint32_t source_stag = 0;
    std::uint64_t source_offset = 0;
};

/// A read or an atomic of ours, from its request to its answer's last byte.
struct OutstandingRequest {
    bool atomic = false;
    std::uint32_t request_id = 0;  ///< atomic
    std::uint64_t ticket = 0;      ///< the send queue's name for the work request
    std::uint32_t sink_stag = 0;   ///< read: where the peer will write; atomic: unused
    std::uint64_t sink_offset = 0;
    std::uint32_t length = 0;   ///< of a read; 8 of an atomic
    std::uint32_t arrived = 0;  ///< bytes of a read that have been placed
    Sge sink;                   ///< the local piece
};

/// A ring of fixed capacity: first in, first out. Allocates memory as it is used, because most streams have little
/// outstanding.
template <class T>
class BoundedQueue {
public:
    explicit BoundedQueue(std::size_t capacity = 0) : capacity_(capacity) {}
    bool full() const { return count_ == capacity_; }
    bool empty() const { return count_ == 0; }
    std::size_t size() const { return count_; }
    std::size_t capacity() const { return capacity_; }
    /// The caller has checked full().
    T& push(const T& value) {
        if (count_ == slots_.size()) grow();
        T& slot = slots_[(first_ + count_) % slots_.size()];
        ++count_;
        slot = value;
        return slot;
    }
    T& front() { return slots_[first_]; }
    T& at(std::size_t position) { return slots_[(first_ + position) % slots_.size()]; }
    void pop() {
        first_ = (first_ + 1) % slots_.size();
        --count_;
    }
    void clear() { first_ = count_ = 0; }

private:
    void grow() {
        std::rotate(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(first_), slots_.end());
        first_ = 0;
        slots_.resize(std::min(capacity_, std::max<std::size_t>(2, 2 * slots_.size())));
    }

    std::vector<T> slots_;
    std::size_t capacity_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

/// The queues that IRD bounds (inbound) and ORD bounds (outbound). RFC 5040 section 4.2; RFC 7306: atomics count.
using OwedResponses = BoundedQueue<OwedResponse>;
using OutstandingRequests = BoundedQueue<OutstandingRequest>;

}  // namespace iwarp::rdmap
