#include "trace/ring/ring_reader.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/saturating.h"

namespace trace::inline ring {

namespace {

/// Records that a lane may count ahead of the clock: clocks are set, and a reader may have to wait.
constexpr std::uint64_t most_allowed = std::uint64_t{1} << 26;
/// The most records that count as lost before the reader came: only the process states that number, and it cannot be
/// checked.
constexpr std::uint64_t most_before = std::uint64_t{1} << 20;
constexpr std::uint64_t chunk = 4096;  ///< records taken from a lane at once

template <std::size_t size>
std::string text_of(const std::array<char, size>& text, std::size_t longest) {
    return harmless({text.data(), text.size()}, longest);
}

base::Result<void> check_header(const layout::Header& header, std::uint64_t octets, const std::string& path) {
    const auto wrong = [&path](std::string reason) { return base::Failure{base::Error{std::move(reason), path}}; };
    if (header.magic != layout::magic) return wrong("is no ring of a traced process");
    if (header.version != layout::version)
        return wrong(
            fmt::format("is a ring of version {}, and this rdmascope reads version {}: trace with the same release",
                        header.version, layout::version));
    if (header.record_octets != sizeof(Record))
        return wrong(fmt::format("has records of {} bytes", header.record_octets));
    if (header.lanes == 0 || header.lanes > layout::most_lanes) return wrong(fmt::format("has {} lanes", header.lanes));
    if (header.capacity < layout::least_capacity || header.capacity > layout::most_capacity ||
        !std::has_single_bit(header.capacity))
        return wrong(fmt::format("has lanes of {} records", header.capacity));
    if (octets < layout::file_octets(header.lanes, header.capacity)) return wrong("is shorter than its header says");
    return {};
}

bool is_record(const Record& record) { return record.kind != RecordKind::none && record.kind <= last_record_kind; }

}  // namespace

base::Result<RingReader, RingRefusal> RingReader::open(const std::string& path) {
    const auto fail = [&path](std::string reason, bool passing = false) {
        return base::Failure{RingRefusal{{std::move(reason), path}, passing}};
    };
    auto file =
        std::make_shared<base::Descriptor>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!*file) {
        const bool passing = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EINTR;
        const char* const whose =
            errno == EACCES ? "; it is its user's and root's to read, or who has CAP_DAC_READ_SEARCH" : "";
        return fail(fmt::format("cannot be opened: {}{}", strerrordesc_np(errno), whose), passing);
    }
    struct stat status {};
    if (fstat(file->number(), &status) != 0 || !S_ISREG(status.st_mode)) return fail("is no regular file");
    layout::Header header;
    if (pread(file->number(), &header, sizeof header, 0) != sizeof header)
        return fail("is shorter than a ring's header");
    if (const auto checked = check_header(header, static_cast<std::uint64_t>(status.st_size), path); !checked)
        return base::Failure{RingRefusal{checked.error()}};
    return RingReader(path, std::move(file), header, status.st_uid);
}

RingReader::RingReader(std::string path, std::shared_ptr<base::Descriptor> file, const layout::Header& header,
                       std::uint32_t owner)
    : path_(std::move(path)), file_(std::move(file)), header_(header), lanes_(header.lanes) {
    looked_.resize(sizeof(layout::Header) + lanes_.size() * sizeof(layout::LaneHeader));
    identify(owner);
}

/// What the process says of itself is used where there is no better source; the owner is known from the file system.
void RingReader::identify(std::uint32_t owner) {
    const auto found = find_process({header_.pid, header_.pid_namespace, header_.start_ticks, owner});
    process_.pid = found.value_or(0);
    // It may have ended already. Then its own claim counts, unless another process has that number by now.
    const bool could_be_seen = sees_processes_of(header_.pid_namespace);
    if (!found && could_be_seen && !is_running(header_.pid, 0)) process_.pid = header_.pid;
    process_.user = owner;
    process_.started_ns = header_.started_ns;
    process_.command = text_of(header_.command, Process::longest_command);
    if (found) process_.container = container_of(control_group_of(*found));
    if (process_.container.empty())
        process_.container = container_of(text_of(header_.control_group, header_.control_group.size()));
    name_devices(header_);
}

void RingReader::name_devices(const layout::Header& header) {
    const std::size_t count = std::min<std::size_t>(header.devices, layout::most_devices);
    for (std::size_t i = process_.devices.size(); i < count; ++i)
        process_.devices.push_back(text_of(header.device_names[i], Process::longest_name));
}

bool RingReader::read(std::uint64_t offset, void* to, std::size_t octets) const {
    return pread(file_->number(), to, octets, static_cast<off_t>(offset)) == static_cast<ssize_t>(octets);
}

/// Whether that number of records can have come. The counters are the process's own, and the sums over all rings must
/// not depend on what one process claims.
bool RingReader::takes_from(std::uint64_t& allowed, std::uint64_t most, std::uint64_t more) const {
    constexpr std::uint64_t least_ns = 4;  // no thread makes a record in less
    allowed = std::min(most, base::saturating::add(allowed, since_ns_ / least_ns));
    if (more > allowed) return false;
    allowed -= more;
    return true;
}

void RingReader::give_up(const char* reason) {
    damage_ = base::Error{reason, path_};
    report_lost(lanes_.front(), 1);  // at least: no process can say how many
    gave_up_ = true;
    ended_ = true;
}

std::int64_t RingReader::look(std::int64_t now_ns) {
    // A call that takes longer does not hold up the others: its thread may be stopped.
    constexpr std::int64_t patience_ns = 100'000'000;
    // Between a thread's clock and its `busy_since_ns` is a moment.
    constexpr std::int64_t moment_ns = 50'000;
    const bool is_first = now_ns_ == 0;
    since_ns_ = is_first || now_ns <= now_ns_ ? 0 : static_cast<std::uint64_t>(now_ns - now_ns_);
    now_ns_ = now_ns;
    if (gave_up_) return now_ns;
    if (!read(0, looked_.data(), looked_.size())) {
        ended_ = true;
        return now_ns;
    }
    layout::Header header;
    std::memcpy(&header, looked_.data(), sizeof header);
    name_devices(header);
    ended_ = header.ended != 0;
    if (header.unplaced != unplaced_) note_unplaced(header.unplaced, is_first);
    std::int64_t complete_ns = now_ns - moment_ns;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        layout::LaneHeader lane;
        std::memcpy(&lane, looked_.data() + sizeof header + i * sizeof lane, sizeof lane);
        note_lane(lanes_[i], lane, is_first);
        if (lane.busy_since_ns > now_ns - patience_ns) complete_ns = std::min(complete_ns, lane.busy_since_ns - 1);
    }
    has_head_ = false;
    return complete_ns;
}

/// Of any number of threads.
void RingReader::note_unplaced(std::uint64_t count, bool is_first) {
    const std::uint64_t more = base::saturating::subtract(count, unplaced_);
    const bool is_possible = is_first || takes_from(unplaced_allowed_, most_allowed * lanes_.size(), more);
    if (count < unplaced_ || !is_possible)
        return give_up("counts more lost records than its process can have made: it is not read any further");
    unplaced_ = count;
    report_lost(lanes_.front(), std::min(more, most_before));
}

void RingReader::note_lane(Lane& lane, const layout::LaneHeader& header, bool is_first) {
    if (gave_up_) return;
    lane.owner = header.owner;
    if (header.written < lane.next) return give_up("counts its records back: it is not read any further");
    const std::uint64_t most = most_allowed + 2 * std::uint64_t{header_.capacity};
    if (is_first) lane.allowed = most;
    if (!is_first && !takes_from(lane.allowed, most, header.written - lane.written))
        return give_up("counts more records than its process can have made: it is not read any further");
    lane.written = header.written;
    // Records that are about to be overwritten are given up as well; otherwise every look would lose some.
    const std::uint64_t kept = header_.capacity - header_.capacity / 8;
    if (lane.written - lane.next >= header_.capacity) {
        const std::uint64_t lost = lane.written - kept - lane.next;
        report_lost(lane, is_first ? std::min(lost, most_before) : lost);
        lane.next = lane.written - kept;
    }
}

void RingReader::report_lost(Lane& lane, std::uint64_t count) {
    lane.lost = base::saturating::add(lane.lost, count);
    lost_ = base::saturating::add(lost_, count);
}

/// More of a lane's records, in a copy; false if absent.
bool RingReader::fill(std::size_t index) {
    Lane& lane = lanes_[index];
    const std::uint64_t from = lane.next & (header_.capacity - 1);
    const std::uint64_t count = std::min({lane.written - lane.next, chunk, header_.capacity - from});
    lane.records.clear();
    lane.at = 0;
    lane.seen_ns = now_ns_;
    if (count > 0) {
        const std::uint64_t base = layout::records_at(header_.lanes) + index * layout::lane_octets(header_.capacity);
        lane.records.resize(count);
        std::uint64_t written = 0;
        const bool all = read(base + from * sizeof(Record), lane.records.data(), count * sizeof(Record));
        std::atomic_thread_fence(std::memory_order_acquire);
        const std::uint64_t written_at =
            layout::lane_headers_at + index * sizeof(layout::LaneHeader) + offsetof(layout::LaneHeader, written);
        if (!all || !read(written_at, &written, sizeof written)) {
            ended_ = true;
            lane.records.clear();
            lane.written = lane.next;
            return false;
        }
        // The record that may be being written now is `written`: it takes the place of the one a capacity before it.
        const std::uint64_t oldest = written >= header_.capacity ? written - header_.capacity + 1 : 0;
        const std::uint64_t gone = oldest > lane.next ? std::min(oldest - lane.next, count) : 0;
        lane.records.erase(lane.records.begin(), lane.records.begin() + static_cast<std::ptrdiff_t>(gone));
        lane.next += count;
        if (gone > 0) report_lost(lane, gone);
        drop_unreadable(lane);
    }
    if (lane.lost > 0) {
        Record lost;
        lost.kind = RecordKind::lost;
        lost.count = std::exchange(lane.lost, 0);
        lost.thread = lane.owner;
        lost.time_ns = lane.records.empty() ? now_ns_ : lane.records.front().time_ns;
        lane.records.insert(lane.records.begin(), lost);
    }
    for (Record& record : lane.records) record.process = process_.pid;
    return !lane.records.empty();
}

void RingReader::drop_unreadable(Lane& lane) {
    const std::size_t unreadable = std::erase_if(
        lane.records, [](const Record& record) { return !is_record(record) || record.kind == RecordKind::lost; });
    if (unreadable == 0) return;
    report_lost(lane, unreadable);
    lane.records.shrink_to_fit();  // a file of holes is large for nothing
}

const Record* RingReader::head() {
    if (has_head_) return &lanes_[head_lane_].records[lanes_[head_lane_].at];
    std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        Lane& lane = lanes_[i];
        const bool has_more = lane.next != lane.written || lane.lost > 0;
        if (lane.at == lane.records.size() && (!has_more || !fill(i))) continue;
        const std::int64_t time_ns = std::min(lane.records[lane.at].time_ns, lane.seen_ns);
        if (has_head_ && time_ns >= earliest) continue;
        earliest = time_ns;
        head_lane_ = i;
        has_head_ = true;
    }
    head_ns_ = earliest;
    return has_head_ ? &lanes_[head_lane_].records[lanes_[head_lane_].at] : nullptr;
}

void RingReader::pop() {
    Lane& lane = lanes_[head_lane_];
    ++lane.at;
    has_head_ = false;
}

bool RingReader::is_alive() const {
    return !ended_ && process_.pid != 0 && is_running(process_.pid, header_.start_ticks);
}

void RingReader::remove() const { unlink(path_.c_str()); }

}  // namespace trace::ring
