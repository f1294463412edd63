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
    std::string directory = {};  ///< missing folders are made
    std::uint64_t after_ns = 5'000'000'000;
    std::uint64_t max_files = 16;  ///< at least 1
    std::uint64_t max_file_octets = std::uint64_t{256} << 20;
    std::uint64_t pause_ns = 60'000'000'000;
};

struct RecordingsCounters {
    std::uint64_t begun = 0;
    std::uint64_t finished = 0;
    std::uint64_t failed = 0;         ///< disk full, directory gone: reported in messages(), tried again at the next
                                      ///< incident
    std::uint64_t suppressed = 0;     ///< within the pause of their trigger, or while another one was being written
    std::uint64_t removed = 0;        ///< old files that were removed
    std::uint64_t missed_frames = 0;  ///< that were overwritten in memory before they were written
    std::string last_path = {};
};

/// For the log: what was finished, or went wrong.
struct RecordingsMessage {
    std::string text;
    bool wrong = false;  ///< a recording is missing, or will be missing
};

/// Incidents as pcapng files, `rdmascope-20261121T101530.123Z-TRIGGER.pcapng`: the content of the flight recorder, then
/// the frames of `after_ns`. The reason is in the section's comment, and on each frame that shows it. The file is
/// written under a hidden name, so that a file with its final name is complete. Functions are called from the capture
/// thread and return soon: past and present are both read from the flight recorder, a piece at each progress(). So no
/// frame is written twice, and no frame is missing that memory held long enough; missing frames are counted. A thread
/// of this object waits for the disk (fsync).
///
/// At most half a file is of the past. A file that has reached its greatest size ends early.
class Recordings {
public:
    /// Removes unfinished files of a process that died, and files beyond max_files. Only files with names as above are
    /// ever removed: first those with a time in the future, then the oldest.
    explicit Recordings(const RecordingsOptions& options);
    ~Recordings();  ///< without finish(), an unfinished recording is dropped

    /// Fails with the reason if nothing is begun ("paused for another 12 s"). Interfaces that are `gone` are in the
    /// file only if one of their frames is.
    base::Result<void> begin(const Incident& incident, const capture::FlightRecorder& past,
                             const std::vector<capture::InterfaceInfo>& interfaces, std::int64_t now_ns,
                             const std::vector<bool>& gone = {});
    /// Every frame that passes, after the flight recorder has kept it. Cheap: it is written later.
    void frame(const wire::Frame& frame, const std::vector<capture::InterfaceInfo>& interfaces);
    /// Call this after each batch of frames, and at least ten times a second. Writes a piece, and ends a file that is
    /// due by the frames' clock, or by `now_ns` if no frames pass. `past` is the recorder that the recording was begun
    /// with.
    void progress(const capture::FlightRecorder& past, std::int64_t now_ns);
    /// Writes everything that is held and waits for the disk, for an orderly stop or before `past` is replaced. Fails
    /// if that lost a recording: messages() has the reason.
    base::Result<void> finish(const capture::FlightRecorder& past);
    void set_options(const RecordingsOptions& options);  ///< of the next recording
    bool recording() const;                              ///< until the file has its name
    const RecordingsCounters& counters() const;
    /// What happened since the last call.
    std::vector<RecordingsMessage> messages();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace service::recorder
