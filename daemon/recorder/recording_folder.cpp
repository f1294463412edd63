#include "daemon/recorder/recording_folder.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "base/descriptor.h"

namespace service::inline recorder {
namespace {

/// 0 where a file can be made there; else an errno.
int try_file(const base::Folder& folder) {
    if (base::Descriptor(::openat(folder.descriptor(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600))) return 0;
    // A file system without files that have no name; the rights are asked for then.
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL) return errno;
    return ::faccessat(folder.descriptor(), ".", W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

base::Failure<base::Error> folder_failure(const std::string& directory, const base::OpenFailure& failure) {
    if (failure.code != ELOOP) return recording_folder_failure(directory, failure.code);
    return base::failure("no file can be made there: " + failure.reason, directory);
}

}  // namespace

base::Result<void> prepare_recording_folder(const std::string& directory) {
    const auto folder = base::Folder::make(directory, 0750);
    if (!folder) return folder_failure(directory, folder.error());
    const int wrong = try_file(*folder);
    if (wrong != 0) return recording_folder_failure(directory, wrong);
    return {};
}

base::Result<base::Folder> open_recording_folder(const std::string& directory) {
    auto folder = base::Folder::open(directory);
    if (!folder) return folder_failure(directory, folder.error());
    return std::move(folder).value();
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
