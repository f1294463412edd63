#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "metrics/measure/posts/queue_pair_table.h"
#include "trace/trace_source.h"

namespace observe {

/// What programs did, from a trace file or from the rings of running programs.
class TraceInput {
public:
    virtual ~TraceInput() = default;

    /// Adds to `queue_pairs` all available records up to that time, and their processes. Fails once, when no more
    /// records will come. Reading of running programs ends after a while, even if there are more records, and then
    /// leaves as much time to others: programs may record faster than a reader reads.
    virtual base::Result<void> read_until(std::int64_t until_ns, metrics::posts::QueuePairTable& queue_pairs) = 0;
    /// No other work needs the time: the next read_until() need not wait for its turn.
    virtual void at_leisure() {}
    /// Why programs are not read, for those that are new since the last call; at most the last few.
    virtual std::vector<std::string> take_refusals() { return {}; }
    /// How often the kernel's events came; empty if they are not traced.
    virtual std::vector<trace::EventCount> events() const { return {}; }
};

/// A file of `rdmascope run --trace FILE`.
base::Result<std::unique_ptr<TraceInput>> open_trace_file(const std::string& path);
struct LiveTraces {
    bool programs = true;
    /// Programs that begin later count, too, of any user: open_trace_folder() has their rings.
    bool make_folder = false;
    /// Patterns of trace::Tracefs::events; an empty list means all of RDMA.
    std::optional<std::vector<std::string>> kernel_events = {};
};
/// What is traced now: the rings of programs, and the kernel's events that `which` names. Null if no program was traced
/// since the system started. Fails if the folder or the events cannot be opened.
base::Result<std::unique_ptr<TraceInput>> open_live_trace(const LiveTraces& which);

}  // namespace observe
