#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "cli/analysis/file_input.h"
#include "cli/io/options.h"
#include "cli/live.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "cli/signals.h"
#include "dissect/dissector.h"

namespace cli::io {

/// The frames that a run gave to its sink.
struct Extent {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;                    ///< on the wire, also of frames that are cut
    std::optional<std::int64_t> first_ns = {};  ///< the earliest, ns since 1970
    std::optional<std::int64_t> last_ns = {};
};

/// One run over a source: every frame that the options select goes to a sink. Errors are printed on standard error as
/// `rdmascope COMMAND: ...`.
class CaptureRun {
public:
    struct Caller {
        std::string command = "io";
        bool handles_signals = false;
        /// The frames were read before, and faults of the source were reported.
        bool reads_again = false;
    };
    CaptureRun(const IoOptions& options, dissect::Sink& sink) : CaptureRun(options, sink, Caller()) {}
    CaptureRun(const IoOptions& options, dissect::Sink& sink, Caller caller);

    /// Call this before run(). `observer` is called with the time of each frame before the frame is dissected. If it
    /// returns false, the run ends.
    void on_time(std::function<bool(std::int64_t)> observer) { on_time_ = std::move(observer); }
    /// False if nothing could be read.
    bool run();
    bool failed() const { return failed_; }
    /// The exit status if run() returned false.
    int status() const;
    const Extent& extent() const { return extent_; }
    void fail(const std::string& message);
    void end_by_broken_pipe() const;

private:
    bool open();
    bool open_live(const std::string& expression);
    bool open_files(const std::string& expression);
    void pump();
    bool take(const wire::Frame& frame);
    bool is_late(const wire::Frame& frame);
    void count(const wire::Frame& frame);
    void draw_progress();
    capture::Source& source() const;

    const IoOptions& options_;
    const Caller caller_;
    dissect::Sink& sink_;
    dissect::Dissector dissector_;
    std::unique_ptr<analysis::FileInput> files_ = {};
    std::unique_ptr<LiveSources> live_ = {};
    Selection selection_;
    Progress progress_;
    std::optional<Signals> signals_ = {};
    std::function<bool(std::int64_t)> on_time_ = {};
    std::optional<std::int64_t> stop_ns_ = {};
    Extent extent_ = {};  ///< of frames that the expression passed
    bool failed_ = false;
    bool mistaken_ = false;  ///< the failure is a mistake in the expression
};

}  // namespace cli::io
