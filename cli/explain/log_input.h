#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace cli::explain {

/// Receives a line without its end.
using LineSink = std::function<void(std::string_view line)>;
/// Called when everything available was read; false ends the reading.
using PauseSink = std::function<bool()>;

/// Reads a log to its end. `path` "-" is standard input.
base::Result<void> read_log(const std::string& path, const LineSink& on_line);

/// Reads a log and waits for more: a pipe until it ends, a file without end. If a file is replaced, the old file is
/// read to its end first, then the new one from its beginning. A file that is cut is read from its beginning.
base::Result<void> follow_log(const std::string& path, const LineSink& on_line, const PauseSink& on_pause);

}  // namespace cli::explain
