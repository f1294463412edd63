#pragma once
#include <memory>
#include <string>
#include <vector>

#include "metrics/verbs/trace_book.h"

namespace cli::analysis {

/// What programs did, from a trace file or from the rings of those that run.
class TraceInput {
public:
    virtual ~TraceInput() = default;

    /// Gives the book all records up to that time, as far as there are any by now, and says who their processes are.
    /// Returns why no more will come, once; else an empty string.
    virtual std::string give(metrics::verbs::TraceBook& book, std::int64_t until_ns) = 0;
};

/// A file of `rdmascope run --trace FILE`. Nothing, and why, where it cannot be read.
std::unique_ptr<TraceInput> open_trace_file(const std::string& path, std::string& error);
/// The rings of programs that are traced now; nothing where no program was traced since the system has started.
std::unique_ptr<TraceInput> open_trace_rings();

}  // namespace cli::analysis
