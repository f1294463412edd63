#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "trace/process.h"
#include "trace/record.h"
#include "trace/ring/ring_layout.h"

namespace trace::inline ring {

/// Why a ring is not read.
struct RingRefusal {
    base::Error error;
    bool passing = false;  ///< a later attempt may succeed: files or memory ran out
};

/// Reads one process's ring, by pread(2). The file belongs to the process, which may change or shorten it at any time;
/// nothing that it does can harm a reader that uses only copies.
class RingReader {
public:
    /// Refuses anything except a ring of this version in a regular file.
    static base::Result<RingReader, RingRefusal> open(const std::string& path);

    /// Reads what was written, at `now_ns`. Returns the time up to which all records are there: earlier records than
    /// the later ones may still come.
    std::int64_t look(std::int64_t now_ns);

    /// The earliest record; null if absent. RecordKind::lost reports lost ones.
    const Record* head();
    /// The sort key of the head: its time, or when it was seen, if that is earlier.
    std::int64_t head_time_ns() const { return head_ns_; }
    void pop();

    const Process& process() const { return process_; }
    std::uint64_t session() const { return header_.session; }
    std::uint64_t lost() const { return lost_; }
    const std::string& path() const { return path_; }

    /// Why the ring is not read any further: its counters have impossible values. Reported once.
    std::optional<base::Error> take_damage() { return std::exchange(damage_, std::nullopt); }

    /// Whether more may come: the process runs, and it is still the program that made the ring.
    bool is_alive() const;
    /// Removes the file if it is still this ring's; no error if it is gone.
    void remove() const;

private:
    struct Lane {
        std::uint64_t next = 0;     ///< of the ring's records, the first not taken
        std::uint64_t written = 0;  ///< at the last look
        std::uint64_t allowed = 0;  ///< the most by which it may advance at once
        std::uint64_t lost = 0;     ///< to be reported before the next record
        std::uint32_t owner = 0;
        std::vector<Record> records = {};
        std::size_t at = 0;
        std::int64_t seen_ns = 0;  ///< when `records` were
    };

    RingReader(std::string path, std::shared_ptr<base::Descriptor> file, const layout::Header& header,
               std::uint32_t owner);
    bool read(std::uint64_t offset, void* to, std::size_t octets) const;
    void identify(std::uint32_t owner);
    void name_devices(const layout::Header& header);
    void note_lane(Lane& lane, const layout::LaneHeader& header, bool is_first);
    bool takes_from(std::uint64_t& allowed, std::uint64_t most, std::uint64_t more) const;
    void give_up(const char* reason);
    void note_unplaced(std::uint64_t count, bool is_first);
    bool fill(std::size_t index);
    void report_lost(Lane& lane, std::uint64_t count);
    void drop_unreadable(Lane& lane);

    std::string path_;
    std::shared_ptr<base::Descriptor> file_;
    layout::Header header_;  ///< as it was first read, and checked
    Process process_ = {};
    std::vector<Lane> lanes_;
    std::vector<std::byte> looked_ = {};
    std::int64_t now_ns_ = 0;
    std::uint64_t since_ns_ = 0;  ///< from the previous look to now_ns_
    std::optional<base::Error> damage_ = {};
    std::uint64_t lost_ = 0;
    std::uint64_t unplaced_ = 0;
    std::uint64_t unplaced_allowed_ = std::uint64_t{1} << 26;
    bool ended_ = false;
    bool gave_up_ = false;
    std::size_t head_lane_ = 0;
    bool has_head_ = false;
    std::int64_t head_ns_ = 0;
};

}  // namespace trace::ring
