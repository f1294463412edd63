#pragma once

namespace cli {

/// Replaces standard input, output and error if they were closed before the program began. Otherwise the next file that
/// is opened would become one of them, and a message would go into the capture. The replacements cannot be read or
/// written, as before.
void hold_standard_streams();

}  // namespace cli
