#pragma once
#include <cstddef>
#include <cstdint>

#include "dissect/dissection.h"
#include "metrics/address.h"
#include "wire/frame.h"

namespace metrics {

/// What can be told of a frame without remembering any other: the innermost addresses as dissect::Dissection has them,
/// and the few values of a BTH or a TCP header that hosts are counted by.
struct Glance {
    enum class Kind : std::uint8_t { other, bth, tcp, mac_control };

    Address source;  ///< Family::none where the frame has no network layer
    Address destination;
    Kind kind = Kind::other;
    std::uint8_t opcode = 0;           ///< of the BTH
    std::uint8_t flags = 0;            ///< of TCP, FIN lowest
    std::uint32_t identification = 0;  ///< of IPv4; 0 where there is none
    std::uint32_t offset = 0;          ///< of the BTH, TCP header or MAC control opcode
    std::uint32_t selector = 0;        ///< destination QPN, or both ports
    std::uint32_t position = 0;        ///< PSN, or sequence number
    std::uint32_t payload = 0;         ///< octets on the wire
    bool plain = false;                ///< see is_plain
};

/// The usual shapes are read in place; all others are dissected into `scratch`. The addresses of a fragment are those
/// of the fragmented datagram, so that all of its fragments say the same.
void glance(const wire::Frame& frame, dissect::Dissection& scratch, Glance& out);

}  // namespace metrics
