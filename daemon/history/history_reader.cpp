#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include "daemon/history/history.h"
#include "daemon/history/segment.h"
#include "metrics/snapshot_codec.h"
#include "metrics/snapshot_sum.h"

namespace service {

namespace {

class Reader final : public HistoryReader {
public:
    explicit Reader(std::string directory) : directory_(std::move(directory)) {}

    std::optional<Extent> extent() const override;
    HistoryResult<bool> read(std::int64_t from_ns, std::int64_t to_ns,
                             const std::function<bool(HistoryInterval&&)>& sink) override;
    std::uint64_t damaged_records() const override { return damaged_; }

private:
    struct Place {
        segment::Record record;
        std::size_t file = 0;
    };
    /// Every record of every segment that is there now. A segment that is removed meanwhile is no error.
    std::optional<HistoryError> each(std::vector<segment::File>& files,
                                     const std::function<void(std::size_t, const segment::Record&)>& sink) const;

    std::string directory_;
    mutable std::uint64_t damaged_ = 0;
};

std::optional<HistoryError> Reader::each(std::vector<segment::File>& files,
                                         const std::function<void(std::size_t, const segment::Record&)>& sink) const {
    damaged_ = 0;
    auto listed = segment::list(directory_);
    if (!listed) return HistoryError{fmt::format("cannot be read: {}", std::strerror(errno)), directory_};
    files = std::move(*listed);
    for (std::size_t i = 0; i < files.size(); ++i) {
        segment::Scanner scanner(files[i].path);
        using Kind = segment::Scanner::Kind;
        if (scanner.kind() == Kind::unreadable) {
            if (errno == ENOENT) continue;
            return HistoryError{fmt::format("cannot be read: {}", std::strerror(errno)), files[i].path};
        }
        if (scanner.kind() == Kind::later)
            return HistoryError{fmt::format("was written by a later version (format {}; this one reads up to {})",
                                            scanner.file_version(), segment::version),
                                files[i].path};
        while (const auto record = scanner.next()) sink(i, *record);
        // What is at the end of the last may be a record that is not yet whole.
        const bool broken_off = scanner.tail() != 0 && i + 1 != files.size();
        damaged_ += scanner.damaged() + (broken_off ? 1 : 0);
    }
    return std::nullopt;
}

std::optional<HistoryReader::Extent> Reader::extent() const {
    std::optional<Extent> extent;
    std::vector<segment::File> files;
    const auto error = each(files, [&extent](std::size_t, const segment::Record& record) {
        if (!extent) extent = Extent{record.start_ns, record.end_ns(), 0};
        extent->first_ns = std::min(extent->first_ns, record.start_ns);
        extent->last_ns = std::max(extent->last_ns, record.end_ns());
        ++extent->intervals;
    });
    return error ? std::nullopt : extent;
}

HistoryResult<bool> Reader::read(std::int64_t from_ns, std::int64_t to_ns,
                                 const std::function<bool(HistoryInterval&&)>& sink) {
    std::vector<segment::File> files;
    std::vector<Place> places;
    const auto error = each(files, [&](std::size_t file, const segment::Record& record) {
        const bool empty = record.length_ns == 0 && record.start_ns >= from_ns;
        if (record.start_ns < to_ns && (record.end_ns() > from_ns || empty)) places.push_back({record, file});
    });
    if (error) return wire::Failure{*error};
    std::stable_sort(places.begin(), places.end(),
                     [](const Place& a, const Place& b) { return a.record.start_ns < b.record.start_ns; });
    std::unique_ptr<segment::Scanner> open;
    std::size_t opened = files.size();
    for (const Place& place : places) {
        if (opened != place.file) {
            open = std::make_unique<segment::Scanner>(files[place.file].path);
            opened = place.file;
        }
        if (open->kind() == segment::Scanner::Kind::unreadable) continue;  // removed meanwhile
        const std::string& path = files[place.file].path;
        if (place.record.codec > metrics::snapshot_version)
            return wire::Failure{
                HistoryError{fmt::format("holds intervals of a later version ({}; this one reads up to {})",
                                         place.record.codec, metrics::snapshot_version),
                             path}};
        const auto payload = open->payload(place.record);
        auto snapshot = payload ? segment::unpack(*payload, place.record)
                                : wire::Result<metrics::Snapshot, std::string>(wire::Failure{std::string("damaged")});
        if (!snapshot) {
            ++damaged_;
            continue;
        }
        HistoryInterval interval{place.record.start_ns, place.record.length_ns, place.record.frames_end,
                                 std::move(snapshot).value(), (place.record.flags & 1) != 0};
        if (!sink(std::move(interval))) return false;
    }
    return true;
}

}  // namespace

HistoryResult<std::unique_ptr<HistoryReader>> HistoryReader::open(const std::string& directory) {
    std::error_code code;
    const auto status = std::filesystem::status(directory, code);
    if (status.type() == std::filesystem::file_type::not_found)
        return wire::Failure{HistoryError{
            "there is no such directory; `rdmascope daemon --history DIR` keeps a history in one", directory}};
    if (std::filesystem::exists(status) && !std::filesystem::is_directory(status))
        return wire::Failure{HistoryError{"is no directory; a history is one, of *.rdmahist files", directory}};
    const auto files = segment::list(directory);
    if (!files) return wire::Failure{HistoryError{fmt::format("cannot be read: {}", std::strerror(errno)), directory}};
    // A daemon that has just been started has not written yet, but it has locked.
    if (files->empty() && ::access((directory + "/lock").c_str(), F_OK) != 0)
        return wire::Failure{HistoryError{"is no history: there are no *.rdmahist files in it", directory}};
    return std::unique_ptr<HistoryReader>(std::make_unique<Reader>(directory));
}

HistoryResult<metrics::Snapshot> HistoryReader::merged(std::int64_t from_ns, std::int64_t to_ns) {
    metrics::SnapshotSum sum;
    const auto done = read(from_ns, to_ns, [&sum](HistoryInterval&& interval) {
        sum.add(std::move(interval.difference));
        return true;
    });
    if (!done) return wire::Failure{done.error()};
    return sum.take();
}

}  // namespace service
