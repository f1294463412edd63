#include "cli/run/run_traced.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/core.h>
#include <memory>
#include <optional>
#include <sys/random.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/run/kernel_side.h"
#include "cli/run/library.h"
#include "cli/run/mad_capture.h"
#include "observe/trace_summary.h"
#include "trace/file/trace_file.h"
#include "trace/ring/ring_layout.h"
#include "trace/ring/rings.h"
#include "trace/ring/trace_directory.h"

namespace cli::run {

namespace {

constexpr const char* library_name = "librdmascope-trace.so";

int report_failure(const std::string& why) {
    print_message("rdmascope run: {}", why);
    return exit_failed;
}

/// While a program runs in the foreground, signals of the terminal are for the program. Signals to this process are
/// forwarded.
class Signals {
public:
    explicit Signals(pid_t child) {
        target = child;
        take(SIGINT, SIG_IGN);
        take(SIGQUIT, SIG_IGN);
        take(SIGTERM, pass_on);
        take(SIGHUP, pass_on);
    }
    ~Signals() {
        for (const Former& one : former_) sigaction(one.number, &one.action, nullptr);
        target = 0;
    }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

private:
    struct Former {
        int number;
        struct sigaction action;
    };
    void take(int number, void (*handler)(int)) {
        struct sigaction ours {};
        ours.sa_handler = handler;
        ours.sa_flags = SA_RESTART;
        Former was{number, {}};
        sigaction(number, &ours, &was.action);
        former_.push_back(was);
    }
    static void pass_on(int number) { kill(static_cast<pid_t>(target), number); }

    static volatile std::sig_atomic_t target;
    std::vector<Former> former_ = {};
};
volatile std::sig_atomic_t Signals::target = 0;

/// Reads records from the rings while the program runs, and after its end.
class Reading {
public:
    Reading(trace::Rings::Options options, std::optional<trace::TraceFileWriter> file, MadCapture mads,
            std::unique_ptr<KernelSide> kernel)
        : rings_(std::move(options)), file_(std::move(file)), mads_(std::move(mads)), kernel_(std::move(kernel)) {}

    /// Reads until the rings are empty. False if they were empty before.
    bool drain() {
        bool any = false;
        for (std::size_t count = rings_.next(batch_); count > 0; count = rings_.next(batch_)) {
            const std::span<const trace::Record> records(batch_.data(), count);
            if (kernel_ == nullptr)
                deliver(records, rings_.processes());
            else
                kernel_->add(records);
            take_kernel(false);
            any = true;
        }
        if (!any) take_kernel(false);
        return any;
    }
    /// Reads the last records of the program, and its end.
    void finish() {
        rings_.look_again();
        while (drain()) rings_.look_again();
        take_kernel(true);
        if (file_ && !file_failed_) report(file_->close(lost()), file_failed_);
        report(mads_.close(), mads_failed_);
    }
    bool failed() const { return file_failed_ || mads_failed_; }
    bool saw_processes() const { return !rings_.processes().empty(); }
    std::string text() const { return summary_.text(lost()); }
    std::string mad_text() const { return mads_.text(); }
    std::string kernel_text() const { return kernel_ == nullptr ? std::string{} : kernel_->text(); }
    const std::deque<base::Error>& refusals() const { return rings_.refusals(); }

private:
    std::uint64_t lost() const { return rings_.lost() + (kernel_ == nullptr ? 0 : kernel_->lost()); }
    void deliver(std::span<const trace::Record> records, const std::deque<trace::Process>& processes) {
        summary_.add(records, processes);
        report(mads_.add(records, processes), mads_failed_);
        if (file_ && !file_failed_) report(file_->write(records, processes), file_failed_);
    }
    void take_kernel(bool last) {
        if (kernel_ == nullptr) return;
        const std::span<const trace::Record> records = kernel_->take(last);
        if (!records.empty()) deliver(records, kernel_->processes(rings_.processes()));
    }
    /// After a failure the program continues, and its further records are only counted.
    static void report(const base::Result<void>& written, bool& failed) {
        if (written) return;
        failed = true;
        print_message("rdmascope run: {}", written.error().text());
    }
    trace::Rings rings_;
    std::optional<trace::TraceFileWriter> file_;
    MadCapture mads_;
    std::unique_ptr<KernelSide> kernel_;
    observe::TraceSummary summary_ = {};
    std::vector<trace::Record> batch_ = std::vector<trace::Record>(16384);
    bool file_failed_ = false;
    bool mads_failed_ = false;
};

int wait_and_read(pid_t child, Reading& reading) {
    constexpr auto pause = std::chrono::milliseconds(2);
    const Signals signals(child);
    int status = 0;
    for (;;) {
        const pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child) break;
        if (ended < 0 && errno != EINTR) return exit_failed;
        if (!reading.drain()) std::this_thread::sleep_for(pause);
    }
    reading.finish();
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int run_traced(const Tracing& how, const std::function<int()>& start) {
    std::string library;
    if (const std::string reason = find_library(library_name, "that traces", library); !reason.empty())
        return report_failure(reason);
    std::array<char, PATH_MAX> directory{};
    if (const int wrong = trace::trace_directory(directory.data(), directory.size(), true); wrong != 0)
        return report_failure(fmt::format("there is no folder for traces: {}: {}; {} can name one", directory.data(),
                                          std::strerror(wrong), trace::layout::variable::directory));
    if (access(directory.data(), W_OK | X_OK) != 0)
        return report_failure(fmt::format("traces cannot be put into {}: {}", directory.data(), std::strerror(errno)));
    std::uint64_t session = 0;
    if (getrandom(&session, sizeof session, 0) != sizeof session || session == 0) session = 1;
    std::optional<trace::TraceFileWriter> file;
    if (!how.file.empty()) {
        auto opened = trace::TraceFileWriter::open(how.file);
        if (!opened) return report_failure(opened.error().text());
        file = std::move(opened).value();
    }
    auto mads = MadCapture::open(how.mads);
    if (!mads) return report_failure(mads.error().text());
    std::unique_ptr<KernelSide> kernel;
    if (how.kernel_events) {
        auto opened = KernelSide::open(*how.kernel_events);
        if (!opened) return report_failure("--kernel-events: " + opened.error().text());
        kernel = std::move(opened).value();
    }
    Reading reading({directory.data(), session, true}, std::move(file), std::move(mads).value(), std::move(kernel));

    const pid_t child = fork();
    if (child < 0) return report_failure(fmt::format("no process can be started: {}", std::strerror(errno)));
    if (child == 0) {
        preload(library);
        setenv(trace::layout::variable::directory, directory.data(), 1);
        setenv(trace::layout::variable::session, std::to_string(session).c_str(), 1);
        _exit(start());
    }
    const int status = wait_and_read(child, reading);
    for (const base::Error& refusal : reading.refusals()) print_message("rdmascope run: {}", refusal.text());
    if (how.summary && reading.saw_processes()) print_message_line(reading.text());
    if (const std::string text = reading.mad_text(); how.summary && !text.empty()) print_message_line(text);
    if (how.summary && !reading.saw_processes())
        print_message(
            "rdmascope run: nothing was traced: the program made no queue pair by libibverbs, and opened no port by "
            "libibumad");
    if (how.summary && how.kernel_events) print_message_line(reading.kernel_text());
    return reading.failed() && status == exit_done ? exit_failed : status;
}

}  // namespace cli::run
