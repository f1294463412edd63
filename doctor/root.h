#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace doctor {

/// What came of looking at a file.
enum class Sight : std::uint8_t {
    seen,
    absent,
    denied,    ///< it is there, and may not be read
    unusable,  ///< no regular file, or reading it failed
};

/// A file's bytes, or why there are none.
struct Content {
    Sight sight = Sight::absent;
    std::string octets = {};
    bool cut = false;  ///< the file is longer than was asked for
};

enum class Kind : std::uint8_t { file, folder, device, other };

/// What a name stands for, links followed.
struct Status {
    Kind kind = Kind::other;
    std::uint32_t mode = 0;  ///< permission bits
    std::uint32_t user = 0;
    std::uint32_t group = 0;
    std::uint64_t octets = 0;
};

/// Small files that were read, by path: what a bug report shows.
using Transcript = std::map<std::string, std::string>;

/// A machine, as the tree of its files. Every access to what is examined goes through here, so that a tree in a folder
/// is examined as the machine that it was taken from: links, absolute ones too, stay inside the folder. What other
/// programs ask of system calls is read from files as well (/proc/self/limits, /proc/sys/kernel/osrelease).
///
/// Nothing here blocks: only regular files are opened, and no more of them is read than was asked for.
class Root {
public:
    static constexpr std::size_t small = std::size_t{64} << 10;  ///< bytes of a configuration or sysfs file
    static constexpr std::size_t most_names = 65536;             ///< of one folder that are looked at

    /// `folder`: where the machine's `/` is; empty for the machine that we run on.
    explicit Root(std::string folder = {}, Transcript* transcript = nullptr);

    const std::string& folder() const { return folder_; }

    /// The absolute path with all links resolved; empty where there is nothing, or links go in a circle.
    std::string resolve(std::string_view path) const;
    bool has(std::string_view path) const { return !resolve(path).empty(); }
    std::optional<Status> status(std::string_view path) const;
    Content read(std::string_view path, std::size_t most = small) const;
    /// The first line, without white space around it; none where the file cannot be read.
    std::optional<std::string> line(std::string_view path) const;
    /// The number that the first line begins with, decimal or 0x; none where there is none.
    std::optional<std::uint64_t> number(std::string_view path) const;
    /// Names in a folder, sorted.
    std::vector<std::string> list(std::string_view path) const;
    /// The last part of what a link points at: the driver of `device/driver`.
    std::optional<std::string> link_name(std::string_view path) const;
    /// An extended attribute, as bytes; at most 256.
    std::optional<std::string> attribute(std::string_view path, const char* name) const;

private:
    std::string folder_;
    Transcript* transcript_;
};

/// Paths, joined by one slash.
std::string operator/(const std::string& folder, std::string_view name);

}  // namespace doctor
