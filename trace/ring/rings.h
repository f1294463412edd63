#pragma once
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "trace/process.h"
#include "trace/record.h"
#include "trace/ring/ring_reader.h"

namespace trace::inline ring {

/// The rings of all traced processes, as one stream of records in the order of time.
///
/// Rings are found as they appear. The ring of a process that has ended is read to its end and then removed, which
/// needs the right to do so. A reader that is too slow loses the oldest records, which the stream says
/// (RecordKind::lost); the processes are never held up. Memory: at most a quarter of a MiB for each thread that
/// records. A ring that there is no room for now, since there are too many or no file descriptors to spare, is looked
/// at again, once a second and where another one has ended; some descriptors are always left to others.
class Rings {
public:
    struct Options {
        std::string directory = {};                 ///< empty: the default directory of traced processes
        std::optional<std::uint64_t> session = {};  ///< only the rings of this `run`
        bool remove = true;                         ///< the rings of processes that have ended
        std::size_t most = 1024;                    ///< rings at once; those of one user: has_place()
    };
    explicit Rings(Options options);
    ~Rings();
    Rings(const Rings&) = delete;
    Rings& operator=(const Rings&) = delete;

    /// Copies the records that are ready, earliest first, as many as fit; 0 if none is ready. Does not wait: a ring
    /// holds what a busy process does in about 20 ms.
    std::size_t next(std::span<Record> out);
    /// The following next() looks for new rings and ended processes, which it does ten times a second by itself.
    void look_again() { looked_ns_ = retried_ns_ = 0; }

    /// All processes so far, the latest last; the earliest ones that have ended are forgotten in the end.
    const std::deque<Process>& processes() const { return processes_; }
    /// The number of processes, including forgotten ones.
    std::uint64_t processes_met() const { return forgotten_ + processes_.size(); }
    /// Records that were overwritten before they were read, or that their process had no room for.
    std::uint64_t lost() const { return lost_; }
    /// Rings that are being read.
    std::size_t open() const { return rings_.size(); }
    /// Why a file with a ring's name is not read: at most the last few.
    const std::deque<base::Error>& refusals() const { return refusals_; }
    /// The number of refusals, including forgotten ones.
    std::uint64_t refused() const { return refused_; }
    const std::string& directory() const { return directory_; }

private:
    struct Ring {
        RingReader reader;
        std::size_t process;  ///< counted from the first ever
        std::uint64_t lost = 0;
        bool ended = false;
        std::int64_t complete_ns = 0;
    };
    void watch();
    void find_new(std::int64_t now_ns);
    bool is_new(const std::string& name, bool retries) const;
    const char* obstacle(std::span<const RingReader> found, int folder, const char* name) const;
    bool has_place(std::span<const RingReader> found, std::uint32_t user) const;
    void add(RingReader reader);
    void refuse(base::Error error);
    void look(std::int64_t now_ns);
    void drop_ended();
    void update(Ring& ring);
    Ring* earliest();

    Options options_;
    std::string directory_;
    std::list<Ring> rings_ = {};
    std::deque<Process> processes_ = {};
    std::size_t forgotten_ = 0;  ///< processes before the first of `processes_`
    std::deque<base::Error> refusals_ = {};
    std::uint64_t refused_ = 0;
    std::vector<std::string> known_ = {};      ///< names in the directory that were examined
    std::vector<std::string> postponed_ = {};  ///< of these, those that found no room; already reported
    std::int64_t retried_ns_ = 0;
    base::Descriptor watch_ = {};
    bool watched_ = false;
    std::int64_t looked_ns_ = 0;
    std::uint64_t lost_ = 0;
};

}  // namespace trace::ring
