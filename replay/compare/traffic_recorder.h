#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "capture/files/writer.h"
#include "capture/live/live_source.h"
#include "metrics/figures/snapshot.h"
#include "metrics/measure/engine/analyzer.h"

namespace replay::inline compare {

/// The captured traffic of a re-enactment.
struct Recording {
    metrics::Snapshot snapshot;
    std::uint64_t lost = 0;  ///< frames that the kernel dropped
    std::string source;      ///< in words
    std::string error;       ///< empty: there was no error
};

/// The options with which a comparison measures its capture.
metrics::AnalyzerOptions comparison_analyzer_options();

/// The writer for the frames of a re-enactment, in the format of the name; null if the path is empty.
base::Result<std::unique_ptr<capture::Writer>> open_recording(const std::string& path);

/// Captures an interface's traffic of one TCP port, from its construction until finish(), measures it, and stores it if
/// there is a path. Frames are not held in memory.
class Recorder {
public:
    static base::Result<std::unique_ptr<Recorder>> open(const std::string& interface, std::uint16_t port,
                                                        const std::string& path);
    ~Recorder();
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    /// Call it once.
    Recording finish();

private:
    Recorder(std::unique_ptr<capture::LiveSource> source, std::unique_ptr<capture::Writer> writer, std::string what);
    void run();

    std::unique_ptr<capture::LiveSource> source_;
    std::unique_ptr<capture::Writer> writer_;
    metrics::Analyzer analyzer_;
    Recording recording_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace replay::compare
