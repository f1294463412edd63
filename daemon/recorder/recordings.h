#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture/flight_recorder.h"
#include "capture/source.h"
#include "daemon/recorder/triggers.h"

namespace service {

struct RecordingsOptions {
    std::string directory;
    std::uint64_t after_ns = 5'000'000'000;
    std::uint64_t max_files = 16;
    std::uint64_t max_file_octets = std::uint64_t{256} << 20;
    std::uint64_t pause_ns = 60'000'000'000;
};

struct RecordingsCounters {
    std::uint64_t begun = 0;
    std::uint64_t finished = 0;
    std::uint64_t failed = 0;      ///< disk full, directory gone: told in the log, tried again at the next incident
    std::uint64_t suppressed = 0;  ///< within the pause of their trigger, or while another one was being written
    std::uint64_t removed = 0;     ///< old files that gave way
    std::string last_path;
};

/// Incidents as pcapng files, `rdmascope-20261121T101530.123Z-TRIGGER.pcapng`: what the flight recorder held, then what
/// passes for `after_ns`; the reason in the section's comment, and on each frame that shows it. Written under a
/// temporary name, so that a file with its name is whole. Called from the capture thread; writing the past is done in
/// pieces between batches, so that capturing goes on.
class Recordings {
public:
    explicit Recordings(const RecordingsOptions& options);
    ~Recordings();

    /// Returns why nothing is begun ("paused for another 12 s"); else empty.
    std::string begin(const Incident& incident, const capture::FlightRecorder& past,
                      const std::vector<capture::InterfaceInfo>& interfaces, std::int64_t now_ns);
    /// Every frame that passes, after it was kept by the flight recorder.
    void frame(const wire::Frame& frame, const std::vector<capture::InterfaceInfo>& interfaces);
    /// Writes some of the past; ends a file that is due by the frames' clock or by `now_ns`.
    void progress(const capture::FlightRecorder& past, std::int64_t now_ns);
    /// Ends what is being written, for an orderly stop.
    void finish();
    void set_options(const RecordingsOptions& options);
    bool recording() const;
    const RecordingsCounters& counters() const;
    /// What went wrong or was finished since the last call: sentences for the log.
    std::vector<std::string> messages();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace service
