#pragma once
#include <cstdint>

#include "dissect/dissector.h"
#include "metrics/figures/flow_key.h"
#include "metrics/figures/packet_class.h"
#include "metrics/measure/account/frame_context.h"
#include "metrics/measure/flow/path_key.h"

namespace metrics::inline measure::inline packet {

/// An InfiniBand transport packet, reduced to what the metrics need and independent of the frame's bytes, so that a few
/// dozen can wait while their flows are fetched from memory.
struct PacketRecord {
    FlowKey key;
    std::uint32_t hash = 0;
    std::uint32_t flow = 0xffffffff;  ///< FlowIndex, once it is known
    std::int64_t time_ns = 0;
    std::uint64_t frame = 0;
    std::uint64_t repeats_frame = 0;  ///< that carried the same PSN before; 0: none, or not looked for
    FrameContext context;
    std::uint32_t interface = 0;
    std::uint32_t psn = 0;
    std::uint32_t wire_length = 0;     ///< bytes of the frame, as it was before a mirror cut it
    std::uint32_t overhead = 0;        ///< that the link adds to it
    std::uint32_t payload_length = 0;  ///< without pad
    std::uint32_t dma_length = 0;
    std::uint32_t remote_key = 0;
    std::uint32_t source_qp = 0xffffffff;
    std::uint64_t virtual_address = 0;
    std::uint16_t identification = 0;  ///< IPv4's; 0 = none
    std::uint16_t udp_port = 0;        ///< RoCEv2: the source port
    PathKey path_key;
    PacketClass packet_class;
    std::uint8_t opcode = 0;
    std::uint8_t syndrome = 0;  ///< without an AETH: a value without meaning
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;  ///< 0 = none
    wire::Direction direction = wire::Direction::unknown;
    bool becn = false;
    bool crc_bad = false;
    bool crc_zero = false;  ///< of a bad ICRC: it is 0, for the adapter fills it in after the capture
    bool has_remote_key = false;

    std::uint32_t wire_bytes() const { return wire_length + overhead; }
};

/// Adds what the link's header says: the priority of the outermost VLAN tag, or the service level.
PacketClass with_link(PacketClass packet_class, const dissect::Dissection& frame_dissection, base::Bytes bytes);
/// The class of a packet without a BTH.
inline PacketClass packet_class_of(const dissect::Dissection& dissection, const wire::Frame& frame) {
    const PacketClass of_ip = PacketClass::of(dissection.network.traffic_class);
    if (!dissection.has(dissect::LayerId::vlan) && !dissection.has(dissect::LayerId::lrh)) [[likely]]
        return of_ip;
    return with_link(of_ip, dissection, frame.bytes);
}

/// False if the unit is no packet that a flow could have: no BTH, or an undefined opcode.
bool make_record(const dissect::Unit& unit, const FrameContext& context, PacketRecord& out);

/// The same of a frame that HostClock has found to be plain (FrameContext::plain_bth), without a dissector.
void make_plain_record(const wire::Frame& frame, const FrameContext& context, bool crc_bad, PacketRecord& out);
/// Whether the ICRC of a plain frame is wrong.
bool has_bad_crc(const wire::Frame& frame);

}  // namespace metrics::measure::packet
