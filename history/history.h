#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "metrics/figures/snapshot.h"

/// What happened in the past, interval by interval: a directory of append-only segment files.
namespace history {

/// Where a daemon keeps its history by default, and where readers look for it.
inline constexpr const char* default_history = "/var/lib/rdmascope/history";

struct HistoryOptions {
    std::string directory;
    std::uint64_t max_octets = std::uint64_t{1}
                               << 30;  ///< of all segments; the oldest is removed first, at least one stays
    /// The age of a segment's newest interval. Ages come from the times in the files: see Ageing.
    std::uint64_t max_age_ns = std::uint64_t{30} * 86400 * 1'000'000'000;
    /// A new segment begins above this size, above a quarter of max_octets, when a segment holds a sixteenth of
    /// max_age_ns, or when the clock made a step of that size.
    std::uint64_t segment_octets = std::uint64_t{16} << 20;
    bool sync_each = true;  ///< fdatasync() after every append: a power cut loses only what was not appended yet
    /// Asked repeatedly while segments are read at the start; false ends the start with a failure. Empty: true.
    std::function<bool()> go_on = {};
};

/// The content of a stretch of time: [start_ns, start_ns + length_ns) of the wall clock, and the difference of the
/// engine's states at its ends.
struct HistoryInterval {
    std::int64_t start_ns = 0;
    std::uint64_t length_ns = 0;
    std::uint64_t frames_end =
        0;  ///< number of the last frame of the interval: flows' ids and event summaries hold such numbers
    metrics::Snapshot difference;
    bool crc_verified = false;  ///< the number of bad CRCs is known
};

/// The sum of the intervals in a stretch of time.
struct HistorySum {
    std::uint64_t intervals = 0;
    bool crc_verified = true;  ///< in all of them
    metrics::Snapshot whole;
};

struct HistoryCounters {
    std::uint64_t intervals = 0;  ///< written by this writer
    std::uint64_t octets = 0;     ///< on disk, all segments
    std::uint64_t segments = 0;
    std::uint64_t removed_segments = 0;  ///< to keep within the bounds
    std::uint64_t lost_intervals = 0;    ///< could not be written (disk full, ...)
    std::uint64_t repaired_octets = 0;   ///< cut off the last segment when it was opened
};

/// One writer for each directory at a time (flock on `lock`, which holds the process's number). Intervals whose
/// append() has returned survive the death of the process, and with `sync_each` a power cut.
class HistoryWriter {
public:
    static base::Result<std::unique_ptr<HistoryWriter>> open(const HistoryOptions& options);
    virtual ~HistoryWriter() = default;

    /// An interval that cannot be written is counted; the next interval may succeed. A half-written record is removed
    /// again.
    virtual base::Result<void> append(const HistoryInterval& interval) = 0;
    /// New bounds take effect at the next append.
    virtual void set_bounds(std::uint64_t max_octets, std::uint64_t max_age_ns) = 0;
    virtual const HistoryCounters& counters() const = 0;
    /// The greatest frame number in the store when it was opened: a restarted daemon continues from there, so that
    /// flows' ids stay unique within the store.
    virtual std::uint64_t frames_end() const = 0;
};

/// Called before each interval, with the number of intervals that were read and the number of all intervals to read.
/// False ends the reading early.
using ReadingWatch = std::function<bool(std::uint64_t done, std::uint64_t all)>;

/// Reads while a writer goes on. A damaged record is skipped and counted; the records after it are read.
class HistoryReader {
public:
    /// Every method asks `go_on` repeatedly; if the answer is false, it ends early with what was read so far.
    static base::Result<std::unique_ptr<HistoryReader>> open(const std::string& directory,
                                                             std::function<bool()> go_on = {});
    virtual ~HistoryReader() = default;

    struct Extent {
        std::int64_t first_ns = 0;  ///< start of the oldest interval
        std::int64_t last_ns = 0;   ///< end of the newest
        std::uint64_t intervals = 0;
    };
    virtual std::optional<Extent> extent() const = 0;
    /// Intervals that overlap [from_ns, to_ns), by their start, whatever the clock did meanwhile. The sink returns
    /// false to end; then the result is false.
    virtual base::Result<bool> read(std::int64_t from_ns, std::int64_t to_ns,
                                    const std::function<bool(HistoryInterval&&)>& sink,
                                    const ReadingWatch& watch = {}) = 0;
    /// All that was recorded in between, merged, by one thread for each processor. If there are more than `max_flows`
    /// flows, the idlest are forgotten. Every thread calls `watch`.
    virtual base::Result<HistorySum> merged(std::int64_t from_ns, std::int64_t to_ns, std::size_t max_flows = 1'000'000,
                                            const ReadingWatch& watch = {}) = 0;
    /// The damaged records that the last extent() or read() found.
    virtual std::uint64_t damaged_records() const = 0;
};

}  // namespace history
