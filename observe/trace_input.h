#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metrics/measure/posts/queue_pair_table.h"
#include "trace/trace_source.h"

namespace observe {

/// What programs did, from a trace file or from the rings of those that run.
class TraceInput {
public:
    virtual ~TraceInput() = default;

    /// Gives the queue_pairs all records up to that time, as far as there are any by now, and says who their processes
    /// are. Returns why no more will come, once; else an empty string. Of what runs it ends after a while, though there
    /// be more, and then leaves as much time to others: programs may record faster than anybody reads.
    virtual std::string give(metrics::posts::QueuePairTable& queue_pairs, std::int64_t until_ns) = 0;
    /// Nobody else wants the time: the next give() need not wait for its turn.
    virtual void at_leisure() {}
    /// Why programs that are there are not read, of those that are new since it was last asked; at most the last few.
    virtual std::vector<std::string> take_refusals() { return {}; }
    /// How often the kernel's events came; none where they are not traced.
    virtual std::vector<trace::EventCount> events() const { return {}; }
};

/// A file of `rdmascope run --trace FILE`. Nothing, and why, where it cannot be read.
std::unique_ptr<TraceInput> open_trace_file(const std::string& path, std::string& error);
struct LiveTraces {
    bool programs = true;
    /// Programs that begin later count, too, whoever's they are: open_trace_folder() has their rings.
    bool make_folder = false;
    /// Patterns of trace::Tracefs::events; of an empty list, all of RDMA.
    std::optional<std::vector<std::string>> kernel_events = {};
};
/// What is traced now: the rings of programs, and the kernel's events that are wanted. Nothing where no program was
/// traced since the system has started, or, with `error`, where the folder or the events cannot be had.
std::unique_ptr<TraceInput> open_live_trace(const LiveTraces& wanted, std::string& error);

}  // namespace observe
