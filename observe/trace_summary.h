#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>

#include "metrics/measure/posts/queue_pair_table.h"
#include "trace/process.h"
#include "trace/record.h"

namespace observe {

/// What each queue pair of the traced processes did.
class TraceSummary {
public:
    void add(std::span<const trace::Record> records, const std::deque<trace::Process>& processes);
    /// Lines for a person, each with a newline. `lost`: records that did not arrive here.
    std::string text(std::uint64_t lost) const;

private:
    static metrics::posts::QueuePairTableOptions options();
    /// Process, device, number: one line, although numbers are used again.
    using Key = std::uint64_t;
    struct Octets {
        std::uint64_t posted = 0;
        std::uint64_t received = 0;
    };
    static Key key(std::uint32_t process, std::uint8_t device, std::uint32_t number);

    metrics::posts::QueuePairTable book_{options()};
    std::map<Key, Octets> octets_ = {};
    std::map<std::uint32_t, trace::Process> processes_ = {};
    std::uint64_t records_ = 0;
};

}  // namespace observe
