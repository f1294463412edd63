#include "capture/files/input.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "capture/files/octet_reader.h"

namespace capture::inline files {
namespace {

constexpr std::int64_t quiet_sec = 60;

std::size_t page_octets() {
    static const auto octets = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return octets;
}

/// A regular file through a mapping that slides: what has been read is unmapped, so that memory stays at one window.
/// With `keep` there is one mapping of the whole file; pages far back are released, and are read again when they are
/// needed.
class MappedInput final : public Input {
public:
    MappedInput(base::Descriptor descriptor, std::size_t window_octets, bool keep)
        : descriptor_(std::move(descriptor)), window_(std::max(window_octets, page_octets())), keep_(keep) {}
    ~MappedInput() override {
        keep_ = false;
        unmap();
        for (const auto& [place, octets] : kept_) ::munmap(place, octets);
    }
    MappedInput(const MappedInput&) = delete;
    MappedInput& operator=(const MappedInput&) = delete;

    Window more(const std::byte* at, std::size_t need) override {
        const std::uint64_t offset = offset_of(at);
        if (keep_ && offset + need <= begin_offset_ + mapped_) {
            give_back(offset - begin_offset_);
            return window_at(offset, need);
        }
        unmap();
        struct stat status = {};
        if (::fstat(descriptor_.number(), &status) == 0) size_ = static_cast<std::uint64_t>(status.st_size);
        begin_offset_ = offset & ~static_cast<std::uint64_t>(page_octets() - 1);
        if (offset >= size_) {
            begin_offset_ = offset;
            return {begin_, begin_};
        }
        const auto lead = static_cast<std::size_t>(offset - begin_offset_);
        const std::uint64_t left = size_ - begin_offset_;
        mapped_ =
            static_cast<std::size_t>(keep_ ? left : std::min<std::uint64_t>(std::max(window_, lead + need), left));
        void* place =
            ::mmap(nullptr, mapped_, PROT_READ, MAP_PRIVATE, descriptor_.number(), static_cast<off_t>(begin_offset_));
        if (place == MAP_FAILED) {
            fault_ = fmt::format("mapping {} bytes failed: {}", mapped_, std::strerror(errno));
            mapped_ = 0;
            begin_offset_ = offset;
            return {begin_, begin_};
        }
        ::madvise(place, mapped_, MADV_SEQUENTIAL);
        begin_ = static_cast<const std::byte*>(place);
        return window_at(offset, need);
    }
    bool lasts() const override { return keep_; }
    std::uint64_t consumed(const std::byte* at) const override { return offset_of(at); }
    std::optional<std::uint64_t> total() const override { return size_; }

private:
    static constexpr std::size_t windows_behind = 2;

    /// What is mapped from there on, a window of it or as much as is needed.
    Window window_at(std::uint64_t offset, std::size_t need) const {
        const auto lead = static_cast<std::size_t>(offset - begin_offset_);
        const std::size_t left = mapped_ - lead;
        return {begin_ + lead, begin_ + lead + std::min(left, keep_ ? std::max(window_, need) : left)};
    }
    /// `at`: the number of bytes of the mapping that have been read.
    void give_back(std::uint64_t at) {
        if (at <= windows_behind * window_) return;
        const auto until = static_cast<std::size_t>(at - windows_behind * window_) & ~(page_octets() - 1);
        if (until <= given_back_) return;
        ::madvise(const_cast<std::byte*>(begin_) + given_back_, until - given_back_, MADV_DONTNEED);
        given_back_ = until;
    }
    void unmap() {
        given_back_ = 0;
        if (mapped_ > 0 && keep_)
            kept_.emplace_back(const_cast<std::byte*>(begin_), mapped_);
        else if (mapped_ > 0)
            ::munmap(const_cast<std::byte*>(begin_), mapped_);
        mapped_ = 0;
        begin_ = nullptr;
    }

    base::Descriptor descriptor_;
    std::size_t window_;
    bool keep_;
    std::vector<std::pair<void*, std::size_t>> kept_ = {};
    std::size_t mapped_ = 0;
    std::size_t given_back_ = 0;
    std::uint64_t size_ = 0;
};

/// A stream through a buffer that grows to the largest piece asked for.
class BufferedInput final : public Input {
public:
    BufferedInput(std::unique_ptr<OctetReader> reader, std::size_t octets, std::optional<std::uint64_t> total)
        : reader_(std::move(reader)), total_(total), capacity_(std::max<std::size_t>(octets, 64)) {
        buffer_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
        begin_ = end_ = buffer_.get();
    }

    Window more(const std::byte* at, std::size_t need) override {
        begin_offset_ = offset_of(at);
        const auto kept = static_cast<std::size_t>(end_ - at);
        if (need > capacity_) {
            auto larger = std::make_unique_for_overwrite<std::byte[]>(need);
            std::memcpy(larger.get(), at, kept);
            buffer_ = std::move(larger);
            capacity_ = need;
        } else {
            std::memmove(buffer_.get(), at, kept);
        }
        begin_ = buffer_.get();
        std::size_t have = kept;
        while (have < need) {
            const std::size_t got = reader_->read({buffer_.get() + have, capacity_ - have});
            if (got == 0) break;
            have += got;
        }
        stopped_ = have < need && reader_->stopped();
        if (have < need && !stopped_) fault_ = reader_->fault();
        end_ = begin_ + have;
        return {begin_, end_};
    }
    std::string_view compression() const override { return reader_->compression(); }
    std::uint64_t consumed(const std::byte* at) const override {
        const auto ahead = compression().empty() ? static_cast<std::uint64_t>(end_ - at) : 0;
        return reader_->consumed() - ahead;
    }
    std::optional<std::uint64_t> total() const override { return total_; }

private:
    std::unique_ptr<OctetReader> reader_;
    std::optional<std::uint64_t> total_;
    std::size_t capacity_;
    std::unique_ptr<std::byte[]> buffer_;
    const std::byte* end_ = nullptr;
};

bool compressed(int fd) {
    std::array<std::byte, 4> magic{};
    const ssize_t got = ::pread(fd, magic.data(), magic.size(), 0);
    if (got >= 2 && base::load_be16(magic.data()) == 0x1f8b) return true;
    if (got < 4) return false;
    return is_compression_magic(base::load_be32(magic.data()));
}

/// Opening a FIFO waits for its writer, and any signal ends that wait.
int open_patiently(const std::string& path, const std::function<bool()>& stop) {
    for (;;) {
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd >= 0 || errno != EINTR || (stop && stop())) return fd;
    }
}

bool map_it(int fd, const struct stat& status, Access access) {
    if (!S_ISREG(status.st_mode) || status.st_size == 0 || access == Access::read) return false;
    if (::lseek(fd, 0, SEEK_CUR) != 0 || compressed(fd)) return false;
    return access == Access::mapped || std::time(nullptr) - status.st_mtime > quiet_sec;
}

}  // namespace

base::Result<std::unique_ptr<Input>> open_input(const std::string& path, const InputOptions& options) {
    const bool standard = path == "-";
    // A copy: standard input itself stays open.
    base::Descriptor descriptor(standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                         : open_patiently(path, options.stop));
    const std::string shown = standard ? "standard input" : path;
    struct stat status = {};
    if (!descriptor || ::fstat(descriptor.number(), &status) != 0)
        return base::Failure{
            base::Error{.message = fmt::format("cannot be opened: {}", std::strerror(errno)), .path = shown}};
    if (S_ISDIR(status.st_mode))
        return base::Failure{base::Error{.message = "is a directory; name a capture file in it", .path = shown}};
    if (standard && ::isatty(STDIN_FILENO) == 1)
        return base::Failure{
            base::Error{.message = "is a terminal; pipe a capture into it or name a file", .path = shown}};
    if (map_it(descriptor.number(), status, options.access))
        return std::unique_ptr<Input>(
            std::make_unique<MappedInput>(std::move(descriptor), options.window_octets, options.keep));

    std::optional<std::uint64_t> total;
    if (S_ISREG(status.st_mode)) total = static_cast<std::uint64_t>(status.st_size);
    auto reader = decompress(std::make_unique<DescriptorReader>(std::move(descriptor), options.stop));
    return std::unique_ptr<Input>(std::make_unique<BufferedInput>(std::move(reader), options.buffer_octets, total));
}

}  // namespace capture::files
