#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/core.h>
#include <future>
#include <thread>
#include <unistd.h>

#include "history/history.h"
#include "history/segment.h"
#include "metrics/figures/snapshot_codec.h"
#include "metrics/figures/snapshot_sum.h"

namespace history {

namespace {

class FolderReader final : public HistoryReader {
public:
    FolderReader(std::string directory, std::function<bool()> go_on)
        : directory_(std::move(directory)), go_on_(std::move(go_on)) {}

    std::optional<Extent> extent() const override;
    base::Result<bool> read(std::int64_t from_ns, std::int64_t to_ns,
                            const std::function<bool(HistoryInterval&&)>& sink, const ReadingWatch& watch) override;
    std::uint64_t damaged_records() const override { return damaged_; }

    base::Result<HistorySum> merged(std::int64_t from_ns, std::int64_t to_ns, std::size_t max_flows,
                                    const ReadingWatch& watch) override;

private:
    struct Place {
        segment::Record record;
        std::size_t file = 0;
    };
    struct Segments {
        base::Folder folder;
        std::vector<segment::File> files;
    };
    struct Places {
        Segments segments;
        std::vector<Place> in_order;
    };
    /// Calls `sink` with every record of every segment that is there now, and returns the segments. A segment that is
    /// removed meanwhile is no error.
    base::Result<Segments> each(const std::function<void(std::size_t, const segment::Record&)>& sink) const;
    base::Result<Places> places(std::int64_t from_ns, std::int64_t to_ns) const;

    bool goes_on() const { return !go_on_ || go_on_(); }

    std::string directory_;
    std::function<bool()> go_on_;
    mutable std::uint64_t damaged_ = 0;
};

/// Reads what some places hold, one after the other; each thread has its own.
class Fetcher {
public:
    Fetcher(const base::Folder& folder, const std::vector<segment::File>& files)
        : folder_(folder), files_(files), opened_(files.size()) {}

    /// Absent where it is gone or damaged.
    base::Result<std::optional<HistoryInterval>> fetch(const segment::Record& record, std::size_t file) {
        if (opened_ != file) {
            scanner_ = std::make_unique<segment::Scanner>(folder_, files_[file].name);
            opened_ = file;
        }
        const std::optional<HistoryInterval> none;
        if (scanner_->kind() == segment::Scanner::Kind::unreadable) return none;  // removed meanwhile
        if (record.codec > metrics::snapshot_version)
            return base::Failure{
                base::Error{fmt::format("holds intervals of a later version ({}; this one reads up to {})",
                                        record.codec, metrics::snapshot_version),
                            folder_.path_of(files_[file].name)}};
        const auto payload = scanner_->payload(record);
        auto snapshot = payload ? segment::unpack(*payload, record)
                                : base::Result<metrics::Snapshot>(base::Failure{base::Error{"damaged"}});
        if (!snapshot) {
            ++damaged_;
            return none;
        }
        return std::optional(HistoryInterval{record.start_ns, record.length_ns, record.frames_end,
                                             std::move(snapshot).value(), (record.flags & segment::crc_verified) != 0});
    }
    std::uint64_t damaged() const { return damaged_; }

private:
    const base::Folder& folder_;
    const std::vector<segment::File>& files_;
    std::unique_ptr<segment::Scanner> scanner_;
    std::size_t opened_;
    std::uint64_t damaged_ = 0;
};

base::Result<FolderReader::Segments> FolderReader::each(
    const std::function<void(std::size_t, const segment::Record&)>& sink) const {
    damaged_ = 0;
    auto folder = base::Folder::open(directory_);
    if (!folder) return base::failure("cannot be read: " + folder.error().reason, directory_);
    auto listed = segment::list(*folder);
    if (!listed) return base::Failure{listed.error()};
    Segments segments{std::move(folder).value(), std::move(listed).value()};
    const std::vector<segment::File>& files = segments.files;
    for (std::size_t i = 0; i < files.size() && goes_on(); ++i) {
        segment::Scanner scanner(segments.folder, files[i].name, go_on_);
        using Kind = segment::Scanner::Kind;
        if (scanner.kind() == Kind::unreadable) {
            if (scanner.failure().code == ENOENT) continue;
            return base::failure("cannot be read: " + scanner.failure().reason, segments.folder.path_of(files[i].name));
        }
        if (scanner.kind() == Kind::later)
            return base::Failure{
                base::Error{fmt::format("was written by a later version (format {}; this one reads up to {})",
                                        scanner.file_version(), segment::version),
                            segments.folder.path_of(files[i].name)}};
        while (const auto record = scanner.next()) {
            sink(i, *record);
            if (!goes_on()) return segments;
        }
        // What is at the end of the last may be a record that is not yet whole.
        const bool broken_off = scanner.tail() != 0 && i + 1 != files.size();
        damaged_ += scanner.damaged() + (broken_off ? 1 : 0);
    }
    return segments;
}

std::optional<HistoryReader::Extent> FolderReader::extent() const {
    std::optional<Extent> extent;
    const auto segments = each([&extent](std::size_t, const segment::Record& record) {
        if (!extent) extent = Extent{record.start_ns, record.end_ns(), 0};
        extent->first_ns = std::min(extent->first_ns, record.start_ns);
        extent->last_ns = std::max(extent->last_ns, record.end_ns());
        ++extent->intervals;
    });
    return segments ? extent : std::nullopt;
}

base::Result<FolderReader::Places> FolderReader::places(std::int64_t from_ns, std::int64_t to_ns) const {
    std::vector<Place> in_order;
    auto segments = each([&](std::size_t file, const segment::Record& record) {
        const bool empty = record.length_ns == 0 && record.start_ns >= from_ns;
        if (record.start_ns < to_ns && (record.end_ns() > from_ns || empty)) in_order.push_back({record, file});
    });
    if (!segments) return base::Failure{segments.error()};
    Places found{std::move(segments).value(), std::move(in_order)};
    std::stable_sort(found.in_order.begin(), found.in_order.end(),
                     [](const Place& a, const Place& b) { return a.record.start_ns < b.record.start_ns; });
    return found;
}

base::Result<bool> FolderReader::read(std::int64_t from_ns, std::int64_t to_ns,
                                      const std::function<bool(HistoryInterval&&)>& sink, const ReadingWatch& watch) {
    const auto found = places(from_ns, to_ns);
    if (!found) return base::Failure{found.error()};
    Fetcher fetcher(found->segments.folder, found->segments.files);
    const std::uint64_t damaged_before = damaged_;
    std::uint64_t done = 0;
    for (const Place& place : found->in_order) {
        if (watch && !watch(done++, found->in_order.size())) return false;
        auto fetched = fetcher.fetch(place.record, place.file);
        damaged_ = damaged_before + fetcher.damaged();
        if (!fetched) return base::Failure{fetched.error()};
        std::optional<HistoryInterval>& interval = *fetched;
        if (!goes_on() || (interval && !sink(std::move(*interval)))) return false;
    }
    return true;
}

/// Each thread takes a stretch of time; what they have made of it is joined in the order of time.
base::Result<HistorySum> FolderReader::merged(std::int64_t from_ns, std::int64_t to_ns, std::size_t max_flows,
                                              const ReadingWatch& watch) {
    const auto found = places(from_ns, to_ns);
    if (!found) return base::Failure{found.error()};
    constexpr std::size_t least = 64;  // intervals that are worth a thread
    constexpr std::size_t most = 16;
    const std::size_t count = found->in_order.size();
    const std::size_t threads =
        std::clamp<std::size_t>(std::min<std::size_t>(count / least, std::thread::hardware_concurrency()), 1, most);

    struct Share {
        HistorySum sum;
        std::uint64_t damaged = 0;
        std::optional<base::Error> error;
    };
    std::atomic<std::uint64_t> done = 0;  // by all threads
    const auto work = [&](std::size_t first, std::size_t end) {
        Share share;
        Fetcher fetcher(found->segments.folder, found->segments.files);
        metrics::SnapshotSum sum(max_flows);
        for (std::size_t i = first; i < end && goes_on() && (!watch || watch(done++, count)); ++i) {
            auto fetched = fetcher.fetch(found->in_order[i].record, found->in_order[i].file);
            if (!fetched) {
                share.error = fetched.error();
                break;
            }
            std::optional<HistoryInterval>& interval = *fetched;
            if (!interval) continue;
            ++share.sum.intervals;
            share.sum.crc_verified &= interval->crc_verified;
            sum.add(std::move(interval->difference));
        }
        share.sum.whole = sum.take();
        share.damaged = fetcher.damaged();
        return share;
    };
    std::vector<std::future<Share>> others;
    for (std::size_t i = 1; i < threads; ++i)
        others.push_back(std::async(std::launch::async, work, count * i / threads, count * (i + 1) / threads));
    Share all = work(0, count / threads);
    metrics::SnapshotSum sum(max_flows);
    sum.add(std::move(all.sum.whole));
    for (std::future<Share>& other : others) {
        Share share = other.get();
        all.sum.intervals += share.sum.intervals;
        all.sum.crc_verified &= share.sum.crc_verified;
        all.damaged += share.damaged;
        if (!all.error) all.error = share.error;
        sum.add(std::move(share.sum.whole));
    }
    damaged_ += all.damaged;
    if (all.error) return base::Failure{*all.error};
    all.sum.whole = sum.take();
    return std::move(all.sum);
}

}  // namespace

base::Result<std::unique_ptr<HistoryReader>> HistoryReader::open(const std::string& directory,
                                                                 std::function<bool()> go_on) {
    std::error_code code;
    const auto status = std::filesystem::status(directory, code);
    if (status.type() == std::filesystem::file_type::not_found)
        return base::Failure{base::Error{
            "there is no such directory; `rdmascope daemon --history DIR` keeps a history in one", directory}};
    if (std::filesystem::exists(status) && !std::filesystem::is_directory(status))
        return base::Failure{base::Error{"is no directory; a history is one, of *.rdmahist files", directory}};
    const auto folder = base::Folder::open(directory);
    if (!folder) return base::failure("cannot be read: " + folder.error().reason, directory);
    const auto files = segment::list(*folder);
    if (!files) return base::Failure{files.error()};
    // A daemon that has just been started has not written yet, but it has locked.
    if (files->empty() && !folder->has("lock"))
        return base::Failure{base::Error{"is no history: there are no *.rdmahist files in it", directory}};
    return std::unique_ptr<HistoryReader>(std::make_unique<FolderReader>(directory, std::move(go_on)));
}

}  // namespace history
