#include "observe/trace_folder.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "trace/ring/ring_layout.h"

namespace observe {

namespace {

/// As /tmp: everybody may make files, and remove none but their own.
constexpr mode_t shared = S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO;
/// The folder above it is this process's, and others may pass through.
constexpr mode_t passable = S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH;

/// Opens or makes a folder `name` in another one. A new one gets that mode, whatever the umask; an existing one stays
/// as it is. On failure no value, and errno. A call that changes a mode follows no link: a user who could put one there
/// between a check and a change would have the change made elsewhere.
base::Descriptor open_folder(int in, const char* name, mode_t mode, int follow) {
    const bool made = ::mkdirat(in, name, S_IRWXU) == 0;
    if (!made && errno != EEXIST) return base::Descriptor();
    const int how = O_DIRECTORY | O_CLOEXEC | (made ? O_NOFOLLOW : follow);
    base::Descriptor folder(::openat(in, name, O_RDONLY | how));
    if (!folder && !made)
        folder = base::Descriptor(::openat(in, name, O_PATH | how));  // others' may be for passing through
    if (folder && made && ::fchmod(folder.number(), mode) != 0) return base::Descriptor();
    return folder;
}

/// 0 where the folder is there, and everybody's; else an errno.
int make_everybodys(const std::string& path) {
    const std::string above = path.substr(0, path.rfind('/'));
    struct stat found {};
    const base::Descriptor parent = open_folder(AT_FDCWD, above.c_str(), passable, 0);
    if (!parent || ::fstat(parent.number(), &found) != 0) return errno;
    if ((found.st_mode & S_IXOTH) == 0) return EACCES;
    const base::Descriptor folder = open_folder(parent.number(), path.c_str() + above.size() + 1, shared, O_NOFOLLOW);
    if (!folder || ::fstat(folder.number(), &found) != 0) return errno;
    if ((found.st_mode & ALLPERMS) == shared) return 0;
    return ::fchmod(folder.number(), shared) == 0 ? 0 : errno;
}

}  // namespace

base::Result<std::string> open_trace_folder(const std::string& everybodys) {
    const char* const asked = std::getenv(trace::layout::variable::directory);
    const bool is_asked = asked != nullptr && *asked != '\0';
    if (!is_asked && make_everybodys(everybodys) == 0) return everybodys;
    std::array<char, PATH_MAX> path{};
    if (const int wrong = trace::trace_directory(path.data(), path.size(), true, everybodys.c_str()); wrong != 0)
        return base::Failure{
            base::Error{fmt::format("{}: no folder for what programs do", std::strerror(wrong)), path.data()}};
    struct stat found {};
    if (::stat(path.data(), &found) != 0 || !S_ISDIR(found.st_mode))
        return base::Failure{base::Error{
            fmt::format("is no folder; make it, or leave {} empty", trace::layout::variable::directory), path.data()}};
    return std::string(path.data());
}

}  // namespace observe
