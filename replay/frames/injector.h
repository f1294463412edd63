#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "metrics/figures/histogram.h"
#include "replay/frames/outgoing.h"
#include "replay/impair/frame_line.h"

namespace replay::inline frames {

/// An output for frames, several at once.
class FrameOutput {
public:
    virtual ~FrameOutput() = default;
    enum class Outcome : std::uint8_t {
        sent,
        too_long,  ///< longer than the interface permits
        lost,      ///< see error(): nothing can be sent any more
    };
    struct Sent {
        std::size_t frames = 0;        ///< the number of sent frames, from the first
        Outcome next = Outcome::sent;  ///< what happened to the next one, if not all were sent
    };
    virtual Sent send(const std::vector<base::Bytes>& frames) = 0;
    virtual const std::string& error() const = 0;
};

/// The clock for pacing; a test has its own.
class InjectClock {
public:
    virtual ~InjectClock() = default;
    virtual std::int64_t now_ns() = 0;
    /// Returns at `until_ns`, or sooner after a stop.
    virtual void wait(std::int64_t until_ns) = 0;
};

struct InjectSettings {
    std::optional<double> speed = 1;  ///< a multiple of the captured speed; no value: no waiting
    ImpairmentSettings impairment = {};
    bool (*stop)() = nullptr;  ///< called before every frame; null: never stops
};

struct InjectReport {
    std::uint64_t read = 0;   ///< frames taken from the capture, every loop counted
    std::uint64_t loops = 0;  ///< completed
    std::uint64_t sent = 0;
    std::uint64_t octets = 0;         ///< of those, without preamble, check sequence and gap
    std::uint64_t too_long = 0;       ///< longer than the interface permits; not sent
    std::uint64_t out_of_order = 0;   ///< stamped before the previous frame; sent right after it
    std::int64_t begun_ns = 0;        ///< the time of the first one
    std::int64_t ended_ns = 0;        ///< and the last
    metrics::Histogram late_ns = {};  ///< how late each was sent; empty without pacing
    std::string error = {};           ///< why it ended early; empty if it did not
    bool stopped = false;

    double seconds() const { return static_cast<double>(ended_ns - begun_ns) / 1e9; }
};

/// Puts a capture's frames on an output when they are due: at their captured distance from the first, divided by the
/// speed. Late frames follow without waiting; nothing is sent early. A loop begins a mean gap after the end of the
/// previous one. With impairments, times are the impaired ones, and decisions depend on the times at which frames are
/// due, so that they do not depend on how busy the machine is (without pacing, a rate and a delay use the clock).
class Injector {
public:
    Injector(FrameOutput& output, InjectClock& clock, Outgoing& outgoing, const InjectSettings& settings);

    /// Sends all frames of `source`, once. False if it ends here: see report().error.
    bool run(capture::Source& source);
    /// Sends what the line still holds.
    bool finish();
    const InjectReport& report() const { return report_; }
    const FrameLineCounters& impaired() const { return line_.counters(); }

private:
    struct Slot {
        std::vector<std::byte> octets;
        std::int64_t due_ns = 0;
    };
    static constexpr std::size_t batch_frames = 64;

    bool take(const wire::Frame& frame, const capture::InterfaceInfo& interface);
    std::int64_t due_of(std::int64_t captured_ns);
    bool let_leave(std::int64_t until_ns);
    bool emit(base::Bytes octets, std::int64_t due_ns);
    bool flush();
    bool stop();

    FrameOutput& output_;
    InjectClock& clock_;
    Outgoing& outgoing_;
    InjectSettings settings_;
    FrameLine line_;
    bool impaired_;
    InjectReport report_;
    std::optional<std::int64_t> start_ns_ = {};  ///< when what was captured first is due
    std::optional<std::int64_t> first_captured_ns_ = {};
    std::int64_t last_captured_ns_ = 0;
    std::uint64_t frames_of_loop_ = 0;
    std::int64_t last_due_ns_ = 0;
    std::vector<Slot> batch_;
    std::size_t batched_ = 0;
    std::vector<base::Bytes> views_;
};

}  // namespace replay::frames
