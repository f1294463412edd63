#include "cli/dump/kernel_lines.h"

#include <array>
#include <fmt/core.h>
#include <iterator>

#include "trace/kernel/kernel_events.h"

namespace cli::dump {

KernelLines::KernelLines(const DumpOptions& options, TextOutput& output)
    : output_(output),
      times_(static_cast<base::TimeStyle>(options.time_style), options.precision == capture::TimePrecision::nano) {}

base::Result<std::unique_ptr<KernelLines>> KernelLines::open(const DumpOptions& options, TextOutput& output) {
    std::unique_ptr<KernelLines> lines(new KernelLines(options, output));
    trace::KernelTraceOptions how;
    how.events = *options.kernel_events;
    how.perf.listener = [to = lines.get()](const auto& sample, auto name, auto text) { to->line(sample, name, text); };
    auto source = trace::open_kernel_trace(how);
    if (!source) return base::Failure{source.error()};
    lines->source_ = std::move(source).value();
    return lines;
}

void KernelLines::line(const trace::EventSample& sample, std::string_view name, std::string_view text) {
    std::string& out = output_.text();
    times_.append(out, sample.time_ns);
    fmt::format_to(std::back_inserter(out), "kernel {} pid {}: {}\n", name, sample.process, text);
}

void KernelLines::print() {
    // The listener prints the events; the records are not used here.
    std::array<trace::Record, 256> records;
    while (source_->next(records, 0).status == trace::TraceStatus::records && output_.settle()) {
    }
}

std::string KernelLines::text() const {
    std::string text = trace::counts_text(source_->events());
    if (source_->lost() > 0) text += fmt::format("; {} lost: they came faster than they were read", source_->lost());
    return text;
}

}  // namespace cli::dump
