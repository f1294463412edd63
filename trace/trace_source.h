#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "trace/record.h"

namespace trace {

enum class TraceStatus : std::uint8_t {
    records,  ///< some were delivered
    timeout,  ///< none came in that time; ask again
    end,      ///< no more will come: what was traced is over
    error,    ///< see error(); asking again gives the same
};

struct TraceBatch {
    std::size_t count = 0;  ///< records filled in
    TraceStatus status = TraceStatus::timeout;
};

/// One occurrence of an event of the kernel, or of a probe in a program.
struct EventSample {
    std::int64_t time_ns = 0;  ///< CLOCK_REALTIME
    std::uint32_t process = 0;
    std::uint32_t thread = 0;
    base::Bytes record = {};  ///< as the event's format describes it
};

/// How often an event came.
struct EventCount {
    std::string name;  ///< "rdma_core:cq_poll"
    std::uint64_t count = 0;
    bool recorded = false;  ///< it becomes a record; the others are counted, and shown as text
};

/// "rdma_cma:cm_send_req 1, rdma_cma:cm_event_handler 4": those that came, the most frequent first; "none" where none
/// did.
std::string counts_text(std::vector<EventCount> counts);

/// Where records come from while they are made.
class TraceSource {
public:
    virtual ~TraceSource() = default;

    /// As many records as there are, at most into.size(), ordered by time over all processors. Waits `timeout_ms` at
    /// most if no record is there; with 0 it does not wait.
    virtual TraceBatch next(std::span<Record> into, int timeout_ms) = 0;
    /// Occurrences that the kernel could not deliver, since the reader was too slow. Each gap is a record, too.
    virtual std::uint64_t lost() const = 0;
    virtual std::vector<EventCount> events() const = 0;
    /// What could not be traced, and why, where the rest can be.
    virtual const std::vector<std::string>& warnings() const = 0;
    virtual const base::Error& error() const = 0;
};

/// Makes a record of a sample; false where this one means none.
using Converter = std::function<bool(const EventSample& sample, Record& into)>;
/// Called for every occurrence, with text: "rdma_core:cq_poll", "cq_id=7 requested=16 rc=1".
using Listener = std::function<void(const EventSample& sample, std::string_view name, std::string_view text)>;

}  // namespace trace
