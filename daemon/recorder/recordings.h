#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "capture/recorder/flight_recorder.h"
#include "capture/source.h"
#include "daemon/recorder/triggers.h"

namespace service::inline recorder {

struct RecordingsOptions {
    std::string directory = {};  ///< made with those above it, where they are missing
    std::uint64_t after_ns = 5'000'000'000;
    std::uint64_t max_files = 16;  ///< at least 1
    std::uint64_t max_file_octets = std::uint64_t{256} << 20;
    std::uint64_t pause_ns = 60'000'000'000;
};

struct RecordingsCounters {
    std::uint64_t begun = 0;
    std::uint64_t finished = 0;
    std::uint64_t failed = 0;      ///< disk full, directory gone: told in messages(), tried again at another incident
    std::uint64_t suppressed = 0;  ///< within the pause of their trigger, or while another one was being written
    std::uint64_t removed = 0;     ///< old files that gave way
    std::uint64_t missed_frames = 0;  ///< that gave way in memory before they were written
    std::string last_path = {};
};

/// For the log: what was finished, or went wrong.
struct RecordingsMessage {
    std::string text;
    bool wrong = false;  ///< a recording is missing, or will be
};

/// Incidents as pcapng files, `rdmascope-20261121T101530.123Z-TRIGGER.pcapng`: what the flight recorder held, then what
/// passes for `after_ns`; the reason in the section's comment, and on each frame that shows it. Written under a hidden
/// name, so that a file with its name is whole. Called from the capture thread, and never long: past and present are
/// both read from the flight recorder, a piece at each progress(), so that no frame is written twice, and none is
/// missing that memory held long enough; those that are, are counted. What waits for the disk (fsync) is done by a
/// thread that lives for as long.
///
/// At most half a file is of the past. A file that is as large as it may be ends before its time.
class Recordings {
public:
    /// Removes what a process that died left unfinished, and files beyond max_files. Only files that are named as above
    /// are ever removed, those with a time that is yet to come first, then the oldest.
    explicit Recordings(const RecordingsOptions& options);
    ~Recordings();  ///< without finish(), what is being written is given up

    /// Fails with why nothing is begun ("paused for another 12 s"). Interfaces that are `gone` are in the file only if
    /// a frame of them is.
    base::Result<void> begin(const Incident& incident, const capture::FlightRecorder& past,
                             const std::vector<capture::InterfaceInfo>& interfaces, std::int64_t now_ns,
                             const std::vector<bool>& gone = {});
    /// Every frame that passes, after it was kept by the flight recorder. Cheap: it is written later.
    void frame(const wire::Frame& frame, const std::vector<capture::InterfaceInfo>& interfaces);
    /// After each batch of frames, and at least ten times a second: writes a piece, and ends a file that is due by the
    /// frames' clock, or by `now_ns` where none pass. `past` is the one that the recording was begun with.
    void progress(const capture::FlightRecorder& past, std::int64_t now_ns);
    /// Writes all that is held and waits for the disk, for an orderly stop or before `past` is replaced. Fails if a
    /// recording was lost by it: messages() has why.
    base::Result<void> finish(const capture::FlightRecorder& past);
    void set_options(const RecordingsOptions& options);  ///< of the next recording
    bool recording() const;                              ///< until the file has its name
    const RecordingsCounters& counters() const;
    /// What came about since the last call.
    std::vector<RecordingsMessage> messages();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace service::recorder
