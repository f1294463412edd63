#pragma once
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "metrics/figures/device_figures.h"

namespace exporters {

/// The figures of this machine's devices, as one JSON object without a newline: docs/output.md, "Devices".
std::string device_json(const metrics::DeviceFigures& figures, int indent = -1);

/// The reverse: reads the object of a daemon, or of a file. Unknown members are skipped; an error says what is missing
/// or of the wrong type. At most 65536 counters are accepted.
base::Result<metrics::DeviceFigures> parse_device_json(std::string_view text);

/// Reads a file: that object, or a document that has it as `devices`, as `rdmascope flows --json` writes, or as
/// `result`, as a daemon answers.
base::Result<metrics::DeviceFigures> parse_device_document(std::string_view text);

}  // namespace exporters
