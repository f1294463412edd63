#pragma once
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "dissect/dissection.h"
#include "wire/icmp.h"

namespace dissect {

/// An ICMP or ICMPv6 error, and which transport the packet had that it quotes.
struct IcmpError {
    enum class Transport : std::uint8_t { other, roce2, tcp };

    wire::IcmpErrorKind kind{};
    Transport transport = Transport::other;
    std::optional<std::uint32_t> mtu;  ///< of the next hop, where the packet is too long and the router names it
};

/// Without value where the frame is no such error, or too little of the quoted packet was captured to name its ends.
/// `bytes` is what the dissection describes.
std::optional<IcmpError> icmp_error(const Dissection& dissection, base::Bytes bytes);

}  // namespace dissect
