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
#include "capture/trace/trace_directory.h"

namespace service {

namespace {

/// As /tmp: everybody may make files, and remove none but their own.
constexpr mode_t everybodys = S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO;

/// 0 where the folder is there, and everybody's; else an errno.
int make_everybodys(const std::string& path) {
    const std::string above = path.substr(0, path.rfind('/'));
    if (::mkdir(above.c_str(), S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH) != 0 && errno != EEXIST) return errno;
    if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) return errno;
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0) return errno;
    if (!S_ISDIR(found.st_mode)) return ENOTDIR;
    if ((found.st_mode & ALLPERMS) == everybodys) return 0;
    return ::chmod(path.c_str(), everybodys) == 0 ? 0 : errno;
}

}  // namespace

wire::Result<std::string, std::string> open_trace_folder(const std::string& machines_own) {
    const char* const asked = std::getenv(capture::trace::layout::variable::directory);
    const bool is_asked = asked != nullptr && *asked != '\0';
    if (!is_asked && make_everybodys(machines_own) == 0) return machines_own;
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
