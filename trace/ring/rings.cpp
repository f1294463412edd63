#include "trace/ring/rings.h"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <limits>
#include <memory>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/clock.h"
#include "base/saturating.h"
#include "trace/ring/trace_directory.h"

namespace trace::inline ring {

namespace {

constexpr std::size_t most_rings = 4096;
constexpr std::size_t most_refusals = 16;

/// Whether one more file leaves enough of what this process may open: history, recordings, clients and /proc need some,
/// and a new one, as the copy of `any` is, has the lowest number that is free.
bool has_descriptors_to_spare(int any) {
    constexpr rlim_t reserve = 64;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
    const base::Descriptor probe(fcntl(any, F_DUPFD_CLOEXEC, 0));
    if (!probe) return errno != EMFILE;
    return static_cast<rlim_t>(probe.number()) + std::min(reserve, limit.rlim_cur / 4) < limit.rlim_cur;
}

}  // namespace

Rings::Rings(Options options) : options_(std::move(options)), directory_(options_.directory) {}

Rings::~Rings() = default;

/// The folder may be made only later, by the first process that is traced. A watch that cannot be had costs nothing but
/// a tenth of a second.
void Rings::watch() {
    if (directory_.empty() || options_.directory.empty()) {
        char path[4096];
        directory_ = trace_directory(path, sizeof path, false) == 0 ? path : "";
    }
    if (watched_ || directory_.empty()) return;
    if (!watch_) watch_.reset(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    watched_ = watch_ && inotify_add_watch(watch_.number(), directory_.c_str(), IN_MOVED_TO | IN_ONLYDIR) >= 0;
}

bool Rings::is_new(const std::string& name, bool retries) const {
    return !std::ranges::binary_search(known_, name) || (retries && std::ranges::binary_search(postponed_, name));
}

/// Users can make files at will. One other user gets half of the places that the rest of the users leave: there is
/// always a place for the next one.
bool Rings::has_place(std::span<const RingReader> found, std::uint32_t user) const {
    const auto is_theirs = [user](const RingReader& reader) { return reader.process().user == user; };
    const auto in_use = static_cast<std::size_t>(
        std::ranges::count_if(rings_, is_theirs, [](const Ring& ring) -> const RingReader& { return ring.reader; }) +
        std::ranges::count_if(found, is_theirs));
    const std::size_t of_others = rings_.size() + found.size() - in_use;
    return in_use < (options_.most - of_others + 1) / 2;
}

/// Why a ring cannot be opened next to the open rings and the rings that were just `found`; null: it can.
const char* Rings::obstacle(std::span<const RingReader> found, int folder, const char* name) const {
    if (rings_.size() + found.size() >= options_.most)
        return "is one ring too many; it is read when another one has ended";
    struct stat there {};
    const bool is_others =
        fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && there.st_uid != 0 && there.st_uid != geteuid();
    if (is_others && !has_place(found, there.st_uid))
        return "is one ring too many of its user; it is read when another one has ended";
    if (!has_descriptors_to_spare(folder))
        return "is not read yet: too many files are open (ulimit -n, LimitNOFILE= of the unit)";
    return nullptr;
}

void Rings::find_new(std::int64_t now_ns) {
    constexpr std::int64_t retry_ns = 1'000'000'000;
    const bool retries = now_ns - retried_ns_ >= retry_ns || now_ns < retried_ns_;
    watch();
    if (directory_.empty()) return;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(directory_.c_str()), closedir);
    if (folder == nullptr) return;
    std::vector<std::string> there;
    std::vector<RingReader> found;
    std::vector<std::string> postponed;
    while (const dirent* entry = readdir(folder.get())) {
        const std::string_view name = entry->d_name;
        if (!name.ends_with(layout::suffix)) continue;
        there.emplace_back(name);
        const bool was_postponed = std::ranges::binary_search(postponed_, there.back());
        if (!is_new(there.back(), retries)) {
            if (was_postponed) postponed.push_back(there.back());
            continue;
        }
        const std::string path = directory_ + "/" + there.back();
        const char* why = obstacle(found, dirfd(folder.get()), entry->d_name);
        if (why == nullptr) {
            if (auto opened = RingReader::open(path); opened)
                found.push_back(std::move(opened).value());
            else if (opened.error().passing)
                why = "is not read yet: the machine has no room for another open file";
            else if (access(path.c_str(), F_OK) == 0)
                refuse(opened.error().error);  // else another reader has removed it in the meantime
        }
        if (why == nullptr) continue;
        if (!was_postponed) refuse({why, path});
        postponed.push_back(there.back());
    }
    if (retries) retried_ns_ = now_ns;
    std::ranges::sort(found, {}, [](const RingReader& one) { return one.process().started_ns; });
    for (RingReader& one : found) add(std::move(one));
    std::ranges::sort(there);
    std::ranges::sort(postponed);
    known_ = std::move(there);
    postponed_ = std::move(postponed);
}

void Rings::add(RingReader reader) {
    if (options_.session && reader.session() != *options_.session) return;
    if (processes_.size() == most_rings) {
        processes_.pop_front();
        ++forgotten_;
    }
    processes_.push_back(reader.process());
    rings_.push_back({std::move(reader), forgotten_ + processes_.size() - 1});
}

void Rings::refuse(base::Error error) {
    ++refused_;
    if (refusals_.size() == most_refusals) refusals_.pop_front();
    refusals_.push_back(std::move(error));
}

void Rings::update(Ring& ring) {
    lost_ = base::saturating::add(lost_, ring.reader.lost() - ring.lost);
    ring.lost = ring.reader.lost();
    if (auto damage = ring.reader.take_damage()) refuse(std::move(*damage));
    if (ring.process < forgotten_) return;
    Process& known = processes_[ring.process - forgotten_];
    if (known.devices.size() != ring.reader.process().devices.size()) known.devices = ring.reader.process().devices;
}

void Rings::look(std::int64_t now_ns) {
    constexpr std::int64_t interval_ns = 100'000'000;
    alignas(inotify_event) char events[4096];
    bool is_new = false;
    while (watch_ && read(watch_.number(), events, sizeof events) > 0) is_new = true;
    const bool is_due = now_ns - looked_ns_ >= interval_ns || now_ns < looked_ns_;
    if (is_new || is_due) find_new(now_ns);
    for (Ring& ring : rings_) {
        // Asked before it is looked at: what it wrote last is seen.
        if (is_due && !ring.ended) ring.ended = !ring.reader.is_alive();
        ring.complete_ns = ring.reader.look(now_ns);
        if (ring.ended) ring.complete_ns = std::numeric_limits<std::int64_t>::max();
        update(ring);
    }
    if (is_due) looked_ns_ = now_ns;
}

Rings::Ring* Rings::earliest() {
    Ring* first = nullptr;
    for (Ring& ring : rings_)
        if (ring.reader.head() != nullptr &&
            (first == nullptr || ring.reader.head_time_ns() < first->reader.head_time_ns()))
            first = &ring;
    return first;
}

void Rings::drop_ended() {
    for (auto ring = rings_.begin(); ring != rings_.end();) {
        if (!ring->ended || ring->reader.head() != nullptr) {
            ++ring;
            continue;
        }
        update(*ring);
        if (options_.remove) ring->reader.remove();
        ring = rings_.erase(ring);
        retried_ns_ = 0;
    }
}

std::size_t Rings::next(std::span<Record> out) {
    look(base::wall_ns());
    std::int64_t complete_ns = std::numeric_limits<std::int64_t>::max();
    for (const Ring& ring : rings_) complete_ns = std::min(complete_ns, ring.complete_ns);
    std::size_t count = 0;
    while (count < out.size()) {
        Ring* const ring = earliest();
        if (ring == nullptr || ring->reader.head_time_ns() > complete_ns) break;
        out[count++] = *ring->reader.head();
        ring->reader.pop();
    }
    for (Ring& ring : rings_) update(ring);
    drop_ended();
    return count;
}

}  // namespace trace::ring
