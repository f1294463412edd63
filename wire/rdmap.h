#pragma once
#include <array>
#include <cstdint>

#include "wire/layout.h"

/// Remote Direct Memory Access Protocol. RFC 5040; Immediate Data RFC 7306 section 6. Atomics and Terminate have files
/// of their own.
namespace wire {

/// RFC 5040 section 4.1 and Figure 4; RFC 7306 section 4.
enum class RdmapOpcode : std::uint8_t {
    write = 0,
    read_request = 1,
    read_response = 2,
    send = 3,
    send_invalidate = 4,
    send_solicited = 5,
    send_solicited_invalidate = 6,
    terminate = 7,
    immediate = 8,
    immediate_solicited = 9,
    atomic_request = 10,
    atomic_response = 11,
};

inline constexpr ValueName rdmap_opcodes[] = {
    {0, "Write"},
    {1, "Read Request"},
    {2, "Read Response"},
    {3, "Send"},
    {4, "Send with Invalidate"},
    {5, "Send with SE"},
    {6, "Send with SE and Invalidate"},
    {7, "Terminate"},
    {8, "Immediate Data"},
    {9, "Immediate Data with SE"},
    {10, "Atomic Request"},
    {11, "Atomic Response"},
};

/// RFC 5040 section 4.1: the octet that DDP reserves for RDMAP.
struct RdmapControl {
    std::uint8_t version = 1;  ///< 0 is the RDMA Consortium's, also valid
    std::uint8_t reserved = 0;
    std::uint8_t opcode = 0;
};

/// RFC 5040 section 4.4.
struct RdmapReadRequest {
    std::uint32_t sink_stag = 0;
    std::uint64_t sink_offset = 0;
    std::uint32_t size = 0;
    std::uint32_t source_stag = 0;
    std::uint64_t source_offset = 0;
};

/// RFC 7306 section 6.2.
struct RdmapImmediate {
    std::uint64_t data = 0;
};

/// The four octets behind the control field of an untagged message that names no STag.
struct RdmapReserved {
    std::array<std::byte, 4> reserved{};
};
/// The same octets of a Send with Invalidate. RFC 5040 section 4.7.
struct RdmapInvalidate {
    std::uint32_t stag = 0;
};

template <>
inline constexpr auto layout_of<RdmapControl> = layout(
    "iwarp_rdma.control_field", "RDMAP control field", bits<&RdmapControl::version, 2>("iwarp_rdma.version", "Version"),
    bits<&RdmapControl::reserved, 2>("iwarp_rdma.rsv", "Reserved").hex(),
    bits<&RdmapControl::opcode, 4>("iwarp_rdma.opcode", "OpCode").hex().named(rdmap_opcodes));

template <>
inline constexpr auto layout_of<RdmapReadRequest> =
    layout("iwarp_rdma.rr", "Read request",
           bits<&RdmapReadRequest::sink_stag, 32>("iwarp_rdma.sinkstag", "Data Sink STag").hex(),
           bits<&RdmapReadRequest::sink_offset, 64>("iwarp_rdma.sinkto", "Data Sink Tagged Offset").hex(),
           bits<&RdmapReadRequest::size, 32>("iwarp_rdma.rdmardsz", "RDMA Read Message Size"),
           bits<&RdmapReadRequest::source_stag, 32>("iwarp_rdma.srcstag", "Data Source STag").hex(),
           bits<&RdmapReadRequest::source_offset, 64>("iwarp_rdma.srcto", "Data Source Tagged Offset").hex());

template <>
inline constexpr auto layout_of<RdmapImmediate> = layout(
    "rdma.immediate", "Immediate Data", bits<&RdmapImmediate::data, 64>("rdma.immediate.data", "Immediate Data").hex());

template <>
inline constexpr auto layout_of<RdmapReserved> =
    layout("", "", octets<&RdmapReserved::reserved>("iwarp_rdma.reserved", "Reserved"));

template <>
inline constexpr auto layout_of<RdmapInvalidate> =
    layout("", "", bits<&RdmapInvalidate::stag, 32>("iwarp_rdma.inval_stag", "Invalidate STag"));

inline constexpr std::uint32_t queue_send = 0;          ///< Sends and Immediate Data, RFC 5040 section 4.2
inline constexpr std::uint32_t queue_read_request = 1;  ///< also Atomic Requests, RFC 7306 section 5.2.1
inline constexpr std::uint32_t queue_terminate = 2;
inline constexpr std::uint32_t queue_atomic_response = 3;  ///< RFC 7306 section 5.2.2

constexpr bool rdmap_known(std::uint8_t opcode) {
    return opcode <= 11;
}
constexpr bool rdmap_tagged(std::uint8_t opcode) {
    return opcode == 0 || opcode == 2;
}
constexpr bool rdmap_invalidates(std::uint8_t opcode) {
    return opcode == 4 || opcode == 6;
}

/// The DDP queue an untagged operation belongs to.
constexpr std::uint32_t rdmap_queue(std::uint8_t opcode) {
    switch (static_cast<RdmapOpcode>(opcode)) {
        case RdmapOpcode::read_request:
        case RdmapOpcode::atomic_request: return queue_read_request;
        case RdmapOpcode::terminate: return queue_terminate;
        case RdmapOpcode::atomic_response: return queue_atomic_response;
        default: return queue_send;
    }
}

}  // namespace wire
