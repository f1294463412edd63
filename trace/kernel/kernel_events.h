#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/perf/format.h"
#include "trace/perf/perf_source.h"
#include "trace/perf/tracefs.h"
#include "trace/trace_source.h"

/// The kernel's trace events about RDMA, and those that mean something for a queue pair.
namespace trace::inline kernel {

/// Groups of events to search for, as patterns of Tracefs::events: the core, the connection managers, management
/// datagrams, NFS over RDMA, and drivers with events.
const std::vector<std::string>& rdma_event_groups();

/// The events that become records, or that complete others': "rdma_cma:cm_qp_create". All others are counted and shown
/// as text: a completion queue's number (rdma_core, rpcrdma) names no queue pair.
std::vector<std::string_view> converted_kernel_events();

struct ConnectionNumbers;

/// Makes the converters of these events. Those of one object share what they learn: which queue pair a connection
/// identifier has, and which process asked for it, of at most 65536 identifiers.
class KernelEvents {
public:
    /// Whether a pid is a thread of the kernel: its work was requested by another process.
    using IsKernelThread = std::function<bool(std::uint32_t)>;
    explicit KernelEvents(IsKernelThread is_kernel = {});
    /// No value if the event makes no record, or if this kernel's event lacks a required field.
    Converter converter(std::string_view event, const Format& format) const;

private:
    std::shared_ptr<ConnectionNumbers> connections_;
};

struct KernelTraceOptions {
    /// Patterns of Tracefs::events, each has to fit an event; empty: rdma_event_groups(), where one has to.
    std::vector<std::string> events = {};
    std::string tracefs = {};  ///< where it is mounted; empty: the usual place
    PerfOptions perf = {};
};

/// The machine's RDMA trace events from now on. An error says what is missing.
base::Result<std::unique_ptr<TraceSource>> open_kernel_trace(const KernelTraceOptions& options);

/// According to /proc; false for a pid that does not exist.
bool is_kernel_thread(std::uint32_t process);

}  // namespace trace::kernel
