#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "capture/files/input.h"
#include "capture/source.h"

namespace capture::inline files {

/// libpcap's limit on a snapshot, and what `-s 0` stands for.
constexpr std::uint32_t max_snaplen = 262'144;
/// The most bytes that a frame in a file may have; a greater length counts as damage.
constexpr std::uint32_t max_frame_octets = std::uint32_t{16} << 20;

enum class FileFormat : std::uint8_t { pcap, pcapng, erf };

/// A capture file read from beginning to end. Frames are seen in place: nothing is copied or allocated for a frame.
///
/// Memory is bounded by one window and the metadata of interfaces (32 MiB), whatever the file holds; zstd may need 128
/// MiB more. If the file says that a frame was shorter on the wire than its captured length, its wire length is set to
/// the captured length. A frame of a Simple Packet Block has no time: it gets the time of the latest frame before it
/// that has one, or 0.
class FileSource : public Source {
public:
    virtual FileFormat format() const = 0;
    /// `gzip`, `zstd`, `lz4` or empty.
    std::string_view compression() const { return input_->compression(); }

    struct Progress {
        std::uint64_t octets = 0;                 ///< of the file as it is stored
        std::optional<std::uint64_t> total = {};  ///< no value for a stream
    };
    Progress progress() const { return {input_->consumed(at_), input_->total()}; }

    bool frames_last() const final { return input_->lasts(); }
    const std::vector<InterfaceInfo>& interfaces() const final { return interfaces_; }
    const base::Error& error() const final { return error_; }

protected:
    FileSource(std::unique_ptr<Input> input, std::string path) : input_(std::move(input)) {
        error_.path = std::move(path);
        at_ = end_ = input_->begin();
    }

    std::size_t available() const { return static_cast<std::size_t>(end_ - at_); }
    /// True if at least `need` bytes are in place afterwards.
    bool refill(std::size_t need) {
        const Input::Window window = input_->more(at_, need);
        at_ = window.at;
        end_ = window.end;
        return available() >= need;
    }
    ReadStatus fail(std::uint64_t offset, std::string message);
    /// Why the front could not be read: after fail(), or after a request to end the input.
    base::Failure<base::Error> front_failure() {
        if (!failed_) fail(0, "was stopped before a capture came");
        return base::Failure{error_};
    }
    /// The data ended at `at_` inside `what`, which needs `need` bytes. That is an error, unless the input was asked to
    /// end.
    ReadStatus cut_short(std::string_view what, std::uint64_t need);
    static std::string cut_message(std::string_view what, std::uint64_t have, std::uint64_t need);

    std::unique_ptr<Input> input_;
    const std::byte* at_ = nullptr;
    const std::byte* end_ = nullptr;
    std::uint64_t frames_ = 0;
    std::vector<InterfaceInfo> interfaces_ = {};
    base::Error error_ = {};
    bool failed_ = false;  ///< data after an error is not read
};

using FileOptions = InputOptions;

/// Opens a pcap, pcapng or ERF file, `-` for standard input, plain or compressed. Interfaces that are described before
/// the first frame are known at once.
base::Result<std::unique_ptr<FileSource>> open_file(const std::string& path, const FileOptions& options = {});

/// Whether the file begins as open_file() expects it, and not as text does. False if it cannot be read.
bool begins_as_capture(const std::string& path);

}  // namespace capture::files
