#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cli::run {

struct Tracing {
    std::string file = {};  ///< the file for the records; empty: only programs that read the rings get them
    std::string mads = {};  ///< the file for a capture of the management datagrams; empty: no capture
    /// The kernel's events and what the program records, as patterns of trace::Tracefs::events; empty: all
    /// groups of RDMA.
    std::optional<std::vector<std::string>> kernel_events = {};
    bool summary = true;  ///< what each queue pair did and which datagrams passed, on standard error, at the end
};

/// Runs a program with the interposer before its libibverbs and libibumad, and reads its records until it ends. `start`
/// is called in a child process with the environment set, and replaces it by the program; if it returns, its result is
/// the child's exit status. Returns the program's exit status, 128 + n if signal n has ended it, or exit_failed after
/// an error was reported if nothing can be traced.
int run_traced(const Tracing& how, const std::function<int()>& start);

}  // namespace cli::run
