#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace cli::explain {

/// Receives a line without its end.
using LineSink = std::function<void(std::string_view line)>;
/// Is called when all that there was has been read; false ends the reading.
using PauseSink = std::function<bool()>;

/// Reads a log to its end. `path` "-" is standard input.
base::Result<void> read_log(const std::string& path, const LineSink& on_line);

/// Reads a log and waits for more: until a pipe ends, or for ever. A file that was replaced or cut is read from its
/// beginning.
base::Result<void> follow_log(const std::string& path, const LineSink& on_line, const PauseSink& on_pause);

}  // namespace cli::explain
