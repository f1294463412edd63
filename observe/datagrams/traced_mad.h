#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "trace/record.h"

namespace observe::datagrams {

/// A management datagram that a traced program sent or received.
struct TracedMad {
    std::int64_t time_ns = 0;
    std::uint32_t process = 0;
    std::uint8_t device = 0;             ///< index in the names of the process's devices
    std::uint32_t local_queue_pair = 0;  ///< 0 or 1
    trace::MadPassage passage = {};
    base::Bytes bytes = {};  ///< the recorded ones
};

/// Puts the records of a datagram together. A datagram is known by its thread, whose records stay in order. Memory: at
/// most 64 KiB for each of 256 threads.
class MadAssembler {
public:
    /// The datagram that this record completes, valid until the next call; null if it completes none.
    const TracedMad* add(const trace::Record& record);
    /// Datagrams without some of their records.
    std::uint64_t incomplete() const { return incomplete_; }

private:
    using Thread = std::pair<std::uint32_t, std::uint32_t>;  ///< process and thread
    struct Part {
        trace::Record head = {};
        std::vector<std::byte> bytes = {};
        std::uint32_t records = 0;
    };
    const TracedMad* begin(const trace::Record& record);
    const TracedMad* extend(const trace::Record& record);
    const TracedMad* complete(Part part);
    void drop(Thread thread);

    std::map<Thread, Part> parts_ = {};
    std::vector<std::byte> bytes_ = {};
    TracedMad completed_ = {};
    std::uint64_t incomplete_ = 0;
};

}  // namespace observe::datagrams
