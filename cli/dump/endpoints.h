#pragma once
#include <functional>
#include <memory>
#include <string>

#include "capture/file_source.h"
#include "capture/ring.h"
#include "capture/writer.h"
#include "cli/dump/options.h"
#include "cli/live.h"

namespace cli::dump {

/// Where packets come from: one of two kinds, and what both can do.
struct Input {
    std::unique_ptr<capture::FileSource> file = {};
    std::unique_ptr<LiveSources> live = {};

    capture::Source& source() const { return file ? static_cast<capture::Source&>(*file) : *live; }
};

/// Opens `-r` or the interfaces of `-i`; an interface filters in the kernel.
/// `stop` is asked while a file is waited for: true ends it.
capture::Result<Input> open_input(const DumpOptions& options, const std::string& expression,
                                  std::function<bool()> stop);

/// Where packets are kept.
struct Kept {
    std::unique_ptr<capture::Writer> writer = {};
    capture::RingWriter* ring = nullptr;  ///< the writer, where it makes several files
};

/// Opens `-w`; empty where there is none.
capture::Result<Kept> open_kept(const DumpOptions& options, const Input& input);

}  // namespace cli::dump
