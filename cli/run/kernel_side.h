#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "capture/error.h"
#include "capture/trace/process.h"
#include "capture/trace/record.h"
#include "capture/trace/trace_source.h"

namespace cli::launch {

/// The kernel's events beside what a program records: one stream of both, in the order of time.
class KernelSide {
public:
    /// `events`: patterns of capture::trace::Tracefs::events; empty: all groups of RDMA.
    static capture::Result<std::unique_ptr<KernelSide>> open(const std::vector<std::string>& events);

    /// What the program recorded, in order.
    void add(std::span<const capture::trace::Record> records);
    /// Both, as far as nothing earlier can come any more; valid until the next call. `last`: the program has ended, and
    /// this is all.
    std::span<const capture::trace::Record> take(bool last);
    /// Those of the program and those that the kernel's events named.
    const std::deque<capture::trace::Process>& processes(const std::deque<capture::trace::Process>& of_program);

    std::uint64_t lost() const { return source_->lost(); }
    /// A line, ended: how often each event came.
    std::string text() const;

private:
    explicit KernelSide(std::unique_ptr<capture::trace::TraceSource> source);
    void introduce(std::uint32_t pid);

    std::unique_ptr<capture::trace::TraceSource> source_;
    std::vector<capture::trace::Record> batch_;
    std::vector<capture::trace::Record> waiting_ = {};
    std::vector<capture::trace::Record> ready_ = {};
    std::deque<capture::trace::Process> named_ = {};  ///< by the kernel's events; of thousands, the latest
    std::deque<capture::trace::Process> all_ = {};
};

}  // namespace cli::launch
