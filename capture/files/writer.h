#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "base/error.h"
#include "capture/files/file_source.h"
#include "capture/source.h"
#include "wire/frame.h"

namespace capture::inline files {

/// The precision of timestamps in a pcap file; pcapng always holds nanoseconds.
enum class TimePrecision : std::uint8_t {
    automatic,  ///< nanoseconds if the first interface counts finer than microseconds
    micro,
    nano,
};

struct WriterOptions {
    FileFormat format = FileFormat::pcapng;
    TimePrecision precision = TimePrecision::automatic;
    std::uint32_t snaplen = max_snaplen;  ///< of a pcap file's header; pcapng keeps each interface's own
    bool packet_buffered = false;         ///< `-U`: every frame reaches the file at once
    SectionInfo section = {};             ///< pcapng; an empty application or os is filled with ours
    std::size_t buffer_octets = std::size_t{1} << 20;
};

enum class WriteStatus : std::uint8_t {
    ok,
    finished,  ///< a ring has as many files as it may (`-G` with `-W`); the frame is not kept
    error,     ///< see error(); nothing can be written any more
};

/// Where frames are kept. The destructor closes without reporting errors: call close().
class Writer {
public:
    virtual ~Writer() = default;
    Writer() = default;
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    /// Describes an interface before its first frame, so that a capture without frames has it too.
    virtual base::Result<void> describe(const InterfaceInfo& interface) = 0;

    /// Keeps a frame of `interface`. Interfaces that compare equal are one in the file.
    [[nodiscard]] virtual WriteStatus write(const wire::Frame& frame, const InterfaceInfo& interface) = 0;

    /// The frames from here on belong to another section of the source, and a pcapng file gets a new section too.
    /// Counts of the earlier section's interfaces have been written before. A pcap file has no sections.
    virtual base::Result<void> begin_section(const SectionInfo&) { return {}; }

    /// The counts of `interface` that the end of the section will state; a pcap file has no place for them.
    virtual void count(const InterfaceInfo& interface, const Statistics& statistics) = 0;

    virtual base::Result<void> flush() = 0;
    virtual base::Result<void> close() = 0;

    /// Bytes of the file so far, those still in the buffer included.
    virtual std::uint64_t octets() const = 0;
    /// Meaningful after WriteStatus::error.
    virtual const base::Error& error() const = 0;
};

/// Creates or truncates `path`; `-` is standard output.
base::Result<std::unique_ptr<Writer>> open_writer(const std::string& path, const WriterOptions& options = {});

/// Writes to a file that is open. Messages call the file `path`.
base::Result<std::unique_ptr<Writer>> open_writer(base::Descriptor file, const std::string& path,
                                                  const WriterOptions& options);

/// By name: `.pcap` and `.cap` are pcap, all others pcapng.
FileFormat format_of_name(std::string_view path);

}  // namespace capture::files
