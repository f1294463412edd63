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

/// What programs did, from a trace file or from the rings of those that run.
class TraceInput {
public:
    virtual ~TraceInput() = default;

    /// Adds to `queue_pairs` all records up to that time, as far as there are any by now, and their processes. Fails
    /// once, where no more will come. Reading of programs that run ends after a while, even if there are more records,
    /// and then leaves as much time to others: programs may record faster than a reader reads.
    virtual base::Result<void> read_until(std::int64_t until_ns, metrics::posts::QueuePairTable& queue_pairs) = 0;
    /// No other work needs the time: the next read_until() need not wait for its turn.
    virtual void at_leisure() {}
    /// Why programs that are there are not read, of those that are new since it was last asked; at most the last few.
    virtual std::vector<std::string> take_refusals() { return {}; }
    /// How often the kernel's events came; none where they are not traced.
    virtual std::vector<trace::EventCount> events() const { return {}; }
};

/// A file of `rdmascope run --trace FILE`.
base::Result<std::unique_ptr<TraceInput>> open_trace_file(const std::string& path);
struct LiveTraces {
    bool programs = true;
    /// Programs that begin later count, too, whatever their user: open_trace_folder() has their rings.
    bool make_folder = false;
    /// Patterns of trace::Tracefs::events; of an empty list, all of RDMA.
    std::optional<std::vector<std::string>> kernel_events = {};
};
/// What is traced now: the rings of programs, and the kernel's events that `which` names. Null where no program was
/// traced since the system has started. Fails where the folder or the events cannot be opened.
base::Result<std::unique_ptr<TraceInput>> open_live_trace(const LiveTraces& which);

}  // namespace observe
