#include "metrics/measure/packet/packet_record.h"

#include <bit>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "metrics/figures/path_figures.h"
#include "metrics/measure/flow/flow_table.h"
#include "metrics/measure/packet/opcode_traits.h"
#include "metrics/measure/packet/packet_addresses.h"
#include "metrics/measure/packet/packet_summary.h"
#include "wire/aeth.h"
#include "wire/bth_opcode.h"
#include "wire/icrc.h"

namespace metrics::inline measure::inline packet {

namespace {

/// The byte of a layer of the frame, if it was captured.
std::optional<std::uint8_t> byte_of(const dissect::Dissection& frame, base::Bytes bytes, dissect::LayerId layer,
                                    std::uint32_t offset) {
    if (!frame.has(layer)) return {};
    const std::uint64_t place = std::uint64_t{frame.find(layer)->offset} + offset;
    if (place >= bytes.size()) return {};
    return base::load_u8(bytes.data() + place);
}

/// The flow label of the innermost IPv6 header. RFC 8200, 3.
std::uint32_t flow_label_of_packet(const dissect::Unit& unit) {
    const dissect::Network& network = unit.dissection.network;
    constexpr std::uint32_t source_at = 8;
    if (network.family != wire::AddressFamily::ipv6 || !unit.in_frame || network.source_offset < source_at) return 0;
    return base::load_be32(unit.bytes.data() + network.source_offset - source_at) & 0xfffffu;
}

/// The UDP source port of the outermost tunnel, by which the network between its ends hashes. RFC 7348, 5; RFC 8926,
/// 3.3.
std::uint16_t outer_port_of(const dissect::Unit& unit) {
    const dissect::Dissection& frame = unit.frame_dissection;
    if (!frame.has(dissect::LayerId::vxlan) && !frame.has(dissect::LayerId::vxlan_gpe) &&
        !frame.has(dissect::LayerId::geneve)) [[likely]]
        return 0;
    for (unsigned i = 0; i < frame.own_layer_count(); ++i) {
        const dissect::LayerRef& layer = frame.layers[i];
        if (layer.id == dissect::LayerId::udp)
            return layer.length < 2 ? std::uint16_t{0} : base::load_be16(unit.frame.bytes.data() + layer.offset);
    }
    return 0;
}

Entropy entropy_of(const dissect::Unit& unit) {
    if (unit.transport == wire::Transport::roce2)
        return Entropy::of_udp(unit.dissection.source_port, flow_label_of_packet(unit), outer_port_of(unit));
    const dissect::LayerRef* const lrh = unit.frame_dissection.find(dissect::LayerId::lrh);
    constexpr std::uint32_t lrh_bytes = 8;
    if (unit.transport != wire::Transport::infiniband || lrh == nullptr || lrh->length < lrh_bytes) return {};
    // IBTA vol. 1, 7.7: service level, destination LID, source LID.
    const std::byte* const header = unit.frame.bytes.data() + lrh->offset;
    return Entropy::of_infiniband(base::load_be16(header + 6), base::load_be16(header + 2),
                                  static_cast<std::uint8_t>(base::load_u8(header + 1) >> 4));
}

}  // namespace

PacketClass with_link(PacketClass packet_class, const dissect::Dissection& frame_dissection, base::Bytes bytes) {
    if (const auto tag = byte_of(frame_dissection, bytes, dissect::LayerId::vlan, 0))
        return packet_class.with_vlan_priority(static_cast<std::uint8_t>(*tag >> 5));
    if (const auto level = byte_of(frame_dissection, bytes, dissect::LayerId::lrh, 1))
        return packet_class.with_service_level(static_cast<std::uint8_t>(*level >> 4));
    return packet_class;
}

bool make_record(const dissect::Unit& unit, const FrameContext& context, PacketRecord& out) {
    const dissect::Dissection& dissection = unit.dissection;
    if (!dissection.has(dissect::LayerId::bth)) return false;
    const dissect::BthSummary& bth = dissection.bth;
    const wire::BthOpcode& opcode = wire::bth_opcode(bth.opcode);
    if (!opcode.known()) return false;
    out.key.source = source_address(dissection, unit.bytes);
    out.key.destination = destination_address(dissection, unit.bytes);
    out.key.selector = bth.destination_qp;
    out.key.transport = unit.transport;
    out.key.service = service_of(opcode.service);
    out.hash = hash_of(out.key);
    out.flow = 0xffffffff;
    out.time_ns = unit.frame.time_ns;
    out.frame = unit.frame.number;
    out.repeats_frame = unit.repeats_frame;
    out.context = context;
    out.interface = unit.frame.interface;
    out.psn = bth.psn;
    out.wire_length = unit.frame.wire_length + unit.frame_dissection.cut_octets;
    out.overhead = unit.transport == wire::Transport::infiniband ? 0 : ethernet_overhead;
    out.payload_length = bth.payload_length;
    out.opcode = bth.opcode;
    out.traffic_class = static_cast<std::uint8_t>(dissection.network.traffic_class | dissection.network.ecn());
    out.packet_class = with_link(PacketClass::of(dissection.network.traffic_class, bth.partition_key),
                                 unit.frame_dissection, unit.frame.bytes);
    const bool routed = dissection.network.family == wire::AddressFamily::ipv4 ||
                        dissection.network.family == wire::AddressFamily::ipv6;
    out.hop_limit = routed ? dissection.network.hop_limit : std::uint8_t{0};
    out.identification = 0;
    if (dissection.network.family == wire::AddressFamily::ipv4 && unit.in_frame)
        // The source address is 12 bytes into the header, the identification 4.
        out.identification = base::load_be16(unit.bytes.data() + dissection.network.source_offset - 8);
    out.udp_port = unit.transport == wire::Transport::roce2 ? dissection.source_port : std::uint16_t{0};
    out.path_key = PathKey(entropy_of(unit), out.hop_limit);
    out.direction = unit.frame.direction;
    out.becn = bth.becn;
    out.crc_bad = bth.icrc == dissect::CrcStatus::bad || bth.vcrc == dissect::CrcStatus::bad;
    out.crc_zero = out.crc_bad && bth.icrc == dissect::CrcStatus::bad &&
                   base::load_be32(unit.bytes.data() + dissection.find(dissect::LayerId::icrc)->offset) == 0;
    // A header that the snap length or the end of the packet cut has no values.
    const bool reth = dissection.has(dissect::LayerId::reth);
    out.has_remote_key = reth || dissection.has(dissect::LayerId::atomiceth);
    out.dma_length = reth ? bth.dma_length : 0;
    out.remote_key = out.has_remote_key ? bth.remote_key : 0;
    out.virtual_address = out.has_remote_key ? bth.virtual_address : 0;
    out.source_qp = dissection.has(dissect::LayerId::deth) ? bth.source_qp : 0xffffffff;
    out.syndrome = dissection.has(dissect::LayerId::aeth) ? bth.syndrome : wire::no_credit_limit;
    return true;
}

// Offsets are those of the layouts in wire/: the shape was checked, so that nothing here can miss.
void make_plain_record(const wire::Frame& frame, const FrameContext& context, bool crc_bad, PacketRecord& out) {
    const std::byte* const first = frame.bytes.data();
    const std::byte* const network = first + 14;
    const std::byte* const bth = first + context.plain_bth;
    // All is read before anything is written: as far as the compiler knows, bytes that are stored might be those that
    // are read.
    const std::uint8_t number = base::load_u8(bth);
    const wire::BthOpcode& opcode = wire::bth_opcode(number);
    const unsigned header_count = opcode.header_count;
    const std::uint32_t headers = 12u + opcode.header_octets;
    const bool has_payload = opcode.has_payload;
    const Service service = service_of(opcode.service);
    const std::uint32_t flags_and_qp = base::load_be32(bth + 4);
    const std::uint32_t psn = base::load_be32(bth + 8) & 0xffffff;
    const std::uint32_t pad = base::load_u8(bth + 1) >> 4 & 3u;
    const std::uint8_t traffic_class = base::load_u8(network + 1);
    const std::uint8_t hop_limit = base::load_u8(network + 8);
    const std::uint16_t identification = base::load_be16(network + 4);
    const std::uint16_t udp_port = base::load_be16(network + 20);
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    std::memcpy(&source, network + 12, 4);
    std::memcpy(&destination, network + 16, 4);
    const std::byte* const icrc = first + frame.bytes.size() - 4;

    // The addresses as the key has them, stored by halves: loading at once what was stored apart would stall.
    constexpr unsigned place = std::endian::native == std::endian::little ? 0 : 32;
    const std::uint64_t source_word = std::uint64_t{source} << place;
    const std::uint64_t destination_word = std::uint64_t{destination} << place;
    const auto set = [](Address& address, std::uint64_t word) {
        constexpr std::uint64_t none = 0;
        std::memcpy(address.octets.data(), &word, 8);
        std::memcpy(address.octets.data() + 8, &none, 8);
    };
    out.key.source.family = out.key.destination.family = wire::AddressFamily::ipv4;
    set(out.key.source, source_word);
    set(out.key.destination, destination_word);
    out.key.selector = flags_and_qp & 0xffffff;
    out.key.transport = wire::Transport::roce2;
    out.key.service = service;
    out.hash = hash_of({source_word, 0, destination_word, 0}, flags_and_qp & 0xffffff, wire::Transport::roce2, service);
    out.flow = 0xffffffff;
    out.time_ns = frame.time_ns;
    out.frame = frame.number;
    out.repeats_frame = 0;
    out.context = context;
    out.interface = frame.interface;
    out.psn = psn;
    out.wire_length = frame.wire_length;
    out.overhead = ethernet_overhead;
    out.payload_length = has_payload ? static_cast<std::uint32_t>(icrc - bth) - headers - pad : 0;
    out.dma_length = 0;
    out.remote_key = 0;
    out.source_qp = 0xffffffff;
    out.virtual_address = 0;
    out.identification = identification;
    out.udp_port = udp_port;
    out.path_key = PathKey::of_plain(udp_port, hop_limit);
    out.opcode = number;
    out.syndrome = wire::no_credit_limit;
    out.traffic_class = traffic_class;
    out.packet_class = PacketClass::of(traffic_class, base::load_be16(bth + 2));
    out.hop_limit = hop_limit;
    out.direction = frame.direction;
    out.becn = (flags_and_qp & 0x40000000) != 0;
    out.has_remote_key = false;
    const std::byte* at = bth + 12;
    for (unsigned i = 0; i < header_count; ++i) {
        switch (opcode.headers[i]) {
            case wire::ExtendedHeader::reth: out.dma_length = base::load_be32(at + 12); [[fallthrough]];
            case wire::ExtendedHeader::atomiceth:
                out.virtual_address = base::load_be64(at);
                out.remote_key = base::load_be32(at + 8);
                out.has_remote_key = true;
                break;
            case wire::ExtendedHeader::deth: out.source_qp = base::load_be24(at + 5); break;
            case wire::ExtendedHeader::aeth: out.syndrome = base::load_u8(at); break;
            default: break;
        }
        at += wire::size_of_header(opcode.headers[i]);
    }
    out.crc_bad = crc_bad;
    out.crc_zero = crc_bad && base::load_be32(icrc) == 0;
}

bool has_bad_crc(const wire::Frame& frame) {
    const std::byte* const network = frame.bytes.data() + 14;
    const std::byte* const bth = frame.bytes.data() + plain_bth_offset;
    const std::byte* const icrc = frame.bytes.data() + frame.bytes.size() - 4;
    wire::IcrcPieces pieces;
    pieces.network = base::Bytes(network, 20);
    pieces.udp = base::Bytes(network + 20, 8);
    pieces.transport = base::Bytes(bth, static_cast<std::size_t>(icrc - bth));
    return wire::icrc(pieces) != base::load_be32(icrc);
}

}  // namespace metrics::measure::packet
