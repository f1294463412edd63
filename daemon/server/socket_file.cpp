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

/// What keeps the path from being taken; a socket that nobody listens to is removed.
std::string make_way(const std::string& path) {
    struct stat there {};
    if (::lstat(path.c_str(), &there) != 0)
        return errno == ENOENT ? std::string{} : fmt::format("{}: {}", path, std::strerror(errno));
    if (!S_ISSOCK(there.st_mode))
        return fmt::format("{}: that is no socket; remove it, or say another path with --socket", path);
    const base::Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe) return fmt::format("no socket can be had: {}", std::strerror(errno));
    const sockaddr_un address = control::address_of(path);
    // EAGAIN: somebody listens, and is busy.
    if (::connect(probe.number(), control::generic(address), sizeof address) == 0 || errno == EAGAIN)
        return fmt::format(
            "{}: a daemon answers there already; stop it (`systemctl stop rdmascope`), or say another "
            "path with --socket",
            path);
    if (errno != ECONNREFUSED && errno != ENOENT) return fmt::format("{}: {}", path, std::strerror(errno));
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
        return fmt::format("{}: was left by a daemon that died, and cannot be removed: {}", path, std::strerror(errno));
    return {};
}

}  // namespace

base::Result<std::unique_ptr<SocketFile>, std::string> SocketFile::open(const std::string& path,
                                                                        const SocketOwner& owner) {
    if (path.empty() || path.size() > control::max_socket_path || path.find('\0') != std::string::npos)
        return base::Failure{fmt::format("'{}': a socket's path has 1 to {} octets; say a shorter one with --socket",
                                         path, control::max_socket_path)};
    const std::string folder = folder_of(path);
    const bool made_folder = ::mkdir(folder.c_str(), 0755) == 0;
    if (!made_folder && errno != EEXIST)
        return base::Failure{
            fmt::format("{}: the socket's folder cannot be made: {}; make it, or say another path with "
                        "--socket",
                        folder, std::strerror(errno))};
    const base::Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock || ::flock(lock.number(), LOCK_EX) != 0)
        return base::Failure{fmt::format("{}: {}", folder, std::strerror(errno))};
    std::string fault = make_way(path);
    if (!fault.empty()) return base::Failure{std::move(fault)};
    base::Descriptor listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listening) return base::Failure{fmt::format("no socket can be had: {}", std::strerror(errno))};
    auto file = std::unique_ptr<SocketFile>(new SocketFile(std::move(listening), path));
    fault = file->prepare(owner);
    if (!fault.empty()) return base::Failure{std::move(fault)};
    // For the user to remove the socket at the end. Last: who has the folder may put something else in the socket's
    // place.
    Account account;
    if (made_folder && !owner.user.empty() && find_account(owner.user, account).empty() &&
        ::fchown(lock.number(), account.user, account.group) != 0)
        return base::Failure{
            fmt::format("{}: cannot be given to user '{}': {}", folder, owner.user, std::strerror(errno))};
    return file;
}

std::string SocketFile::prepare(const SocketOwner& owner) {
    const sockaddr_un address = control::address_of(path_);
    // Linux takes the file's mode from the socket's. Nobody can connect before it listens, and nothing is changed by a
    // path that another owner of the folder could lead elsewhere.
    const mode_t mask = ::umask(0);
    const bool bound = ::fchmod(listening_.number(), 0660) == 0 &&
                       ::bind(listening_.number(), control::generic(address), sizeof address) == 0;
    const int fault_of_bind = errno;
    ::umask(mask);
    if (!bound) return fmt::format("{}: {}; say another path with --socket", path_, std::strerror(fault_of_bind));
    struct stat made {};
    if (::lstat(path_.c_str(), &made) != 0) return fmt::format("{}: {}", path_, std::strerror(errno));
    device_ = made.st_dev;
    inode_ = made.st_ino;
    if (std::string fault = give_away(owner); !fault.empty()) return fault;
    if (::listen(listening_.number(), backlog) != 0) return fmt::format("{}: {}", path_, std::strerror(errno));
    return {};
}

std::string SocketFile::give_away(const SocketOwner& owner) const {
    Account account{static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
    if (!owner.user.empty()) {
        if (std::string fault = find_account(owner.user, account); !fault.empty()) return fault;
        if (::lchown(path_.c_str(), account.user, account.group) != 0)
            return fmt::format("{}: cannot be given to user '{}': {}; begin as root, or leave service.user empty",
                               path_, owner.user, std::strerror(errno));
    }
    if (owner.group.empty()) return {};
    const std::optional<gid_t> id = group_id(owner.group);
    if (!id)
        return fmt::format("there is no group '{}'; make it (`groupadd --system {}`), or change control.group",
                           owner.group, owner.group);
    if (::lchown(path_.c_str(), static_cast<uid_t>(-1), *id) != 0)
        return fmt::format("{}: cannot be given to group '{}': {}; begin as root, or as a member of it", path_,
                           owner.group, std::strerror(errno));
    return {};
}

std::string SocketFile::remove() {
    if (inode_ == 0) return {};
    struct stat there {};
    const bool found = ::lstat(path_.c_str(), &there) == 0;
    const bool another = found && (there.st_dev != device_ || there.st_ino != inode_);
    inode_ = 0;
    if (another || (found && ::unlink(path_.c_str()) == 0) || errno == ENOENT) return {};
    return fmt::format("{}: cannot be removed: {}; let the daemon's user write in its folder", path_,
                       std::strerror(errno));
}

}  // namespace service::server
