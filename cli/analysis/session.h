#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/analysis/options.h"
#include "metrics/answers/answer.h"
#include "metrics/figures/device_figures.h"
#include "metrics/figures/snapshot.h"
#include "trace/trace_source.h"

namespace cli::analysis {

/// What hosts(5) calls an address; nothing where names are not wanted.
class Names final : public metrics::HostNames {
public:
    explicit Names(bool wanted);
    ~Names() override;
    std::string name(const metrics::Address& address) const override;

private:
    struct Table;
    std::unique_ptr<Table> table_;
};

/// One run over a source: opens it, feeds every frame to the engine, and keeps the figures. What goes wrong is told on
/// standard error as `rdmascope COMMAND: ...`; what was measured before it stays.
class Session {
public:
    /// A stretch of the capture's clock that has ended: [start_ns, start_ns + length_ns), and what happened in it.
    struct Interval {
        std::int64_t start_ns = 0;
        std::uint64_t length_ns = 0;
        metrics::Snapshot difference;
    };
    /// Returns false to end the run.
    using IntervalSink = std::function<bool(const Interval&)>;

    /// `command` is the subcommand's name, for messages.
    Session(const AnalysisOptions& options, std::string command);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// To be called before run(): `sink` gets every interval in which there was RDMA traffic, in order. Intervals begin
    /// at multiples of `length_ns` since 1970.
    void by_interval(std::uint64_t length_ns, IntervalSink sink);

    /// False where nothing could be measured at all; told. Otherwise snapshot() has what there was.
    bool run();
    const metrics::Snapshot& snapshot() const;
    const Names& names() const;
    /// Whether it is known how many CRCs were bad. A daemon's answer is there once its figures are.
    bool crc_verified() const;
    /// True where something went wrong, be it after many good frames.
    bool failed() const;
    /// Tells what is wrong, in front of which the progress bar gives way; run() has then failed.
    void fail(const std::string& message);

    /// One line on standard error: packets, what was lost, what was no RDMA; and where there was no RDMA, what to look
    /// at.
    void report_summary() const;
    /// What report_summary() tells.
    std::string summary() const;
    /// How often the kernel's events came, where they were asked for.
    std::vector<trace::EventCount> kernel_events() const;
    /// What this machine's devices counted meanwhile, or the daemon's, or as --counters has it; else empty.
    const metrics::DeviceFigures& devices() const;
    const AnalysisOptions& options() const;
    const std::string& command() const;
    /// Whether the packets are without TCP connections that do not speak MPA.
    bool leaves_out_tcp() const;
    /// The link types of the source that cannot be looked into, in words.
    std::string unknown_links() const;
    /// Frames of which less was captured than there was on the wire, and the most that was captured of one.
    struct CutFrames {
        std::uint64_t count = 0;
        std::size_t longest_bytes = 0;
    };
    CutFrames cut_frames() const;
    /// The exit status where run() returned false: a mistake of the command line, or work that failed.
    int status() const;
    /// Ends the program as others end whose reader has gone; for after a failed write with EPIPE.
    void end_by_broken_pipe() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cli::analysis
