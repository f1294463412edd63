#pragma once
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "base/descriptor.h"
#include "base/result.h"

/// Opens files in places where another user may have put something else: a symbolic link to a file of root, a FIFO on
/// which open(2) waits for ever, a device, a hard link.
namespace base {

/// Why a file or a folder was not opened.
struct OpenFailure {
    int code = 0;        ///< errno
    std::string reason;  ///< "is a FIFO, and a regular file is expected; remove it"
};

enum class LinkPolicy : unsigned char {
    follow,  ///< for a path that an administrator or the user of the command names
    refuse,  ///< for a name in a folder that others may write
};

/// Opens a regular file without waiting: O_CLOEXEC, O_NOCTTY and O_NONBLOCK are added to `flags`. `O_TRUNC` takes
/// effect after the file was checked. If links are refused, an existing file with several hard links is not opened for
/// writing.
Result<Descriptor, OpenFailure> open_regular_file(const std::string& path, int flags = O_RDONLY,
                                                  LinkPolicy links = LinkPolicy::follow);

/// Opens the file that the user of a command names for its output, to write from the beginning, and makes the file
/// where it is missing. What the user can mean is opened, a device or a FIFO too. What another user may have put into
/// the way is not: of the path, a symbolic link in a folder that all users may write, unless the link is root's or the
/// user's; for root, a link in another user's folder as well; and in a folder that all users may write, a file of
/// another user or with a second name. The user who called sudo counts as the user.
Result<Descriptor, OpenFailure> open_output_file(const std::string& path, mode_t mode = 0666);

/// An open folder. Its functions act on this folder, even if its path leads elsewhere by now.
class Folder {
public:
    /// Follows a symbolic link of the path only if no user but root and the user of this process can change the link.
    static Result<Folder, OpenFailure> open(const std::string& path);
    /// Makes the folder with `mode`, and missing folders above it with mode 0755.
    static Result<Folder, OpenFailure> make(const std::string& path, mode_t mode);

    const std::string& path() const { return path_; }
    std::string path_of(std::string_view name) const { return path_ + '/' + std::string(name); }
    int descriptor() const { return descriptor_.number(); }

    /// As open_regular_file() with LinkPolicy::refuse, for a name without a slash.
    Result<Descriptor, OpenFailure> open_file(const std::string& name, int flags = O_RDONLY, mode_t mode = 0) const;
    /// Whether the name exists. A link is not followed.
    bool has(const std::string& name) const;
    /// Returns false and sets errno if the calls fail. Links are not followed.
    bool remove(const std::string& name) const;
    bool rename(const std::string& from, const std::string& to) const;
    /// Writes the names to the disk.
    bool synchronise() const;

private:
    Folder(Descriptor descriptor, std::string path) : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

    Descriptor descriptor_;
    std::string path_;
};

}  // namespace base
