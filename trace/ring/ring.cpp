#include "trace/ring/ring.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"

namespace trace::inline ring {

namespace {

/// Up to `size - 1` bytes of a file of /proc, ended by NUL. Returns how many.
std::size_t read_file(const char* path, char* to, std::size_t size) {
    std::size_t have = 0;
    const base::Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
    while (file && have + 1 < size) {
        const ssize_t got = ::read(file.number(), to + have, size - 1 - have);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        have += static_cast<std::size_t>(got);
    }
    to[have] = '\0';
    return have;
}

/// Field 22 of /proc/self/stat: ticks from the machine's start to the process's. The second field, the program's name,
/// may have blanks and brackets.
std::uint64_t own_start_ticks() {
    char text[2048];
    read_file("/proc/self/stat", text, sizeof text);
    const char* at = std::strrchr(text, ')');
    for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
    return at == nullptr ? 0 : std::strtoull(at + 1, nullptr, 10);
}

void describe_self(layout::Header& header) {
    header.pid = static_cast<std::uint32_t>(getpid());
    header.user = static_cast<std::uint32_t>(geteuid());
    header.start_ticks = own_start_ticks();
    struct stat space {};
    if (stat("/proc/self/ns/pid", &space) == 0) header.pid_namespace = space.st_ino;
    header.started_ns = base::wall_ns();

    const std::size_t length = read_file("/proc/self/cmdline", header.command.data(), header.command.size());
    if (length > 0) std::replace(header.command.data(), header.command.data() + length - 1, '\0', ' ');
    char groups[4096];
    if (read_file("/proc/self/cgroup", groups, sizeof groups) > 0) {
        // One line for each hierarchy; the last is the unified one, where there is one.
        if (char* const end = std::strrchr(groups, '\n'); end != nullptr && end[1] == '\0') *end = '\0';
        const char* const line = std::strrchr(groups, '\n');
        const char* const path = line == nullptr ? groups : line + 1;
        std::memcpy(header.control_group.data(), path, strnlen(path, header.control_group.size()));
    }
}

/// What an exec(2) has left: the program that wrote there is gone, though its process lives.
void end_former(int folder, const char* name) {
    const base::Descriptor file(openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    const std::uint32_t ended = 1;
    if (!file) return;
    [[maybe_unused]] const ssize_t unused =
        pwrite(file.number(), &ended, sizeof ended, offsetof(layout::Header, ended));
}

/// Removes rings that were left unread. Readers, which may need the records, have had a minute to open it.
void remove_abandoned(int folder, const char* name, std::uint64_t pid_namespace) {
    constexpr std::int64_t patience_sec = 60;
    unsigned long long space = 0;
    int pid = 0;
    struct stat file {};
    if (std::sscanf(name, "%llu-%d-", &space, &pid) != 2 || space != pid_namespace || pid <= 0) return;
    if (kill(pid, 0) == 0 || errno != ESRCH) return;
    if (fstatat(folder, name, &file, AT_SYMLINK_NOFOLLOW) != 0 || file.st_uid != geteuid()) return;
    if (time(nullptr) - file.st_mtime > patience_sec) unlinkat(folder, name, 0);
}

/// Sees to the rings that are there already. `beginning`: of the names of this very process's.
void tidy(const char* directory, const char* beginning, std::uint64_t pid_namespace) {
    DIR* const folder = opendir(directory);
    if (folder == nullptr) return;
    while (const dirent* entry = readdir(folder)) {
        if (std::strncmp(entry->d_name, beginning, std::strlen(beginning)) == 0)
            end_former(dirfd(folder), entry->d_name);
        else
            remove_abandoned(dirfd(folder), entry->d_name, pid_namespace);
    }
    closedir(folder);
}

std::uint32_t fitting_capacity(std::uint32_t asked) {
    return std::bit_ceil(std::clamp(asked, layout::least_capacity, layout::most_capacity));
}

}  // namespace

int Ring::open(const char* directory, std::uint32_t capacity, std::uint64_t session) {
    layout::Header header;
    header.magic = layout::magic;
    header.version = layout::version;
    header.record_octets = sizeof(Record);
    header.lanes = lanes;
    header.capacity = fitting_capacity(capacity);
    header.session = session;
    describe_self(header);

    char beginning[96];
    std::snprintf(beginning, sizeof beginning, "%llu-%u-%llu-", static_cast<unsigned long long>(header.pid_namespace),
                  header.pid, static_cast<unsigned long long>(header.start_ticks));
    tidy(directory, beginning, header.pid_namespace);
    char name[sizeof path_];
    const int named = std::snprintf(name, sizeof name, "%s/%s%llx", directory, beginning,
                                    static_cast<unsigned long long>(header.started_ns));
    if (named < 0 || static_cast<std::size_t>(named) + sizeof layout::suffix > sizeof path_) return ENAMETOOLONG;
    std::snprintf(path_, sizeof path_, "%.*s%s", named, name, layout::suffix);

    const std::uint64_t octets = layout::file_octets(lanes, header.capacity);
    // Beyond the limit there is a signal in addition to the error.
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < octets) return EFBIG;
    const base::Descriptor file(::open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
    if (!file) return errno;
    const auto failed = [&name](int code) {
        unlink(name);
        return code;
    };
    if (ftruncate(file.number(), static_cast<off_t>(octets)) != 0) return failed(errno);
    // Memory that cannot be had must fail here, not as a SIGBUS in the program.
    if (const int wrong = posix_fallocate(file.number(), 0, static_cast<off_t>(layout::records_at(lanes))); wrong != 0)
        return failed(wrong);
    struct stat identity {};
    if (fstat(file.number(), &identity) != 0) return failed(errno);
    if (pwrite(file.number(), &header, sizeof header, 0) != sizeof header) return failed(EIO);
    void* const memory = mmap(nullptr, octets, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
    if (memory == MAP_FAILED) return failed(errno);
    if (rename(name, path_) != 0) {
        const int wrong = errno;
        munmap(memory, octets);
        return failed(wrong);
    }
    octets_ = octets;
    capacity_ = header.capacity;
    device_ = identity.st_dev;
    inode_ = identity.st_ino;
    header_ = static_cast<layout::Header*>(memory);
    return 0;
}

Lane* Ring::claim() {
    const auto thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
    auto* const base = reinterpret_cast<std::byte*>(header_);
    auto* const headers = reinterpret_cast<layout::LaneHeader*>(base + layout::lane_headers_at);
    for (std::uint32_t i = 0; i < lanes; ++i) {
        std::uint32_t nobody = 0;
        if (!std::atomic_ref<std::uint32_t>(headers[i].owner)
                 .compare_exchange_strong(nobody, thread, std::memory_order_acquire))
            continue;
        Lane& lane = lanes_[i];
        if (!provide(lane, i)) {
            std::atomic_ref<std::uint32_t>(headers[i].owner).store(0, std::memory_order_release);
            return nullptr;
        }
        lane.thread_ = thread;
        return &lane;
    }
    return nullptr;
}

/// The lane's records in memory that is there: a write to a page for which the file system has no room is a SIGBUS.
bool Ring::provide(Lane& lane, std::uint32_t index) {
    if (lane.has_memory_) return true;
    auto* const base = reinterpret_cast<std::byte*>(header_);
    const std::uint64_t octets = layout::lane_octets(capacity_);
    const std::uint64_t offset = layout::records_at(lanes) + index * octets;
#ifdef MADV_POPULATE_WRITE
    const bool there = madvise(base + offset, octets, MADV_POPULATE_WRITE) == 0;
    if (!there && errno != EINVAL) return false;
#else
    const bool there = false;
#endif
    if (!there && !reserve_in_file(offset, octets)) return false;
    lane.header_ = reinterpret_cast<layout::LaneHeader*>(base + layout::lane_headers_at) + index;
    lane.records_ = reinterpret_cast<Record*>(base + offset);
    lane.mask_ = capacity_ - 1;
    lane.has_memory_ = true;
    return true;
}

/// For kernels before 5.14. The file is opened again: a kept descriptor might belong to another file by now, because
/// programs that become daemons close all descriptors.
bool Ring::reserve_in_file(std::uint64_t offset, std::uint64_t octets) const {
    const base::Descriptor file(::open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat identity {};
    return file && fstat(file.number(), &identity) == 0 && identity.st_dev == device_ && identity.st_ino == inode_ &&
           posix_fallocate(file.number(), static_cast<off_t>(offset), static_cast<off_t>(octets)) == 0;
}

void Ring::give_back(Lane& lane) {
    lane.end();
    std::atomic_ref<std::uint32_t>(lane.header_->owner).store(0, std::memory_order_release);
}

std::uint8_t Ring::device(const char* name) {
    const std::uint32_t known = std::min<std::uint32_t>(header_->devices, layout::most_devices);
    for (std::uint32_t i = 0; i < known; ++i)
        if (std::strncmp(header_->device_names[i].data(), name, sizeof(layout::Name)) == 0)
            return static_cast<std::uint8_t>(i);
    if (known == layout::most_devices) return layout::unknown_device;
    layout::Name& to = header_->device_names[known];
    std::memcpy(to.data(), name, strnlen(name, to.size()));
    std::atomic_ref<std::uint32_t>(header_->devices).store(known + 1, std::memory_order_release);
    return static_cast<std::uint8_t>(known);
}

void Ring::forget() {
    if (header_ != nullptr) munmap(header_, octets_);
    header_ = nullptr;
    for (Lane& lane : lanes_) lane = Lane{};
}

}  // namespace trace::ring
