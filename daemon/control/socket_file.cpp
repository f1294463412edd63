#include "daemon/control/socket_file.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <vector>

#include "daemon/control/address.h"

namespace service {

namespace {

constexpr int backlog = 64;

std::string reason(int error) { return std::generic_category().message(error); }

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
        return errno == ENOENT ? std::string{} : fmt::format("{}: {}", path, reason(errno));
    if (!S_ISSOCK(there.st_mode))
        return fmt::format("{}: that is no socket; remove it, or say another path with --socket", path);
    const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe) return fmt::format("no socket can be had: {}", reason(errno));
    const sockaddr_un address = address_of(path);
    // EAGAIN: somebody listens, and is busy.
    if (::connect(probe.get(), generic(address), sizeof address) == 0 || errno == EAGAIN)
        return fmt::format(
            "{}: a daemon answers there already; stop it (`systemctl stop rdmascope`), or say another "
            "path with --socket",
            path);
    if (errno != ECONNREFUSED && errno != ENOENT) return fmt::format("{}: {}", path, reason(errno));
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
        return fmt::format("{}: was left by a daemon that died, and cannot be removed: {}", path, reason(errno));
    return {};
}

}  // namespace

wire::Result<std::unique_ptr<SocketFile>, std::string> SocketFile::open(const std::string& path,
                                                                        const std::string& group) {
    if (path.empty() || path.size() > max_socket_path || path.find('\0') != std::string::npos)
        return wire::Failure{fmt::format("'{}': a socket's path has 1 to {} octets; say a shorter one with --socket",
                                         path, max_socket_path)};
    const std::string folder = folder_of(path);
    if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
        return wire::Failure{
            fmt::format("{}: the socket's folder cannot be made: {}; make it, or say another path with "
                        "--socket",
                        folder, reason(errno))};
    const Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock || ::flock(lock.get(), LOCK_EX) != 0) return wire::Failure{fmt::format("{}: {}", folder, reason(errno))};
    std::string fault = make_way(path);
    if (!fault.empty()) return wire::Failure{std::move(fault)};
    Descriptor listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listening) return wire::Failure{fmt::format("no socket can be had: {}", reason(errno))};
    auto file = std::unique_ptr<SocketFile>(new SocketFile(std::move(listening), path));
    fault = file->prepare(group);
    if (!fault.empty()) return wire::Failure{std::move(fault)};
    return file;
}

std::string SocketFile::prepare(const std::string& group) {
    const sockaddr_un address = address_of(path_);
    // Linux takes the file's mode from the socket's: nobody else can open it even for a moment.
    if (::fchmod(listening_.get(), 0600) != 0 || ::bind(listening_.get(), generic(address), sizeof address) != 0)
        return fmt::format("{}: {}; say another path with --socket", path_, reason(errno));
    struct stat made {};
    if (::lstat(path_.c_str(), &made) != 0) return fmt::format("{}: {}", path_, reason(errno));
    device_ = made.st_dev;
    inode_ = made.st_ino;
    if (!group.empty()) {
        const std::optional<gid_t> id = group_id(group);
        if (!id)
            return fmt::format("there is no group '{}'; make it (`groupadd --system {}`), or change control.group",
                               group, group);
        if (::chown(path_.c_str(), static_cast<uid_t>(-1), *id) != 0)
            return fmt::format("{}: cannot be given to group '{}': {}; begin as root, or as a member of it", path_,
                               group, reason(errno));
    }
    if (::chmod(path_.c_str(), 0660) != 0 || ::listen(listening_.get(), backlog) != 0)
        return fmt::format("{}: {}", path_, reason(errno));
    return {};
}

SocketFile::~SocketFile() {
    struct stat there {};
    if (inode_ != 0 && ::lstat(path_.c_str(), &there) == 0 && there.st_dev == device_ && there.st_ino == inode_)
        ::unlink(path_.c_str());
}

}  // namespace service
