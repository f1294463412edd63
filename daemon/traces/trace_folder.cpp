#include "daemon/traces/trace_folder.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/trace/ring_layout.h"

namespace service {

namespace {

/// As /tmp: everybody may make files, and remove none but their own.
constexpr mode_t shared = S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO;
/// The folder above it is this process's, and others may pass through.
constexpr mode_t passable = S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH;

/// A folder of that mode, whatever the umask; one that is there stays as it is. 0, else an errno.
int make_folder(const std::string& path, mode_t mode) {
    if (::mkdir(path.c_str(), S_IRWXU) != 0) return errno == EEXIST ? 0 : errno;
    return ::chmod(path.c_str(), mode) == 0 ? 0 : errno;
}

/// 0 where the folder is there, and everybody's; else an errno.
int make_everybodys(const std::string& path) {
    const std::string above = path.substr(0, path.rfind('/'));
    struct stat found {};
    if (const int wrong = make_folder(above, passable); wrong != 0) return wrong;
    if (::stat(above.c_str(), &found) != 0) return errno;
    if ((found.st_mode & S_IXOTH) == 0) return EACCES;
    if (const int wrong = make_folder(path, shared); wrong != 0) return wrong;
    if (::lstat(path.c_str(), &found) != 0) return errno;
    if (!S_ISDIR(found.st_mode)) return ENOTDIR;
    if ((found.st_mode & ALLPERMS) == shared) return 0;
    return ::chmod(path.c_str(), shared) == 0 ? 0 : errno;
}

}  // namespace

wire::Result<std::string, std::string> open_trace_folder(const std::string& everybodys) {
    const char* const asked = std::getenv(capture::trace::layout::variable::directory);
    const bool is_asked = asked != nullptr && *asked != '\0';
    if (!is_asked && make_everybodys(everybodys) == 0) return everybodys;
    std::array<char, PATH_MAX> path{};
    if (const int wrong = capture::trace::trace_directory(path.data(), path.size(), true); wrong != 0)
        return wire::Failure{fmt::format("{}: {}: no folder for what programs do", path.data(), std::strerror(wrong))};
    struct stat found {};
    if (::stat(path.data(), &found) != 0 || !S_ISDIR(found.st_mode))
        return wire::Failure{fmt::format("{}: is no folder; make it, or leave {} empty", path.data(),
                                         capture::trace::layout::variable::directory)};
    return std::string(path.data());
}

}  // namespace service
