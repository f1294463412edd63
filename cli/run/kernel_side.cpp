#include "cli/run/kernel_side.h"

#include <algorithm>
#include <fmt/core.h>
#include <limits>

#include "base/clock.h"
#include "trace/kernel/kernel_events.h"

namespace cli::run {

namespace {

/// Rings are read every two milliseconds, and the kernel's events are a millisecond old when they come.
constexpr std::int64_t settle_ns = 50'000'000;
constexpr std::size_t most_processes = 4096;

}  // namespace

KernelSide::KernelSide(std::unique_ptr<trace::TraceSource> source) : source_(std::move(source)), batch_(4096) {}

base::Result<std::unique_ptr<KernelSide>> KernelSide::open(const std::vector<std::string>& events) {
    auto source = trace::open_kernel_trace({events, {}, {}});
    if (!source) return base::Failure{source.error()};
    return std::unique_ptr<KernelSide>(new KernelSide(std::move(source).value()));
}

void KernelSide::add(std::span<const trace::Record> records) {
    waiting_.insert(waiting_.end(), records.begin(), records.end());
}

void KernelSide::introduce(std::uint32_t pid) {
    const auto is_it = [pid](const trace::Process& one) { return one.pid == pid; };
    if (pid == 0 || std::any_of(named_.rbegin(), named_.rend(), is_it)) return;
    trace::Process process = trace::describe_process(pid);
    process.started_ns = base::wall_ns();
    if (named_.size() == most_processes) named_.pop_front();
    named_.push_back(std::move(process));
}

std::span<const trace::Record> KernelSide::take(bool last) {
    // What the kernel wrote before the program ended is handed out within this time.
    constexpr int settle_ms = 5;
    for (std::size_t count = batch_.size(); count == batch_.size();) {
        count = source_->next(batch_, last ? settle_ms : 0).count;
        for (const trace::Record& record : std::span(batch_).first(count)) introduce(record.process);
        add(std::span(batch_).first(count));
    }
    const auto earlier = [](const trace::Record& one, const trace::Record& other) {
        return one.time_ns < other.time_ns;
    };
    std::stable_sort(waiting_.begin(), waiting_.end(), earlier);
    const std::int64_t until = last ? std::numeric_limits<std::int64_t>::max() : base::wall_ns() - settle_ns;
    const auto end =
        std::find_if(waiting_.begin(), waiting_.end(), [until](const auto& one) { return one.time_ns > until; });
    ready_.assign(waiting_.begin(), end);
    waiting_.erase(waiting_.begin(), end);
    return ready_;
}

const std::deque<trace::Process>& KernelSide::processes(const std::deque<trace::Process>& of_program) {
    all_ = of_program;
    for (const trace::Process& one : named_)
        if (std::none_of(of_program.begin(), of_program.end(), [&](const auto& known) { return known.pid == one.pid; }))
            all_.push_back(one);
    return all_;
}

std::string KernelSide::text() const {
    return fmt::format("rdmascope run: kernel events: {}\n", trace::counts_text(source_->events()));
}

}  // namespace cli::run
