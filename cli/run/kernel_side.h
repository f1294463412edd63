#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "trace/process.h"
#include "trace/record.h"
#include "trace/trace_source.h"

namespace cli::run {

/// The kernel's events and what a program records: one stream of both, in the order of time.
class KernelSide {
public:
    /// `events`: patterns of trace::Tracefs::events; empty: all groups of RDMA.
    static base::Result<std::unique_ptr<KernelSide>> open(const std::vector<std::string>& events);

    /// What the program recorded, in order.
    void add(std::span<const trace::Record> records);
    /// Both, up to a time before which no more records can come; valid until the next call. `last`: the program has
    /// ended, and these are all records.
    std::span<const trace::Record> take(bool last);
    /// The processes of the program, and those that the kernel's events named.
    const std::deque<trace::Process>& processes(const std::deque<trace::Process>& of_program);

    std::uint64_t lost() const { return source_->lost(); }
    /// One line with a newline: how often each event came.
    std::string text() const;

private:
    explicit KernelSide(std::unique_ptr<trace::TraceSource> source);
    void introduce(std::uint32_t pid);

    std::unique_ptr<trace::TraceSource> source_;
    std::vector<trace::Record> batch_;
    std::vector<trace::Record> waiting_ = {};
    std::vector<trace::Record> ready_ = {};
    std::deque<trace::Process> named_ = {};  ///< from the kernel's events; if there are thousands, the latest
    std::deque<trace::Process> all_ = {};
};

}  // namespace cli::run
