#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "capture/files/file_source.h"
#include "capture/files/ring_writer.h"
#include "capture/files/writer.h"
#include "cli/dump/options.h"
#include "cli/live.h"

namespace cli::dump {

/// The source of packets: a file or live interfaces.
struct Input {
    std::unique_ptr<capture::FileSource> file = {};
    std::unique_ptr<LiveSources> live = {};

    capture::Source& source() const { return file ? static_cast<capture::Source&>(*file) : *live; }
};

/// Opens `-r` or the interfaces of `-i`; an interface filters in the kernel. `stop` is asked while the program waits
/// for a file: true ends it.
base::Result<Input> open_input(const DumpOptions& options, const std::string& expression, std::function<bool()> stop);

/// The file of `-w`, section by section as the source has them.
class Kept {
public:
    capture::WriteStatus write(const wire::Frame& frame, const capture::Source& source) {
        const capture::InterfaceInfo& interface = source.interfaces()[frame.interface];
        if (interface.section != section_ && !go_to(interface.section, source)) return capture::WriteStatus::error;
        return writer->write(frame, interface);
    }
    /// Describes the interfaces of the present section, as far as the source knows them.
    base::Result<void> describe(const capture::Source& source);
    /// Writes the counts. `complete` if the source was read to its end: then sections without packets are kept too.
    base::Result<void> close(const capture::Source& source, bool complete);

    std::unique_ptr<capture::Writer> writer = {};
    capture::RingWriter* ring = nullptr;  ///< the writer, if it makes several files

private:
    base::Result<void> go_to(std::uint32_t section, const capture::Source& source);
    void count(const capture::Source& source);

    std::uint32_t section_ = 0;
    std::size_t first_ = 0;  ///< interface of the section
};

/// Opens the file of `-w`; empty without that option.
base::Result<Kept> open_kept(const DumpOptions& options, const Input& input);

}  // namespace cli::dump
