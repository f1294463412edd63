#include "daemon/server/socket_file.h"

#include <array>
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

/// Fails if something else is at the path; a socket that no process listens on is removed.
base::Result<void> free_path(const std::string& path) {
    struct stat there {};
    if (::lstat(path.c_str(), &there) != 0) {
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
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
        return base::failure(
            fmt::format("was left by a daemon that died, and cannot be removed: {}", std::strerror(errno)), path);
    return {};
}

}  // namespace

base::Result<std::unique_ptr<SocketFile>> SocketFile::open(const std::string& path, const SocketOwner& owner) {
    if (path.empty() || path.size() > control::max_socket_path || path.find('\0') != std::string::npos)
        return base::failure(fmt::format("'{}': a socket's path has 1 to {} octets; say a shorter one with --socket",
                                         path, control::max_socket_path));
    const std::string folder = folder_of(path);
    const bool made_folder = ::mkdir(folder.c_str(), 0755) == 0;
    if (!made_folder && errno != EEXIST)
        return base::failure(fmt::format("the socket's folder cannot be made: {}; make it, or say another path with "
                                         "--socket",
                                         std::strerror(errno)),
                             folder);
    const base::Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock || ::flock(lock.number(), LOCK_EX) != 0) return base::failure(std::strerror(errno), folder);
    if (const auto freed = free_path(path); !freed) return base::Failure{freed.error()};
    base::Descriptor listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listening) return base::failure(fmt::format("no socket can be had: {}", std::strerror(errno)));
    auto file = std::unique_ptr<SocketFile>(new SocketFile(std::move(listening), path));
    if (const auto prepared = file->prepare(owner); !prepared) return base::Failure{prepared.error()};
    // For the user to remove the socket at the end. Last, because the user of the folder can put something else in the
    // socket's place. prepare() has found the account.
    if (made_folder && !owner.user.empty())
        if (const auto account = find_account(owner.user);
            account && ::fchown(lock.number(), account->user, account->group) != 0)
            return base::failure(fmt::format("cannot be given to user '{}': {}", owner.user, std::strerror(errno)),
                                 folder);
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
    struct stat made {};
    if (::lstat(path_.c_str(), &made) != 0) return base::failure(std::strerror(errno), path_);
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
        if (::lchown(path_.c_str(), account->user, account->group) != 0)
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
    if (::lchown(path_.c_str(), static_cast<uid_t>(-1), *id) != 0)
        return base::failure(fmt::format("cannot be given to group '{}': {}; begin as root, or as a member of it",
                                         owner.group, std::strerror(errno)),
                             path_);
    return {};
}

base::Result<void> SocketFile::remove() {
    if (inode_ == 0) return {};
    struct stat there {};
    const bool found = ::lstat(path_.c_str(), &there) == 0;
    const bool another = found && (there.st_dev != device_ || there.st_ino != inode_);
    inode_ = 0;
    if (another || (found && ::unlink(path_.c_str()) == 0) || errno == ENOENT) return {};
    return base::failure(
        fmt::format("cannot be removed: {}; let the daemon's user write in its folder", std::strerror(errno)), path_);
}

}  // namespace service::server
