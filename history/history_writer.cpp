#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <limits>
#include <optional>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/file.h"
#include "base/open_file.h"
#include "base/saturating.h"
#include "history/ageing.h"
#include "history/history.h"
#include "history/segment.h"

namespace history {

namespace {

/// 0, or errno.
int write_all(int file, base::Bytes octets) { return base::write_all(file, octets) ? 0 : errno; }

class Writer final : public HistoryWriter {
public:
    explicit Writer(const HistoryOptions& options) : options_(options) {}

    base::Result<void> begin();
    base::Result<void> append(const HistoryInterval& interval) override;
    void set_bounds(std::uint64_t max_octets, std::uint64_t max_age_ns) override {
        options_.max_octets = max_octets;
        options_.max_age_ns = max_age_ns;
    }
    const HistoryCounters& counters() const override { return counters_; }
    std::uint64_t frames_end() const override { return frames_end_; }

private:
    struct Segment {
        segment::File file = {};
        std::uint64_t octets = 0;
        std::uint64_t covered_ns = 0;  ///< by its intervals
        std::uint64_t records = 0;
        std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();  ///< latest end

        void take_in(const segment::Record& record) {
            covered_ns = base::saturating::add(covered_ns, record.length_ns);
            last_ns = std::max(last_ns, record.end_ns());
            ++records;
        }
    };

    static base::Failure<base::Error> fail(std::string message, std::string path) {
        return base::Failure{base::Error{std::move(message), std::move(path)}};
    }
    base::Result<void> open_folder();
    base::Result<void> lock();
    base::Result<void> replace_removed();
    base::Result<void> survey(const segment::File& file, bool last);
    base::Result<void> go_on_with_last(const segment::Scanner& scanner, std::uint64_t end);
    base::Result<void> begin_segment();
    base::Result<void> store(base::Bytes record, std::int64_t start_ns);
    base::Result<void> write(base::Bytes record);
    bool is_full(std::size_t more, std::int64_t start_ns) const;
    bool is_expired(std::size_t oldest_of) const;
    base::Result<void> keep(const HistoryInterval& interval);
    base::Result<std::size_t> remove_oldest();
    void count() {
        counters_.segments = segments_.size();
        counters_.octets = 0;
        for (const Segment& one : segments_) counters_.octets += one.octets;
    }

    std::string path_of(const segment::File& file) const { return folder_->path_of(file.name); }

    HistoryOptions options_;
    std::optional<base::Folder> folder_;  ///< from begin() on
    base::Descriptor lock_;
    base::Descriptor current_;  ///< of segments_.back(); empty if the next append begins a segment
    std::vector<Segment> segments_;
    std::uint64_t next_number_ = 1;
    Ageing ageing_;
    HistoryCounters counters_;
    std::uint64_t frames_end_ = 0;
};

base::Result<void> Writer::begin() {
    if (options_.directory.empty()) return fail("no directory was named for the history", "");
    if (auto opened = open_folder(); !opened) return opened;
    if (auto locked = lock(); !locked) return locked;
    const auto files = segment::list(*folder_);
    if (!files) return base::Failure{files.error()};
    for (std::size_t i = 0; i < files->size(); ++i)
        if (auto surveyed = survey((*files)[i], i + 1 == files->size()); !surveyed) return surveyed;
    count();
    return {};
}

base::Result<void> Writer::open_folder() {
    auto folder = base::Folder::make(options_.directory, 0750);
    if (!folder) return fail("no history can be kept there: " + folder.error().reason, options_.directory);
    folder_ = std::move(folder).value();
    return {};
}

base::Result<void> Writer::lock() {
    const std::string path = folder_->path_of("lock");
    auto opened = folder_->open_file("lock", O_RDWR | O_CREAT, 0640);
    if (!opened) return fail("cannot be written: " + opened.error().reason, path);
    if (::flock(opened->number(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) return fail(fmt::format("cannot be locked: {}", std::strerror(errno)), path);
        std::array<char, 32> pid{};
        const ssize_t length = ::pread(opened->number(), pid.data(), pid.size() - 1, 0);
        std::string who(pid.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
        who.resize(std::min(who.size(), who.find('\n')));
        return fail(fmt::format("is being written by {}: stop that, or keep this history in another directory",
                                who.empty() ? "another process" : "process " + who),
                    options_.directory);
    }
    const std::string pid = fmt::format("{}\n", ::getpid());
    // Whose it is, for people; the lock itself does not depend on it.
    if (::ftruncate(opened->number(), 0) == 0) write_all(opened->number(), std::as_bytes(std::span(pid)));
    lock_ = std::move(opened).value();
    return {};
}

/// What a segment that is already there holds; the last is mended, and gone on with.
base::Result<void> Writer::survey(const segment::File& file, bool last) {
    segment::Scanner scanner(*folder_, file.name, options_.go_on);
    if (scanner.kind() == segment::Scanner::Kind::unreadable)
        return fail("cannot be read: " + scanner.failure().reason, path_of(file));
    next_number_ = file.number + 1;
    Segment found{.file = file};
    std::uint64_t end = segment::header_size;
    while (const auto record = scanner.next()) {
        if (last && !scanner.payload(*record)) continue;
        end = record->end();
        found.take_in(*record);
        frames_end_ = std::max(frames_end_, record->frames_end);
        ageing_.add(record->start_ns, record->length_ns, options_.max_age_ns);
    }
    if (options_.go_on && !options_.go_on()) return fail("was being read when the daemon was stopped", path_of(file));
    found.octets = scanner.size();
    segments_.push_back(std::move(found));
    if (!last) return {};
    return go_on_with_last(scanner, end);
}

base::Result<void> Writer::go_on_with_last(const segment::Scanner& scanner, std::uint64_t end) {
    using Kind = segment::Scanner::Kind;
    Segment& last = segments_.back();
    if (scanner.kind() == Kind::unfinished) {  // ended while it was being made: there was nothing in it
        if (!folder_->remove(last.file.name))
            return fail(fmt::format("cannot be removed: {}", std::strerror(errno)), path_of(last.file));
        counters_.repaired_octets += scanner.size();
        next_number_ = last.file.number;
        segments_.pop_back();
        return {};
    }
    if (scanner.kind() != Kind::good) return {};  // left as it is; the next append begins another
    auto opened = folder_->open_file(last.file.name, O_WRONLY | O_APPEND);
    if (!opened) return fail("cannot be written: " + opened.error().reason, path_of(last.file));
    if (end < scanner.size()) {
        if (::ftruncate(opened->number(), static_cast<off_t>(end)) != 0)
            return fail(fmt::format("cannot be mended: {}", std::strerror(errno)), path_of(last.file));
        counters_.repaired_octets += scanner.size() - end;
        last.octets = end;
    }
    current_ = std::move(opened).value();
    return {};
}

base::Result<void> Writer::begin_segment() {
    current_ = base::Descriptor();
    const segment::File file{next_number_, segment::name_of(next_number_)};
    auto opened = folder_->open_file(file.name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0640);
    if (!opened) return fail("cannot be made: " + opened.error().reason, path_of(file));
    const auto header = segment::header(base::wall_ns());
    if (const int error = write_all(opened->number(), header)) {
        folder_->remove(file.name);
        return fail(fmt::format("cannot be written: {}", std::strerror(error)), path_of(file));
    }
    if (options_.sync_each) folder_->synchronise();
    ++next_number_;
    segments_.push_back({.file = file, .octets = header.size()});
    current_ = std::move(opened).value();
    return {};
}

/// Also where the clock has stepped, or nothing was recorded for long: what is old does not stay for what is young.
bool Writer::is_full(std::size_t more, std::int64_t start_ns) const {
    const Segment& last = segments_.back();
    if (last.records == 0) return false;
    const auto apart = static_cast<std::uint64_t>(std::max(start_ns, last.last_ns)) -
                       static_cast<std::uint64_t>(std::min(start_ns, last.last_ns));
    const std::uint64_t most_ns = std::max<std::uint64_t>(options_.max_age_ns / 16, 1);
    return last.octets + more > std::min(options_.segment_octets, options_.max_octets / 4) ||
           last.covered_ns >= most_ns || apart > most_ns;
}

/// One write a record: the kernel keeps it together, whenever the process ends.
base::Result<void> Writer::write(base::Bytes record) {
    Segment& last = segments_.back();
    int error = write_all(current_.number(), record);
    if (error == 0 && options_.sync_each && ::fdatasync(current_.number()) != 0) error = errno;
    if (error == 0) {
        last.octets += record.size();
        return {};
    }
    // A record that cannot be removed again stays for readers to skip, and nothing is written after it.
    if (::ftruncate(current_.number(), static_cast<off_t>(last.octets)) != 0) current_ = base::Descriptor();
    return fail(fmt::format("an interval could not be written: {}", std::strerror(error)), path_of(last.file));
}

base::Result<void> Writer::append(const HistoryInterval& interval) {
    // Time passes whether or not anything can be written: on a full disk, old segments are removed for new intervals.
    ageing_.add(interval.start_ns, interval.length_ns, options_.max_age_ns);
    auto kept = keep(interval);
    if (kept) {
        segments_.back().take_in({.start_ns = interval.start_ns, .length_ns = interval.length_ns});
        ++counters_.intervals;
        // The interval is stored; the next append tries again to remove what cannot be removed now.
        static_cast<void>(remove_oldest());
    } else {
        ++counters_.lost_intervals;
    }
    count();
    return kept;
}

/// The folder, or files in it, may be removed while the daemon runs. The next interval then begins a new segment, in a
/// new folder if necessary.
base::Result<void> Writer::replace_removed() {
    if (base::is_removed(folder_->descriptor()))
        if (auto opened = open_folder(); !opened) return opened;
    if (!lock_ || base::is_removed(lock_.number())) {
        lock_ = base::Descriptor();
        if (auto locked = lock(); !locked) return locked;
    }
    if (current_ && base::is_removed(current_.number())) {
        current_ = base::Descriptor();
        std::erase_if(segments_, [&](const Segment& one) { return !folder_->has(one.file.name); });
    }
    return {};
}

base::Result<void> Writer::keep(const HistoryInterval& interval) {
    if (auto replaced = replace_removed(); !replaced) return replaced;
    const auto record = segment::record(interval);
    if (!record) return fail(record.error().message, options_.directory);
    auto stored = store(*record, interval.start_ns);
    if (stored) return stored;
    const auto removed = remove_oldest();
    if (!removed) return base::Failure{removed.error()};
    return *removed == 0 ? stored : store(*record, interval.start_ns);
}

base::Result<void> Writer::store(base::Bytes record, std::int64_t start_ns) {
    if (!current_ || is_full(record.size(), start_ns))
        if (auto begun = begin_segment(); !begun) return begun;
    return write(record);
}

/// Old by the clock, or because enough has been recorded since: a time in the future does not keep it for ever.
bool Writer::is_expired(std::size_t index) const {
    const std::int64_t now = ageing_.now_ns();
    const std::int64_t last = segments_[index].last_ns;
    if (segments_[index].records != 0 && now > last &&
        static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(last) > options_.max_age_ns)
        return true;
    std::uint64_t since = 0;
    for (std::size_t i = index + 1; i < segments_.size(); ++i)
        since = base::saturating::add(since, segments_[i].covered_ns);
    return since > options_.max_age_ns;
}

/// Keeps the segments within their bounds. Returns the number of segments removed; fails where one should be removed
/// and none could be.
base::Result<std::size_t> Writer::remove_oldest() {
    count();
    std::size_t gone = 0;
    std::optional<base::Error> error;
    while (gone + 1 < segments_.size() && (counters_.octets > options_.max_octets || is_expired(gone))) {
        const Segment& oldest = segments_[gone];
        if (!folder_->remove(oldest.file.name) && errno != ENOENT) {
            error = base::Error{fmt::format("cannot be removed: {}", std::strerror(errno)), path_of(oldest.file)};
            break;
        }
        counters_.octets -= oldest.octets;
        ++counters_.removed_segments;
        ++gone;
    }
    segments_.erase(segments_.begin(), segments_.begin() + static_cast<std::ptrdiff_t>(gone));
    if (error && gone == 0) return base::Failure{*error};
    return gone;
}

}  // namespace

base::Result<std::unique_ptr<HistoryWriter>> HistoryWriter::open(const HistoryOptions& options) {
    auto writer = std::make_unique<Writer>(options);
    if (const auto begun = writer->begin(); !begun) return base::Failure{begun.error()};
    return std::unique_ptr<HistoryWriter>(std::move(writer));
}

}  // namespace history
