#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace doctor {

/// The result of reading a file.
enum class Sight : std::uint8_t {
    seen,
    absent,
    denied,    ///< it exists, and may not be read
    unusable,  ///< not a regular file, or reading it failed
};

/// A file's bytes, or why there are none.
struct Content {
    Sight sight = Sight::absent;
    std::string octets = {};
    bool cut = false;  ///< the file is longer than the limit
};

enum class Kind : std::uint8_t { file, folder, device, other };

/// The object of a name, links followed.
struct Status {
    Kind kind = Kind::other;
    std::uint32_t mode = 0;  ///< permission bits
    std::uint32_t user = 0;
    std::uint32_t group = 0;
    std::uint64_t octets = 0;
};

/// Small files that were read, by path: for bug reports.
using Transcript = std::map<std::string, std::string>;

/// A machine, as the tree of its files. Every access to the examined machine goes through here, so that a tree in a
/// folder is examined as the machine that it was copied from: links, absolute ones too, stay inside the folder. Values
/// that other programs get from system calls are read from files as well (/proc/self/limits,
/// /proc/sys/kernel/osrelease).
///
/// Nothing here blocks: only regular files are opened, and only the requested part of them is read.
class Root {
public:
    static constexpr std::size_t small = std::size_t{64} << 10;  ///< bytes of a configuration or sysfs file
    static constexpr std::size_t most_names = 65536;             ///< the most names that are read of one folder

    /// `folder`: the place of the machine's `/`; empty for the machine that we run on.
    explicit Root(std::string folder = {}, Transcript* transcript = nullptr);

    const std::string& folder() const { return folder_; }

    /// The absolute path with all links resolved; empty if nothing is there, or if links form a circle.
    std::string resolve(std::string_view path) const;
    bool has(std::string_view path) const { return !resolve(path).empty(); }
    std::optional<Status> status(std::string_view path) const;
    Content read(std::string_view path, std::size_t most = small) const;
    /// The first line, without white space around it; no value if the file cannot be read.
    std::optional<std::string> line(std::string_view path) const;
    /// The number at the beginning of the first line, decimal or 0x; no value if there is no number.
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
