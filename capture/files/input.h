#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace capture::inline files {

/// How a regular file is read.
enum class Access : std::uint8_t {
    automatic,  ///< mapped, but read() if the file was modified within the last minute: a writer may truncate it
    mapped,     ///< a process that truncates the file while we read it kills us with SIGBUS
    read,
};

/// Bytes of a file or a stream, seen through a window that only moves forward.
class Input {
public:
    struct Window {
        const std::byte* at;
        const std::byte* end;
    };

    virtual ~Input() = default;

    /// Moves the window so that it begins at `at`, a place in or at the end of the present one, and holds at least
    /// `need` bytes; fewer only at the end of the data or after a fault. Voids every pointer into the old window.
    virtual Window more(const std::byte* at, std::size_t need) = 0;

    /// Where the window begins: the first byte of the data until `more` has been asked for a later one.
    const std::byte* begin() const { return begin_; }

    /// Bytes of (uncompressed) data before `at`, a place in the present window.
    std::uint64_t offset_of(const std::byte* at) const {
        return begin_offset_ + static_cast<std::uint64_t>(at - begin_);
    }

    /// Why the data ended before its end; empty if it did not.
    const std::string& fault() const { return fault_; }

    /// Whether InputOptions::stop ended the data.
    bool stopped() const { return stopped_; }

    /// Whether windows stay in place for as long as the input lives.
    virtual bool lasts() const { return false; }

    /// `gzip`, `zstd`, `lz4` or empty.
    virtual std::string_view compression() const { return {}; }

    /// Bytes of the file itself used so far and in all; a stream has no total.
    virtual std::uint64_t consumed(const std::byte* at) const = 0;
    virtual std::optional<std::uint64_t> total() const = 0;

protected:
    const std::byte* begin_ = nullptr;  ///< a page's start or a buffer's
    std::uint64_t begin_offset_ = 0;
    std::string fault_ = {};
    bool stopped_ = false;
};

struct InputOptions {
    Access access = Access::automatic;
    std::size_t window_octets = std::size_t{16} << 20;   ///< of a mapped file; at least a page
    std::size_t buffer_octets = std::size_t{512} << 10;  ///< of a file that is read; grows to the largest frame
    bool keep = false;                                   ///< a mapped file stays mapped as a whole: costs addresses
    std::function<bool()> stop = {};  ///< asked before a pipe is read, and while it is empty: true ends the data
};

/// A file, FIFO or, for `-`, standard input; decompressed if it begins with the magic of gzip, zstd or lz4.
base::Result<std::unique_ptr<Input>> open_input(const std::string& path, const InputOptions& options);

}  // namespace capture::files
