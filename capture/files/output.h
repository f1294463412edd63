#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/error.h"

namespace capture::inline files {

/// A file that is written through a buffer of our own, with one write(2) for each buffer. Or bytes in memory, for a
/// caller that sends them elsewhere.
class Output {
public:
    /// Creates or truncates `path`; `-` is standard output, which must not be a terminal.
    static base::Result<Output> open(const std::string& path, std::size_t buffer_octets);

    /// Writes to a file that is open. Messages call the file `path`.
    static Output of_descriptor(base::Descriptor descriptor, std::string path, std::size_t buffer_octets) {
        return Output(std::move(descriptor), std::move(path), buffer_octets);
    }

    /// The size of the block or record that begins at the front of the bytes, or 0; `first`: of the file.
    using BlockSize = std::size_t (*)(base::Bytes octets, bool first);
    /// Makes the file end with a whole block even if a write fails halfway, as on a full disk. Each append() is one
    /// block.
    void set_block_size(BlockSize block_size) { block_size_ = block_size; }

    /// Kept until take(), in a buffer that grows as needed.
    static Output in_memory(std::size_t buffer_octets);

    /// Room for `octets` more bytes, which the caller fills at once; null after a failed write.
    std::byte* append(std::size_t octets) {
        if (used_ + octets > capacity_ && !make_room(octets)) [[unlikely]]
            return nullptr;
        std::byte* place = buffer_.get() + used_;
        used_ += octets;
        return place;
    }

    /// Hands everything to the kernel. After a failure, every later call returns the same failure.
    base::Result<void> flush();
    /// Flushes and closes; later calls return the same result.
    base::Result<void> close();
    /// The failure of any earlier call.
    base::Result<void> state() const;

    /// For an output in memory: appends to `to` what was written since the last call.
    void take(std::string& to);

    /// Bytes given to the file, buffered ones included.
    std::uint64_t octets() const { return written_ + used_; }
    /// Valid after append() returned null.
    const base::Error& error() const { return error_; }

private:
    Output(base::Descriptor descriptor, std::string path, std::size_t buffer_octets);
    bool make_room(std::size_t octets);
    base::Failure<base::Error> fail(int code, const char* doing);
    void cut_to_whole_blocks(std::size_t done);

    base::Descriptor descriptor_;
    std::size_t capacity_;
    std::unique_ptr<std::byte[]> buffer_;
    std::size_t used_ = 0;
    std::uint64_t written_ = 0;
    bool in_memory_ = false;
    bool closed_ = false;
    bool failed_ = false;
    BlockSize block_size_ = nullptr;
    base::Error error_ = {};
};

/// The identity of a file, by any name or link.
struct FileId {
    std::uint64_t device = 0;
    std::uint64_t number = 0;

    bool operator==(const FileId&) const = default;
};
/// No value if there is no such file.
std::optional<FileId> file_id(const std::string& path);

/// The reason why such a file is not written.
inline constexpr std::string_view is_being_read = "this is the file that is being read: save under another name";

/// Whether two paths lead to the same file: reading a capture while writing over it destroys it.
bool same_file(const std::string& a, const std::string& b);

}  // namespace capture::files
