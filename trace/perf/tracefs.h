#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace trace::inline perf {

/// The kernel's own file system of trace events. Linux, Documentation/trace/ftrace.rst.
class Tracefs {
public:
    /// The mounted one: /sys/kernel/tracing, or in debugfs; or the folder `root`. An error says how to mount it, or
    /// which right is missing.
    static base::Result<Tracefs> find(const std::string& root = {});

    const std::string& root() const { return root_; }
    /// Names of the events that match one of `patterns`, ordered: "rdma_core:cq_poll". A pattern is GROUP:NAME, where
    /// `*` and `?` are as in the shell; without a colon it is a group.
    std::vector<std::string> events(const std::vector<std::string>& patterns) const;
    /// The file that describes "rdma_core:cq_poll".
    std::string format_path(std::string_view event) const;

    /// Writes a line of uprobe_events (Documentation/trace/uprobetracer.rst). An error has the kernel's own reason if
    /// error_log has one.
    base::Result<void> change_uprobes(const std::string& line) const;

private:
    explicit Tracefs(std::string root) : root_(std::move(root)) {}
    std::string root_;
};

}  // namespace trace::perf
