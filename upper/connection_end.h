#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "wire/transport.h"

namespace upper {

/// One end of a connection: address, and queue pair or TCP port. Packets of RoCE and InfiniBand show the destination's
/// queue pair only.
struct Endpoint {
    std::array<std::byte, 16> address = {};
    wire::AddressFamily family = wire::AddressFamily::none;
    std::uint32_t number = 0;  ///< QPN or port; 0 if unknown

    bool operator==(const Endpoint&) const = default;
};

}  // namespace upper
