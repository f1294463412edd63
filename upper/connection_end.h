#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "wire/transport.h"

namespace upper {

/// One end of a connection: address, and queue pair or TCP port. Of RoCE and InfiniBand, a flow knows its destination's
/// queue pair alone.
struct Endpoint {
    std::array<std::byte, 16> address = {};
    wire::AddressFamily family = wire::AddressFamily::none;
    std::uint32_t number = 0;  ///< QPN or port; 0 where it is not known

    bool operator==(const Endpoint&) const = default;
};

}  // namespace upper
