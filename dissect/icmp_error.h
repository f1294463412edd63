#pragma once
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "dissect/dissection.h"
#include "wire/icmp.h"

namespace dissect {

/// An ICMP or ICMPv6 error, and the transport of the packet that it quotes.
struct IcmpError {
    enum class Transport : std::uint8_t { other, roce2, tcp };

    wire::IcmpErrorKind kind{};
    Transport transport = Transport::other;
    std::optional<std::uint32_t> mtu;  ///< of the next hop, if the packet is too long and the router names the MTU
};

/// No value if the frame is not such an error, or if too little of the quoted packet was captured to name its ends.
/// `bytes` is what the dissection describes.
std::optional<IcmpError> icmp_error(const Dissection& dissection, base::Bytes bytes);

}  // namespace dissect
