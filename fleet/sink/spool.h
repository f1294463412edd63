#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/open_file.h"

namespace fleet::sink {

struct SpoolCounters {
    std::uint64_t files = 0;
    std::uint64_t octets = 0;
    /// Files: the oldest, for lack of room; damaged ones; those that another program removed.
    std::uint64_t dropped = 0;
    std::uint64_t failed = 0;  ///< put() without success
};

/// A folder of files that wait to be sent, oldest first. A file whose put() has returned survives the death of the
/// process and a power cut; one that was being written does not appear. One process at a time (flock on `lock`).
/// Several threads may call it; one of them calls put().
class Spool {
public:
    /// Makes the folder if it does not exist.
    static base::Result<std::unique_ptr<Spool>> open(const std::string& path, std::uint64_t max_octets);

    /// `name` is greater than all before. If the spool would grow beyond its bound, the oldest files are dropped first.
    base::Result<void> put(const std::string& name, std::string_view octets);
    /// The names of the oldest files, at least one if there is any, of at most `most_octets` together.
    std::vector<std::string> oldest(std::size_t most_files, std::uint64_t most_octets) const;
    /// A file that another program removed is dropped.
    base::Result<std::string> read(const std::string& name);
    /// False after the file was removed or dropped, by any thread.
    bool has(const std::string& name) const;
    /// The file was sent.
    void remove(const std::string& name);
    /// The file is damaged.
    void drop(const std::string& name);
    SpoolCounters counters() const;

private:
    struct File {
        std::string name;
        std::uint64_t octets = 0;
    };

    Spool(base::Folder folder, std::uint64_t max_octets, base::Descriptor lock)
        : folder_(std::move(folder)), max_octets_(max_octets), lock_(std::move(lock)) {}
    base::Result<void> look();
    base::Result<void> replace_removed();
    base::Result<base::Descriptor> open_file(const std::string& name);
    base::Result<void> write(const std::string& name, std::string_view octets) const;
    bool forget(const std::string& name);
    void make_room(std::uint64_t octets);

    base::Folder folder_;  ///< changed by the thread of put(), with the mutex
    std::uint64_t max_octets_;
    base::Descriptor lock_;  ///< of the same thread
    mutable std::mutex mutex_ = {};
    std::deque<File> files_ = {};
    SpoolCounters counters_ = {};
};

}  // namespace fleet::sink
