#pragma once
#include <cstdint>

#include "metrics/figures/operation.h"
#include "tests/support/captures.h"
#include "wire/bth_opcode.h"

namespace model {

enum class Framing : std::uint8_t { roce2_ipv4, roce2_ipv6, roce1, infiniband };

/// A packet of the model: what goes into its octets, and what is not on the wire.
struct Packet {
    // on the wire
    std::uint32_t source_host = 0;
    std::uint32_t destination_host = 0;
    std::uint32_t destination_qp = 0;
    std::uint32_t wire_psn = 0;  ///< 24 bits
    std::uint32_t payload = 0;   ///< octets, pad not counted
    std::uint32_t msn = 0;
    std::uint32_t dma_length = 0;
    std::uint32_t flow_label = 0;  ///< of IPv6
    std::uint64_t virtual_address = 0;
    std::uint16_t source_port = 0;
    std::uint16_t identification = 0;  ///< of IPv4
    std::uint16_t pause_quanta = 0;
    std::uint8_t opcode = 0;
    std::uint8_t syndrome = 0;
    std::uint8_t ecn = 0;
    std::uint8_t hop_limit = 64;
    bool ack_request = false;
    bool pause = false;  ///< an IEEE 802.3 pause frame instead of all that

    // known to the model alone
    bool again = false;         ///< transmitted before
    bool doubled = false;       ///< a copy that the network made
    bool late = false;          ///< the network held it back
    std::uint32_t side = 0;     ///< the QP that sent it
    std::uint64_t psn = 0;      ///< packets since the start of the PSN space it counts in
    std::uint64_t message = 0;  ///< its number among the requester's messages

    const wire::BthOpcode& meaning() const { return wire::bth_opcode(opcode); }
    bool request() const { return !pause && meaning().role == wire::BthRole::request; }
    bool response() const { return !pause && meaning().operation == wire::BthOperation::read_response; }
    bool acknowledges() const { return !pause && meaning().has(wire::ExtendedHeader::aeth); }
    bool notification() const { return !pause && meaning().role == wire::BthRole::notification; }
    bool data() const { return request() || response(); }
};

/// The opcode of packet `index` of `packets` of a message.
std::uint8_t opcode_of(metrics::Operation operation, std::uint64_t index, std::uint64_t packets);
std::uint8_t response_opcode(std::uint64_t index, std::uint64_t packets);
inline constexpr std::uint8_t opcode_acknowledge = 0x11;
inline constexpr std::uint8_t opcode_atomic_acknowledge = 0x12;
inline constexpr std::uint8_t opcode_cnp = 0x81;

/// Octets of the frame, as a capture holds it.
std::uint32_t frame_octets(const Packet& packet, Framing framing);
/// Octets that it occupies on the link: on Ethernet with preamble, FCS and gap.
std::uint32_t link_octets(const Packet& packet, Framing framing);

/// The frame. `checked`: with its ICRC (and VCRC), else zeros stand there.
support::KeptFrame emit(const Packet& packet, Framing framing, std::int64_t time_ns, bool checked);

/// The frame in a VXLAN tunnel between two other hosts, with the outer source port.
support::KeptFrame wrap_in_vxlan(const support::KeptFrame& inner, const Packet& packet, std::uint16_t outer_port);
/// Octets that the tunnel adds in front.
inline constexpr std::uint32_t vxlan_octets = 14 + 20 + 8 + 8;

}  // namespace model
