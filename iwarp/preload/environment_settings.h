#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "iwarp/iwarp.h"

namespace iwarp::preload {

/// What the environment says, `RDMASCOPE_SOFTWARE_*`; `rdmascope run --software` sets it from its options.
///
/// | variable | value | default |
/// | --- | --- | --- |
/// | ADDRESS | addresses that the device answers for, with commas between | all of this machine |
/// | CRC | on, off: asked for in connections | on |
/// | MPA_REVISION | 1, 2: of connections begun, and the highest accepted | 2 |
/// | PEER_TO_PEER | on, off: the initiator sends a ready-to-receive message | on with revision 2 |
/// | MARKERS | on, off: asked for in what is received | off |
/// | STRICT | on, off: bytes reach memory only after their CRC | off |
/// | VERBOSE | on, off: report every connection that failed or ended, or none | the request at fault |
/// | MAX_ULPDU | 128 to 64768 bytes, 0: what fits a segment of the path | 0 |
/// | RECEIVE_PATIENCE | 0 to 600000 ms that a message waits for a receive | 5000 |
struct Settings {
    std::vector<std::string> addresses;  ///< numeric; empty: all
    ConnectionOptions connection;
    /// What is reported about connections on standard error.
    enum class Telling : std::uint8_t { nothing, faults, all } telling = Telling::faults;

    /// Throws Error that names the variable and its valid values.
    static Settings from_environment();
};

}  // namespace iwarp::preload
