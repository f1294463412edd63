#include "daemon/recorder/recording_folder.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "base/descriptor.h"

namespace service::inline recorder {
namespace {

/// 0 where a file can be made there; else an errno.
int try_file(const std::string& directory) {
    if (base::Descriptor(::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600))) return 0;
    // A file system without files that have no name; the rights are asked for then.
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL) return errno;
    const base::Descriptor folder(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return folder && ::faccessat(folder.number(), ".", W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

}  // namespace

base::Result<void> prepare_recording_folder(const std::string& directory) {
    std::error_code code;
    const std::filesystem::path parent = std::filesystem::path(directory).parent_path();
    if (!parent.empty()) std::filesystem::create_directories(parent, code);
    if (::mkdir(directory.c_str(), 0750) != 0 && errno != EEXIST)
        return recording_folder_failure(directory, code ? code.value() : errno);
    const int wrong = try_file(directory);
    if (wrong != 0) return recording_folder_failure(directory, wrong);
    return {};
}

base::Failure<base::Error> recording_folder_failure(const std::string& directory, int code) {
    std::string text = fmt::format("no file can be made there: {}", std::strerror(code));
    if (code == ENOENT) text += "; make the directory, or set recorder.directory to one that exists";
    if (code == ENOTDIR) text += "; name a directory (recorder.directory, --record)";
    if (code == EACCES || code == EPERM || code == EROFS)
        text += "; let the daemon's user write there (ReadWritePaths= of its unit, too)";
    return base::failure(std::move(text), directory);
}

}  // namespace service::recorder
