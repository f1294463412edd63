#include "daemon/server/socket_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <vector>

#include "control/socket_address.h"
#include "daemon/privileges.h"

namespace service::inline server {

namespace {

constexpr int backlog = 64;

/// The folder that a path is in.
std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

std::optional<gid_t> group_id(const std::string& name) {
    std::vector<char> room(1024);
    for (;;) {
        group entry{};
        group* found = nullptr;
        const int error = ::getgrnam_r(name.c_str(), &entry, room.data(), room.size(), &found);
        if (error == ERANGE && room.size() < (1U << 20)) {
            room.resize(room.size() * 2);
            continue;
        }
        if (found == nullptr) return {};
        return found->gr_gid;
    }
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Fails if something else is at the path; a socket that no process listens on is removed.
base::Result<void> free_path(const base::Folder& folder, const std::string& path) {
    struct stat there {};
    if (::fstatat(folder.descriptor(), name_of(path).c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) return {};
        return base::failure(std::strerror(errno), path);
    }
    if (!S_ISSOCK(there.st_mode))
        return base::failure("that is no socket; remove it, or say another path with --socket", path);
    const base::Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe) return base::failure(fmt::format("no socket can be had: {}", std::strerror(errno)));
    const sockaddr_un address = control::address_of(path);
    // EAGAIN: a process listens, and is busy.
    if (::connect(probe.number(), control::generic(address), sizeof address) == 0 || errno == EAGAIN)
        return base::failure(
            "a daemon answers there already; stop it (`systemctl stop rdmascope`), or say another path with --socket",
            path);
    if (errno != ECONNREFUSED && errno != ENOENT) return base::failure(std::strerror(errno), path);
    if (!folder.remove(name_of(path)) && errno != ENOENT)
        return base::failure(
            fmt::format("was left by a daemon that died, and cannot be removed: {}", std::strerror(errno)), path);
    return {};
}

}  // namespace

base::Result<std::unique_ptr<SocketFile>> SocketFile::open(const std::string& path, const SocketOwner& owner) {
    if (path.empty() || path.size() > control::max_socket_path || path.find('\0') != std::string::npos)
        return base::failure(fmt::format("'{}': a socket's path has 1 to {} bytes; say a shorter one with --socket",
                                         path, control::max_socket_path));
    const std::string folder_path = folder_of(path);
    const bool made_folder = ::mkdir(folder_path.c_str(), 0755) == 0;
    if (!made_folder && errno != EEXIST)
        return base::failure(fmt::format("the socket's folder cannot be made: {}; make it, or say another path with "
                                         "--socket",
                                         std::strerror(errno)),
                             folder_path);
    auto folder = base::Folder::open(folder_path);
    if (!folder) return base::failure(folder.error().reason, folder_path);
    if (::flock(folder->descriptor(), LOCK_EX) != 0) return base::failure(std::strerror(errno), folder_path);
    if (const auto freed = free_path(*folder, path); !freed) return base::Failure{freed.error()};
    base::Descriptor listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listening) return base::failure(fmt::format("no socket can be had: {}", std::strerror(errno)));
    auto file = std::unique_ptr<SocketFile>(new SocketFile(std::move(listening), std::move(folder).value(), path));
    if (const auto prepared = file->prepare(owner); !prepared) return base::Failure{prepared.error()};
    // For the user to remove the socket at the end. Last, because the user of the folder can put something else in the
    // socket's place. prepare() has found the account.
    if (made_folder && !owner.user.empty())
        if (const auto account = find_account(owner.user);
            account && ::fchown(file->folder_.descriptor(), account->user, account->group) != 0)
            return base::failure(fmt::format("cannot be given to user '{}': {}", owner.user, std::strerror(errno)),
                                 folder_path);
    ::flock(file->folder_.descriptor(), LOCK_UN);
    return file;
}

base::Result<void> SocketFile::prepare(const SocketOwner& owner) {
    const sockaddr_un address = control::address_of(path_);
    // Linux takes the file's mode from the socket's. No process can connect before this one listens, and nothing is
    // changed by a path that another owner of the folder could lead elsewhere.
    const mode_t mask = ::umask(0);
    const bool bound = ::fchmod(listening_.number(), 0660) == 0 &&
                       ::bind(listening_.number(), control::generic(address), sizeof address) == 0;
    const int bind_errno = errno;
    ::umask(mask);
    if (!bound)
        return base::failure(fmt::format("{}; say another path with --socket", std::strerror(bind_errno)), path_);
    // From here on by its descriptor: a user who may write in the folder can put another file into its place.
    made_.reset(::openat(folder_.descriptor(), name_of(path_).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat made {};
    if (!made_ || ::fstat(made_.number(), &made) != 0) return base::failure(std::strerror(errno), path_);
    if (!S_ISSOCK(made.st_mode) || made.st_nlink != 1 || made.st_uid != ::geteuid())
        return base::failure(
            "another user put something else into the place of the socket; say a path with --socket whose folder only "
            "the daemon's user can write",
            path_);
    device_ = made.st_dev;
    inode_ = made.st_ino;
    if (auto owned = set_owner(owner); !owned) return owned;
    if (::listen(listening_.number(), backlog) != 0) return base::failure(std::strerror(errno), path_);
    return {};
}

base::Result<void> SocketFile::set_owner(const SocketOwner& owner) const {
    if (!owner.user.empty()) {
        const auto account = find_account(owner.user);
        if (!account) return base::Failure{account.error()};
        if (::fchownat(made_.number(), "", account->user, account->group, AT_EMPTY_PATH) != 0)
            return base::failure(
                fmt::format("cannot be given to user '{}': {}; begin as root, or leave service.user empty", owner.user,
                            std::strerror(errno)),
                path_);
    }
    if (owner.group.empty()) return {};
    const std::optional<gid_t> id = group_id(owner.group);
    if (!id)
        return base::failure(
            fmt::format("there is no group '{}'; make it (`groupadd --system {}`), or change control.group",
                        owner.group, owner.group));
    if (::fchownat(made_.number(), "", static_cast<uid_t>(-1), *id, AT_EMPTY_PATH) != 0)
        return base::failure(fmt::format("cannot be given to group '{}': {}; begin as root, or as a member of it",
                                         owner.group, std::strerror(errno)),
                             path_);
    return {};
}

base::Result<void> SocketFile::remove() {
    if (inode_ == 0) return {};
    struct stat there {};
    const std::string name = name_of(path_);
    const bool found = ::fstatat(folder_.descriptor(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
    const bool another = found && (there.st_dev != device_ || there.st_ino != inode_);
    inode_ = 0;
    if (another || (found && folder_.remove(name)) || errno == ENOENT) return {};
    return base::failure(
        fmt::format("cannot be removed: {}; let the daemon's user write in its folder", std::strerror(errno)), path_);
}

}  // namespace service::server
