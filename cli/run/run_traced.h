#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cli::run {

struct Tracing {
    std::string file = {};  ///< the records go there; empty: only to programs that read the rings
    /// The kernel's events and what the program records, as patterns of trace::Tracefs::events; empty: all
    /// groups of RDMA.
    std::optional<std::vector<std::string>> kernel_events = {};
    bool summary = true;  ///< what each queue pair did, on standard error, at the end
};

/// Runs a program with the interposer before its libibverbs, and reads what it records until it ends. `start` is called
/// in a child process with the environment set, and replaces it by the program; what it returns where it cannot is the
/// child's exit status. Returns the program's exit status, 128 + n where signal n has ended it, or exit_failed, having
/// said why, where nothing can be traced.
int run_traced(const Tracing& how, const std::function<int()>& start);

}  // namespace cli::run
