#pragma once

namespace cli {

/// Takes the places of standard input, output and error that were closed before the program began: else what is opened
/// next would be one of them, and a message would go into the capture. What is there instead cannot be read or written
/// to, as before.
void hold_standard_streams();

}  // namespace cli
