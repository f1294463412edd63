#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "capture/source.h"
#include "cli/analysis/options.h"
#include "dissect/subnet/subnet_names.h"
#include "metrics/answers/answer.h"
#include "metrics/figures/device_figures.h"
#include "metrics/figures/flow_bytes.h"
#include "metrics/figures/snapshot.h"
#include "trace/trace_source.h"
#include "wire/frame.h"

namespace cli::analysis {

/// The names of addresses: of hosts in hosts(5), of nodes of a subnet in a file or in the capture. Every name is
/// empty if the user asks for numbers.
class Names final : public metrics::HostNames {
public:
    /// `node_names_path`: the file of names for nodes; empty: no file.
    explicit Names(bool wanted, const std::string& node_names_path = {});
    ~Names() override;
    std::string name(const metrics::Address& address) const override;
    void learn(std::span<const metrics::AddressName> names) override;
    /// Looks LIDs and GIDs up there too, as long as these names live.
    void look_up_in(const dissect::subnet::SubnetNames& names);
    /// Why the file could not be read; empty if it could.
    const base::Errors& errors() const;

private:
    struct Table;
    std::unique_ptr<Table> table_;
};

/// One run over a source: opens it, feeds every frame to the engine, and keeps the figures. Errors are reported on
/// standard error as `rdmascope COMMAND: ...`; what was measured before the error stays.
class Session {
public:
    /// A stretch of the capture's clock that has ended: [start_ns, start_ns + length_ns), and what happened in it.
    struct Interval {
        std::int64_t start_ns = 0;
        std::uint64_t length_ns = 0;
        metrics::Snapshot difference;
        std::size_t flows_known = 0;  ///< flows with and without traffic in it: what an interval costs grows with them
    };
    /// Returns false to end the run.
    using IntervalSink = std::function<bool(const Interval&)>;
    /// Receives the bytes of all flows since the beginning, at the end of a stretch of the capture's clock that began
    /// at `start_ns`. Returns how long the next stretch is, a multiple of the present length; 0: no next stretch.
    using BytesSink = std::function<std::uint64_t(std::span<const metrics::FlowBytes>, std::int64_t start_ns)>;
    /// Receives frames of a source with their bytes, before they are measured.
    using FrameSink = std::function<void(std::span<const wire::Frame>, const capture::Source&)>;

    /// `command` is the subcommand's name, for messages.
    Session(const AnalysisOptions& options, std::string command);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// Call this before run(): `sink` gets every interval with RDMA traffic, in order. Intervals begin at multiples of
    /// `length_ns` since 1970.
    void by_interval(std::uint64_t length_ns, IntervalSink sink);
    /// Call this before run(), in place of by_interval(): the differences have flows and pauses alone, without
    /// commands. This takes little time for flows without traffic. A daemon, a history and a trace give whole
    /// differences.
    void changes_by_interval(std::uint64_t length_ns, IntervalSink sink);
    /// For the sink: intervals after the present one have this length, a multiple of the length before; 0: there are
    /// none.
    void lengthen_intervals(std::uint64_t length_ns);
    /// Call this before run(), in place of by_interval(): `sink` receives the bytes of the flows alone, which takes
    /// little time and memory for very many flows. For frames only, not for a daemon or a history.
    void bytes_over_time(std::uint64_t length_ns, BytesSink sink);
    /// Call this before run(): `sink` gets all frames that are measured, in order.
    void on_frames(FrameSink sink);

    /// False if nothing could be measured; the reason was reported. Otherwise snapshot() has the figures.
    bool run();
    const metrics::Snapshot& snapshot() const;
    const Names& names() const;
    /// Whether the number of bad CRCs is known. A daemon's answer is known once its figures are.
    bool crc_verified() const;
    /// The rules that the daemon compares traffic with; empty: no rules, or another source was read.
    const std::string& policy_file() const;
    /// True if something went wrong, even after many good frames.
    bool failed() const;
    /// Reports an error, after it has removed the progress bar; run() has then failed.
    void fail(const std::string& message);

    /// One line on standard error: packets, losses, and frames without RDMA. If there was no RDMA, the line says what
    /// to check.
    void report_summary() const;
    /// The line of report_summary().
    std::string summary() const;
    /// How often the kernel's events came, if they were requested.
    std::vector<trace::EventCount> kernel_events() const;
    /// What this machine's devices counted meanwhile, or the daemon's, or the file of --counters; else empty.
    const metrics::DeviceFigures& devices() const;
    const AnalysisOptions& options() const;
    const std::string& command() const;
    /// Whether TCP connections that do not speak MPA were left out of the packets.
    bool leaves_out_tcp() const;
    /// The link types of the source that rdmascope cannot read, in words.
    std::string unknown_links() const;
    /// Frames that were cut in the capture, and the largest captured length of such a frame.
    struct CutFrames {
        std::uint64_t count = 0;
        std::size_t longest_bytes = 0;
    };
    CutFrames cut_frames() const;
    /// The exit status if run() returned false: a mistake in the command line, or work that failed.
    int status() const;
    /// Ends the program by SIGPIPE, as a reader that has gone ends other programs. Call it after a write that failed
    /// with EPIPE.
    void end_by_broken_pipe() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cli::analysis
