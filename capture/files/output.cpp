#include "capture/files/output.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open_file.h"

namespace capture::inline files {

Output::Output(base::Descriptor descriptor, std::string path, std::size_t buffer_octets)
    : descriptor_(std::move(descriptor)),
      capacity_(std::max<std::size_t>(buffer_octets, 1)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(capacity_)) {
    error_.path = std::move(path);
}

namespace {

base::Failure<base::Error> cannot_be_opened(std::string_view reason, const std::string& path) {
    return {base::Error{.message = fmt::format("cannot be opened for writing: {}", reason), .path = path}};
}

}  // namespace

base::Result<Output> Output::open(const std::string& path, std::size_t buffer_octets) {
    const bool standard = path == "-";
    const std::string shown = standard ? "standard output" : path;
    if (standard && ::isatty(STDOUT_FILENO) == 1)
        return base::Failure{
            base::Error{.message = "is a terminal; name a file or pipe it into a program", .path = shown}};
    if (!standard) {
        auto file = base::open_output_file(path);
        if (!file) return cannot_be_opened(file.error().reason, shown);
        return Output(std::move(file).value(), shown, buffer_octets);
    }
    // A copy: standard output itself stays open.
    base::Descriptor copy(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!copy) return cannot_be_opened(std::strerror(errno), shown);
    return Output(std::move(copy), shown, buffer_octets);
}

Output Output::in_memory(std::size_t buffer_octets) {
    Output output(base::Descriptor(), {}, buffer_octets);
    output.in_memory_ = true;
    return output;
}

void Output::take(std::string& to) {
    to.append(reinterpret_cast<const char*>(buffer_.get()), used_);
    written_ += used_;
    used_ = 0;
}

base::Failure<base::Error> Output::fail(int code, const char* doing) {
    failed_ = true;
    capacity_ = 0;  // every later append() calls make_room(), which fails
    error_.message = fmt::format("{} failed after {} bytes: {}", doing, written_, std::strerror(code));
    if (code == ENOSPC) error_.message += "; the capture up to there is kept, make room and start again";
    return base::Failure{error_};
}

base::Result<void> Output::state() const {
    if (failed_) return base::Failure{error_};
    return {};
}

/// Removes an incomplete block from the end of the file, after a write that failed: `done` bytes of the buffer are in
/// the file.
void Output::cut_to_whole_blocks(std::size_t done) {
    if (block_size_ == nullptr) return;
    const base::Bytes octets(buffer_.get(), done);
    const bool begins_file = written_ == done;
    std::size_t whole = 0;
    while (whole < done) {
        const std::size_t size = block_size_(octets.subspan(whole), begins_file && whole == 0);
        if (size == 0 || size > done - whole) break;
        whole += size;
    }
    // A pipe has no position, and its reader already has the bytes.
    const off_t end = ::lseek(descriptor_.number(), 0, SEEK_CUR);
    const auto rest = static_cast<off_t>(done - whole);
    if (rest == 0 || end < rest || ::ftruncate(descriptor_.number(), end - rest) != 0) return;
    ::lseek(descriptor_.number(), end - rest, SEEK_SET);
    written_ -= done - whole;
}

base::Result<void> Output::flush() {
    if (in_memory_) return {};
    std::size_t done = 0;
    while (!failed_ && done < used_) {
        const ssize_t put = ::write(descriptor_.number(), buffer_.get() + done, used_ - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            const int code = errno;
            cut_to_whole_blocks(done);
            return fail(code, "writing");
        }
        done += static_cast<std::size_t>(put);
        written_ += static_cast<std::uint64_t>(put);
    }
    used_ = 0;
    return state();
}

bool Output::make_room(std::size_t octets) {
    if (!flush()) return false;
    if (used_ + octets > capacity_) {
        capacity_ = std::max(used_ + octets, in_memory_ ? 2 * capacity_ : 0);
        auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity_);
        std::copy_n(buffer_.get(), used_, larger.get());
        buffer_ = std::move(larger);
    }
    return true;
}

base::Result<void> Output::close() {
    if (closed_) return state();
    closed_ = true;
    if (auto flushed = flush(); !flushed) return flushed;
    if (!descriptor_) return {};
    // A network file system reports a full disk only here.
    if (const int closing = descriptor_.release(); ::close(closing) != 0) return fail(errno, "closing");
    return {};
}

std::optional<FileId> file_id(const std::string& path) {
    struct stat found = {};
    if (::stat(path.c_str(), &found) != 0) return {};
    return FileId{found.st_dev, found.st_ino};
}

bool same_file(const std::string& a, const std::string& b) {
    const auto one = file_id(a);
    return one && one == file_id(b);
}

}  // namespace capture::files
