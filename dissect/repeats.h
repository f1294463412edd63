#pragma once
#include <cstdint>

#include "base/bytes.h"
#include "base/zeroed_array.h"
#include "dissect/dissection.h"

namespace dissect {

/// Remembers which frame carried a PSN, so that a retransmission can name it. A two-way set-associative table of fixed
/// size over (addresses, destination QP, request or response, PSN): no flow is created and nothing grows. A PSN is
/// forgotten once about `packets` others have passed, long before its flow can reuse it (2^24 packets later).
///
/// Only reliable services repeat a PSN (IBTA vol. 1, 9.7.5); acknowledgements are left out: several may rightly carry
/// the same PSN. An ATOMIC Acknowledge is a response: only a repeat has the PSN of an earlier one.
class RepeatTable {
public:
    /// `packets` is rounded up to a power of two; each takes 16 bytes. A page of the table takes memory from the first
    /// packet on that is noted there.
    explicit RepeatTable(std::size_t packets);

    /// Notes the packet and returns the number of the earlier frame with the same PSN, 0 if none is known.
    std::uint64_t note(const Dissection& dissection, base::Bytes bytes, std::uint64_t frame_number);

private:
    struct Entry {
        std::uint64_t key = 0;
        std::uint64_t frame = 0;  ///< 0 = empty
    };
    base::ZeroedArray<Entry> entries_ = {};  ///< empty until there is a packet
    std::size_t size_;
};

}  // namespace dissect
