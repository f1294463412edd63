#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "capture/recorder/flight_recorder.h"
#include "daemon/config/config.h"
#include "daemon/recorder/recordings.h"
#include "daemon/recorder/triggers.h"
#include "daemon/server/command_backend.h"
#include "daemon/sources.h"
#include "metrics/figures/snapshot.h"
#include "observe/trace_input.h"

namespace service {

/// Figures as they were at the end of an interval.
struct Taken {
    std::shared_ptr<const metrics::Snapshot> snapshot;
    std::int64_t wall_ns = 0;      ///< when; the clock may step
    std::uint64_t length_ns = 0;   ///< since the end of the one before, by a clock that does not step
    std::uint64_t frames_end = 0;  ///< number of the last frame in it
};

/// The state of the capture thread, as of its last interval.
struct CaptureThreadStatus {
    std::vector<capture::InterfaceInfo> interfaces;
    std::vector<capture::Statistics> statistics;  ///< by interface
    std::vector<bool> open;                       ///< by interface: whether it is there
    std::vector<bool> hardware_timestamps;        ///< by interface: whether the adapter stamps its frames
    capture::Learning learning;                   ///< of iWARP connections
    std::uint64_t forgotten_flows = 0;
    double busy_share = 0;  ///< of one processor, by the capture thread itself and by those that read rings
    std::uint64_t trace_records = 0;
    std::uint64_t trace_records_lost = 0;
    std::uint64_t recorder_frames = 0;
    RecordingsCounters recordings;
    std::int64_t alive_ns = 0;  ///< steady clock: the last time that its loop ran
};

/// The capture thread and all that only it may touch: the sources, traces, the analyzer, the flight recorder and what
/// it writes. Frames go through it; figures come out, at every interval and on request. Other threads give it orders,
/// which it carries out between two batches.
class CaptureThread {
public:
    struct Hooks {
        std::function<void()> interval;  ///< an interval was put into intervals(); called by the capture thread
        /// A line for the log: what happened to an interface, or to a recording. Called by the capture thread.
        std::function<void(bool warning, const std::string& kind, const std::string& line)> log;
    };
    /// `traces` may be null.
    CaptureThread(const Config& config, std::unique_ptr<Sources> sources, std::unique_ptr<observe::TraceInput> traces,
                  Hooks hooks);
    ~CaptureThread();
    CaptureThread(const CaptureThread&) = delete;
    CaptureThread& operator=(const CaptureThread&) = delete;

    void start();
    /// Ends the thread. A last interval holds the remaining figures, and a recording under way is finished. Fails if
    /// that recording was lost.
    base::Result<void> stop();

    /// Intervals that have not been taken yet, oldest first; at most a few. None is lost: the next one is longer.
    std::vector<Taken> intervals();
    /// At most `age_ns` old. Waits up to `patience_ns` for the thread to take a snapshot, then returns the latest one.
    Taken latest(std::uint64_t age_ns, std::uint64_t patience_ns);
    CaptureThreadStatus status() const;

    void record(std::vector<Incident> incidents);
    /// Triggers the flight recorder at once. Fails with the reason if it cannot record.
    base::Result<void> record_now(const Incident& incident);
    /// Frames for a client. The stream must not outlive this object.
    base::Result<std::unique_ptr<FrameStream>> frames(control::FramesOf which);
    /// Applies the keys that take effect without a restart.
    base::Result<void> reconfigure(const Config& config);

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// How the daemon asks the kernel for frames.
capture::TapOptions tap_options(const CaptureConfig& config);
/// The same, and how long flows and recordings may still refer to an interface that has gone.
capture::TapOptions tap_options(const Config& config);

}  // namespace service
