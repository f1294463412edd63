#pragma once
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "metrics/figures/device_figures.h"

namespace exporters {

/// What this machine's devices say, as one JSON object without a newline: docs/output.md, "Devices".
std::string device_json(const metrics::DeviceFigures& figures, int indent = -1);

/// The same, read: of a daemon, or of a file. Members that are not known are passed over; an error says what is missing
/// or of the wrong type. At most 65536 counters are taken.
base::Result<metrics::DeviceFigures> parse_device_json(std::string_view text);

/// Of a file: that object, or one that has it as `devices`, as `rdmascope flows --json` writes, or as `result`, as a
/// daemon answers.
base::Result<metrics::DeviceFigures> parse_device_document(std::string_view text);

}  // namespace exporters
