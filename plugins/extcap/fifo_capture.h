#pragma once
#include <string>

#include "plugins/extcap/arguments.h"

namespace plugins::extcap {

/// Writes frames into the fifo until Wireshark closes it or sends a signal, or the source ends. Returns the error as a
/// sentence that Wireshark shows; else empty.
std::string capture_into_fifo(const Arguments& arguments);

}  // namespace plugins::extcap
