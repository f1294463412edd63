#pragma once
#include <string>

namespace support {

/// The folder of the captures. One source alone holds the path: on every command line it would keep ccache from using
/// what another clone compiled.
std::string pcaps();

}  // namespace support
