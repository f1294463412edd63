#include "trace/ring/trace_directory.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/ring/ring_layout.h"

namespace trace::inline ring {

namespace {

bool fits(int written, std::size_t size) { return written >= 0 && static_cast<std::size_t>(written) < size; }

/// A folder that only this user may write to, made if need be. No link is followed: /tmp is everybody's.
int private_folder(const char* path, bool make) {
    if (make && mkdir(path, S_IRWXU) != 0 && errno != EEXIST) return errno;
    struct stat found {};
    if (lstat(path, &found) != 0) return errno;
    if (!S_ISDIR(found.st_mode)) return ENOTDIR;
    if (found.st_uid != geteuid()) return EPERM;
    return (found.st_mode & (S_IWGRP | S_IWOTH)) == 0 ? 0 : EPERM;
}

int private_folders(char* path, std::size_t size, const char* above, bool make) {
    if (!fits(std::snprintf(path, size, "%s", above), size)) return ENAMETOOLONG;
    if (const int wrong = private_folder(path, make); wrong != 0) return wrong;
    if (!fits(std::snprintf(path, size, "%s/trace", above), size)) return ENAMETOOLONG;
    return private_folder(path, make);
}

/// Whether it is a folder, and no link to one, that lets this process do `what`.
bool is_usable(const char* path, int what) {
    struct stat found {};
    return lstat(path, &found) == 0 && S_ISDIR(found.st_mode) && access(path, what) == 0;
}

}  // namespace

int trace_directory(char* path, std::size_t size, bool make, const char* everybodys) {
    constexpr std::size_t longest = 4096;
    if (const char* asked = std::getenv(layout::variable::directory); asked != nullptr && *asked != '\0')
        return fits(std::snprintf(path, size, "%s", asked), size) ? 0 : ENAMETOOLONG;
    if (is_usable(everybodys, make ? W_OK | X_OK : R_OK | X_OK))
        return fits(std::snprintf(path, size, "%s", everybodys), size) ? 0 : ENAMETOOLONG;
    char above[longest];
    const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
    if (runtime != nullptr && *runtime == '/') {
        if (!fits(std::snprintf(above, sizeof above, "%s/rdmascope", runtime), sizeof above)) return ENAMETOOLONG;
        if (private_folders(path, size, above, make) == 0) return 0;
    }
    std::snprintf(above, sizeof above, "/tmp/rdmascope-%u", static_cast<unsigned>(geteuid()));
    return private_folders(path, size, above, make);
}

}  // namespace trace::ring
