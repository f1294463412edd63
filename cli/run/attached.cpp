#include "cli/run/attached.h"

#include <csignal>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/run/kernel_side.h"
#include "observe/trace_summary.h"
#include "trace/file/trace_file.h"
#include "trace/process.h"
#include "trace/uprobe/attach.h"

namespace cli::run {

namespace {

volatile std::sig_atomic_t stop_signal = 0;

/// Signals end the tracing and not the program: the records so far are written, and the probes are removed.
class StopSignals {
public:
    StopSignals() {
        stop_signal = 0;
        struct sigaction ours {};
        ours.sa_handler = [](int) { stop_signal = 1; };
        for (std::size_t i = 0; i < former_.size(); ++i) sigaction(numbers[i], &ours, &former_[i]);
    }
    ~StopSignals() {
        for (std::size_t i = 0; i < former_.size(); ++i) sigaction(numbers[i], &former_[i], nullptr);
    }
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

private:
    static constexpr int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    std::vector<struct sigaction> former_ = std::vector<struct sigaction>(std::size(numbers));
};

int fails(const std::string& why) {
    print_message("rdmascope run: {}", why);
    return exit_failed;
}

}  // namespace

int run_attached(int process, const Tracing& how) {
    const StopSignals signals;  // before probes exist, because probes must be removed
    trace::ProbeOptions options;
    options.perf.ring_octets = 4 * 1024 * 1024;
    auto source = trace::attach(process, options);
    if (!source) return fails(source.error().text());
    for (const std::string& warning : (*source)->warnings()) print_message("rdmascope run: {}", warning);
    std::optional<trace::TraceFileWriter> file;
    if (!how.file.empty()) {
        auto opened = trace::TraceFileWriter::open(how.file);
        if (!opened) return fails(opened.error().text());
        file = std::move(opened).value();
    }
    std::unique_ptr<KernelSide> kernel;
    if (how.kernel_events) {
        auto opened = KernelSide::open(*how.kernel_events);
        if (!opened) return fails("--kernel-events: " + opened.error().text());
        kernel = std::move(opened).value();
    }
    std::deque<trace::Process> processes{trace::describe_process(static_cast<std::uint32_t>(process))};
    observe::TraceSummary summary;
    std::vector<trace::Record> batch(4096);
    std::int64_t stop_ns = 0;
    const auto deliver = [&](std::span<const trace::Record> some,
                             const std::deque<trace::Process>& whose) -> base::Result<void> {
        summary.add(some, whose);
        if (some.empty() || !file) return {};
        return file->write(some, whose);
    };
    const auto take_kernel = [&](bool last) -> base::Result<void> {
        if (kernel == nullptr) return {};
        return deliver(kernel->take(last), kernel->processes(processes));
    };
    print_message("rdmascope run: attached to process {}", process);
    for (;;) {
        const trace::TraceBatch got = (*source)->next(batch, stop_signal != 0 ? 0 : 100);
        const std::span<const trace::Record> records(batch.data(), got.count);
        if (got.count > 0) {
            if (processes.front().started_ns == 0) processes.front().started_ns = records.front().time_ns;
            if (kernel != nullptr) kernel->add(records);
            if (kernel == nullptr)
                if (const auto delivered = deliver(records, processes); !delivered)
                    return fails(delivered.error().text());
        }
        if (const auto taken = take_kernel(false); !taken) return fails(taken.error().text());
        if (got.status == trace::TraceStatus::end) break;
        // The program continues and may never pause, so records after the signal are not read.
        if (stop_signal != 0 && stop_ns == 0) stop_ns = base::wall_ns();
        if (stop_ns != 0 && (got.count == 0 || records.back().time_ns >= stop_ns)) break;
        if (got.status == trace::TraceStatus::error) return fails((*source)->error().text());
    }
    if (const auto taken = take_kernel(true); !taken) return fails(taken.error().text());
    const std::uint64_t lost = (*source)->lost() + (kernel == nullptr ? 0 : kernel->lost());
    if (file)
        if (const auto closed = file->close(lost); !closed) return fails(closed.error().text());
    if (how.summary) print_message_line(summary.text(lost));
    if (how.summary && kernel != nullptr) print_message_line(kernel->text());
    return exit_done;
}

}  // namespace cli::run
