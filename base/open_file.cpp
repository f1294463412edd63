#include "base/open_file.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <optional>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace base {

namespace {

constexpr int always = O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
constexpr int most_links = 40;  // as the kernel

Failure<OpenFailure> open_failure(int code) { return {OpenFailure{code, std::strerror(code)}}; }

/// openat2(2), or openat(2) where the kernel or a filter of system calls does not have it. Negative, and errno.
int open_without_links(int folder, const char* name, int flags, mode_t mode) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags);
    how.mode = (flags & O_CREAT) != 0 ? mode : 0;
    how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const auto opened = static_cast<int>(::syscall(SYS_openat2, folder, name, &how, sizeof how));
    if (opened >= 0 || (errno != ENOSYS && errno != EPERM)) return opened;
    // O_NOFOLLOW covers the last name of a path only: a whole path is for walk().
    if (std::strchr(name, '/') == nullptr) return ::openat(folder, name, flags | O_NOFOLLOW, mode);
    errno = ELOOP;
    return -1;
}

const char* kind_of(mode_t mode) {
    switch (mode & S_IFMT) {
        case S_IFDIR: return "a directory";
        case S_IFIFO: return "a FIFO";
        case S_IFSOCK: return "a socket";
        case S_IFCHR:
        case S_IFBLK: return "a device";
        case S_IFLNK: return "a symbolic link";
        default: return "something else";
    }
}

/// Only where links are refused may another user have put it there.
Failure<OpenFailure> not_regular(mode_t mode, LinkPolicy links) {
    return {OpenFailure{S_ISDIR(mode) ? EISDIR : EINVAL,
                        std::string("is ") + kind_of(mode) + ", and a regular file is expected; " +
                            (links == LinkPolicy::refuse ? "remove it, or " : "") + "name another file"}};
}

/// Why open(2) failed. For what is there but is no regular file, the reason says what is there.
Failure<OpenFailure> explain(int folder, const char* name, int code, LinkPolicy links) {
    const bool kind_matters = code == ELOOP || code == ENXIO || code == EISDIR || code == ENODEV;
    struct stat found {};
    const int how = links == LinkPolicy::refuse ? AT_SYMLINK_NOFOLLOW : 0;
    if (kind_matters && ::fstatat(folder, name, &found, how) == 0 && !S_ISREG(found.st_mode)) {
        auto failure = not_regular(found.st_mode, links);
        failure.error.code = code;
        return failure;
    }
    return open_failure(code);
}

/// The checks of the file that was opened, which can no longer be exchanged for another one.
std::optional<Failure<OpenFailure>> check(int file, int flags, LinkPolicy links) {
    struct stat found {};
    if (::fstat(file, &found) != 0) return open_failure(errno);
    if (!S_ISREG(found.st_mode)) return not_regular(found.st_mode, links);
    if ((flags & O_ACCMODE) == O_RDONLY) return {};
    if (links == LinkPolicy::refuse && found.st_nlink > 1)
        return Failure{OpenFailure{
            EMLINK, "has another name as well (a hard link), and is not written to; remove it, and start again"}};
    if ((flags & O_TRUNC) != 0 && ::ftruncate(file, 0) != 0) return open_failure(errno);
    return {};
}

Result<Descriptor, OpenFailure> open_at(int folder, const char* name, int flags, mode_t mode, LinkPolicy links) {
    const int how = (flags & ~O_TRUNC) | always;
    Descriptor file(links == LinkPolicy::refuse ? open_without_links(folder, name, how, mode)
                                                : ::openat(folder, name, how, mode));
    if (!file) return explain(folder, name, errno, links);
    if (auto wrong = check(file.number(), flags, links)) return *wrong;
    return file;
}

bool is_ours(uid_t owner) { return owner == 0 || owner == ::geteuid(); }

/// Whether no other user can put another link into the place of this one.
bool is_safe_for_daemon(const struct stat& folder, const struct stat& link) {
    const bool group_writes = (folder.st_mode & S_IWGRP) != 0 && folder.st_gid != 0 && folder.st_gid != ::getegid();
    const bool others_write = group_writes || (folder.st_mode & S_IWOTH) != 0;
    if (!is_ours(folder.st_uid)) return false;
    return !others_write || ((folder.st_mode & S_ISVTX) != 0 && is_ours(link.st_uid));
}

/// As is_ours(); to root, also the user who called sudo.
bool is_users(uid_t owner) {
    if (is_ours(owner)) return true;
    const char* const caller = ::geteuid() == 0 ? std::getenv("SUDO_UID") : nullptr;
    return caller != nullptr && *caller != '\0' && std::to_string(owner) == caller;
}

bool all_users_write(const struct stat& folder) { return (folder.st_mode & S_IWOTH) != 0; }

/// Whether the link is the user's own choice. Users but root may go through links in each other's folders.
bool is_safe_for_output(const struct stat& folder, const struct stat& link) {
    if (all_users_write(folder)) return is_users(link.st_uid);
    return ::geteuid() != 0 || is_users(folder.st_uid);
}

using IsSafe = bool (*)(const struct stat& folder, const struct stat& link);

/// The names of a path, the last one first.
std::vector<std::string> names_reversed(std::string_view path) {
    std::vector<std::string> names;
    while (!path.empty()) {
        const std::size_t slash = path.rfind('/');
        const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
        if (!name.empty() && name != ".") names.emplace_back(name);
        path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
    }
    return names;
}

/// Goes through a path name by name.
class Walk {
public:
    Walk(const std::string& path, IsSafe is_safe) : is_safe_(is_safe), rest_(names_reversed(path)), at_(begin(path)) {}

    Result<Descriptor, OpenFailure> finish() {
        if (auto failed = go_on(0)) return *failed;
        Descriptor folder(::openat(at_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!folder) return open_failure(errno);
        return folder;
    }

    /// The path's last name, as open_output_file() has it.
    Result<Descriptor, OpenFailure> open_output(mode_t mode) {
        for (;;) {
            if (auto failed = go_on(1)) return *failed;
            if (!at_) return open_failure(errno);
            if (rest_.empty() || rest_.back() == "..") return open_failure(EISDIR);
            const std::string name = std::move(rest_.back());
            rest_.pop_back();
            struct stat found {};
            const bool is_there = ::fstatat(at_.number(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
            if (!is_there || !S_ISLNK(found.st_mode) || is_of_proc(at_.number())) return open_last(name, mode);
            if (auto failed = step(name)) return *failed;
        }
    }

private:
    /// Up to the last `left` names.
    std::optional<Failure<OpenFailure>> go_on(std::size_t left) {
        while (at_ && rest_.size() > left) {
            const std::string name = std::move(rest_.back());
            rest_.pop_back();
            if (auto failed = step(name)) return failed;
        }
        return {};
    }

    /// The links in /proc/PID/fd have no path that could be read, and are the own ones of the process.
    static bool is_of_proc(int folder) {
        struct statfs system {};
        return ::fstatfs(folder, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
    }

    Result<Descriptor, OpenFailure> open_last(const std::string& name, mode_t mode) {
        struct stat folder {};
        struct stat found {};
        if (::fstat(at_.number(), &folder) != 0) return open_failure(errno);
        const bool is_proc = is_of_proc(at_.number());
        // Before it is opened: opening a FIFO of another user would wait for that user.
        if (!is_proc && ::fstatat(at_.number(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0)
            if (auto wrong = check_output(folder, found)) return *wrong;
        const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (is_proc ? 0 : O_NOFOLLOW);
        Descriptor file(::openat(at_.number(), name.c_str(), flags, mode));
        if (!file || ::fstat(file.number(), &found) != 0) return open_failure(errno);
        if (!is_proc)
            if (auto wrong = check_output(folder, found)) return *wrong;
        if (S_ISREG(found.st_mode) && ::ftruncate(file.number(), 0) != 0) return open_failure(errno);
        return file;
    }

    static std::optional<Failure<OpenFailure>> check_output(const struct stat& folder, const struct stat& found) {
        if (!all_users_write(folder)) return {};
        if (!is_users(found.st_uid))
            return Failure{OpenFailure{EACCES,
                                       "belongs to another user, in a folder that all users may write; remove it, or "
                                       "name another file"}};
        if (S_ISREG(found.st_mode) && found.st_nlink > 1)
            return Failure{OpenFailure{EMLINK,
                                       "has another name as well (a hard link), in a folder that all users may write; "
                                       "remove it, or name another file"}};
        return {};
    }

    static Descriptor begin(std::string_view path) {
        return Descriptor(::open(path.starts_with('/') ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    }

    std::optional<Failure<OpenFailure>> step(const std::string& name) {
        Descriptor next(::openat(at_.number(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        struct stat found {};
        if (!next || ::fstat(next.number(), &found) != 0) return open_failure(errno);
        if (S_ISLNK(found.st_mode)) return follow(next.number(), name, found);
        at_ = std::move(next);
        return {};
    }

    std::optional<Failure<OpenFailure>> follow(int link, const std::string& name, const struct stat& found) {
        struct stat folder {};
        if (::fstat(at_.number(), &folder) != 0) return open_failure(errno);
        if (++links_ > most_links) return open_failure(ELOOP);
        if (!is_safe_(folder, found))
            return Failure{
                OpenFailure{ELOOP, "is reached through the symbolic link `" + name +
                                       "`, which another user can change; name the place that the link leads to"}};
        std::array<char, PATH_MAX> target{};
        const ssize_t size = ::readlinkat(link, "", target.data(), target.size());
        if (size < 0) return open_failure(errno);
        const std::string_view path(target.data(), static_cast<std::size_t>(size));
        if (path.starts_with('/')) at_ = begin(path);
        for (std::string& each : names_reversed(path)) rest_.push_back(std::move(each));
        return {};
    }

    IsSafe is_safe_;
    std::vector<std::string> rest_;
    Descriptor at_;
    int links_ = 0;
};

/// The path of the folder above, and the name in it.
std::pair<std::string, std::string> split(std::string path) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return {".", path};
    return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

Result<Descriptor, OpenFailure> open_regular_file(const std::string& path, int flags, LinkPolicy links) {
    constexpr mode_t usual = 0666;  // the umask takes its part
    return open_at(AT_FDCWD, path.c_str(), flags, usual, links);
}

Result<Descriptor, OpenFailure> open_output_file(const std::string& path, mode_t mode) {
    if (path.empty()) return open_failure(ENOENT);
    if (path.ends_with('/')) return open_failure(EISDIR);
    return Walk(path, is_safe_for_output).open_output(mode);
}

Result<Folder, OpenFailure> Folder::open(const std::string& path) {
    Descriptor folder(open_without_links(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
    if (folder) return Folder(std::move(folder), path);
    if (errno != ELOOP) return open_failure(errno);
    auto walked = Walk(path, is_safe_for_daemon).finish();
    if (!walked) return Failure{walked.error()};
    return Folder(std::move(walked).value(), path);
}

Result<Folder, OpenFailure> Folder::make(const std::string& path, mode_t mode) {
    constexpr mode_t mode_above = 0755;
    auto opened = open(path);
    if (opened || opened.error().code != ENOENT) return opened;
    const auto [above, name] = split(path);
    if (name.empty() || above == path) return opened;
    const auto parent = make(above, mode_above);
    if (!parent) return Failure{parent.error()};
    if (::mkdirat(parent->descriptor(), name.c_str(), mode) != 0 && errno != EEXIST) return open_failure(errno);
    return open(path);
}

Result<Descriptor, OpenFailure> Folder::open_file(const std::string& name, int flags, mode_t mode) const {
    if (name.empty() || name.find('/') != std::string::npos) return open_failure(EINVAL);
    return open_at(descriptor(), name.c_str(), flags, mode, LinkPolicy::refuse);
}

bool Folder::has(const std::string& name) const {
    struct stat found {};
    return ::fstatat(descriptor(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
}

bool Folder::remove(const std::string& name) const { return ::unlinkat(descriptor(), name.c_str(), 0) == 0; }

bool Folder::rename(const std::string& from, const std::string& to) const {
    return ::renameat(descriptor(), from.c_str(), descriptor(), to.c_str()) == 0;
}

bool Folder::synchronise() const { return ::fsync(descriptor()) == 0; }

}  // namespace base
