#pragma once
#include <memory>
#include <string>

#include "base/error.h"
#include "base/timestamp.h"
#include "cli/dump/options.h"
#include "cli/text_output.h"
#include "trace/trace_source.h"

namespace cli::dump {

/// The kernel's trace events of RDMA as lines:
///
///     12:00:01.123456 kernel rdma_cma:cm_send_req pid 10944: cm_id=15 tos=0 qp_num=18 srcaddr=192.0.2.2:58306 ...
///
/// time, event and process, then the event's fields as its `format` names them.
class KernelLines {
public:
    /// Begins at once. An error says what is missing. `output` must outlive this object.
    static base::Result<std::unique_ptr<KernelLines>> open(const DumpOptions& options, TextOutput& output);

    /// Prints the events that came since the last call and are a millisecond old, in order. Does not wait.
    void print();
    /// How often each event came, and how many were lost.
    std::string text() const;

private:
    KernelLines(const DumpOptions& options, TextOutput& output);
    void line(const trace::EventSample& sample, std::string_view name, std::string_view text);

    TextOutput& output_;
    base::Timestamps times_;
    std::unique_ptr<trace::TraceSource> source_ = {};
};

}  // namespace cli::dump
