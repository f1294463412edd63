#pragma once
#include <cstdint>
#include <optional>

#include "tests/script/runner/octets.h"

namespace script {

/// One direction of a connection after the start frames. RFC 5044 section 4.
struct Framing {
    bool crc = true;
    bool markers = false;
    std::uint64_t position = 0;  ///< octets since the first FPDU's beginning, markers included
};

/// What a script gets wrong on purpose in one FPDU.
struct FpduFaults {
    std::optional<std::uint32_t> length;  ///< ULPDU_Length
    std::optional<std::uint32_t> crc;     ///< exclusive-or with the right one
    std::optional<Octets> pad;            ///< other pad octets, or another number of them
    std::optional<std::uint32_t> marker;  ///< FPDUPTR of the FPDU's markers
};
/// The FPDU of a ULPDU, with its markers. Advances `framing`.
Octets encode_fpdu(View ulpdu, Framing& framing, const FpduFaults& faults);

/// Takes one FPDU off the front of `stream` and returns its ULPDU; nothing while it is not complete. Throws Failure
/// where markers, pad or CRC are wrong.
std::optional<Octets> take_fpdu(Octets& stream, Framing& framing);

}  // namespace script
