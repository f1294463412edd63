#include "dissect/output/unit_names.h"

#include "wire/bth_opcode.h"
#include "wire/rdmap.h"

namespace dissect::output {

std::string_view name_of(Transport transport) {
    switch (transport) {
        case Transport::roce2: return "RoCEv2";
        case Transport::roce1: return "RoCEv1";
        case Transport::infiniband: return "InfiniBand";
        case Transport::iwarp: return "iWARP";
    }
    return "";
}

std::string_view key_of(Transport transport) {
    switch (transport) {
        case Transport::roce2: return "roce2";
        case Transport::roce1: return "roce1";
        case Transport::infiniband: return "infiniband";
        case Transport::iwarp: return "iwarp";
    }
    return "";
}

namespace {

bool is_start_frame(const Dissection& d) { return d.has(LayerId::mpa_request) || d.has(LayerId::mpa_reply); }

std::string_view send_of(const wire::BthOpcode& opcode) {
    return opcode.has_immediate() ? "send_immediate" : opcode.has_invalidate() ? "send_invalidate" : "send";
}

std::string_view acknowledgement_of(std::uint8_t syndrome) {
    switch (syndrome >> 5 & 3) {
        case 1: return "rnr_nak";
        case 3: return "nak";
        default: return "acknowledge";
    }
}

std::string_view packet_operation(const Dissection& d) {
    if (d.has(LayerId::mad)) return "management";
    const wire::BthOpcode& opcode = wire::bth_opcode(d.bth.opcode);
    switch (opcode.operation) {
        case wire::BthOperation::unknown: return {};
        case wire::BthOperation::send: return send_of(opcode);
        case wire::BthOperation::write: return opcode.has_immediate() ? "write_immediate" : "write";
        case wire::BthOperation::read_request: return "read";
        case wire::BthOperation::read_response: return "read_response";
        case wire::BthOperation::acknowledge:
            return d.has(LayerId::aeth) ? acknowledgement_of(d.bth.syndrome) : "acknowledge";
        case wire::BthOperation::atomic_acknowledge: return "atomic_response";
        case wire::BthOperation::compare_swap: return "compare_swap";
        case wire::BthOperation::fetch_add: return "fetch_add";
        case wire::BthOperation::resync: return "resync";
        case wire::BthOperation::flush: return "flush";
        case wire::BthOperation::atomic_write: return "atomic_write";
        case wire::BthOperation::congestion_notification: return "cnp";
    }
    return {};
}

std::string_view segment_operation(const Dissection& d) {
    if (d.has(LayerId::mpa_request)) return "mpa_request";
    if (d.has(LayerId::mpa_reply)) return "mpa_reply";
    if (!d.has(LayerId::rdmap)) return {};
    switch (static_cast<wire::RdmapOpcode>(d.ddp.opcode)) {
        case wire::RdmapOpcode::write: return "write";
        case wire::RdmapOpcode::read_request: return "read";
        case wire::RdmapOpcode::read_response: return "read_response";
        case wire::RdmapOpcode::send:
        case wire::RdmapOpcode::send_solicited: return "send";
        case wire::RdmapOpcode::send_invalidate:
        case wire::RdmapOpcode::send_solicited_invalidate: return "send_invalidate";
        case wire::RdmapOpcode::terminate: return "terminate";
        case wire::RdmapOpcode::immediate:
        case wire::RdmapOpcode::immediate_solicited: return "immediate";
        case wire::RdmapOpcode::atomic_request: return d.ddp.atomic_operation == 0 ? "fetch_add" : "compare_swap";
        case wire::RdmapOpcode::atomic_response: return "atomic_response";
    }
    return {};
}

}  // namespace

std::string_view service_of(const Unit& unit) {
    if (unit.transport == Transport::iwarp) return "RC";
    const wire::BthOpcode& opcode = wire::bth_opcode(unit.dissection.bth.opcode);
    const bool has_service =
        opcode.service != wire::BthService::cnp && opcode.service != wire::BthService::manufacturer;
    return has_service ? wire::name_of(opcode.service) : std::string_view{};
}

std::string_view operation_of(const Unit& unit) {
    return unit.transport == Transport::iwarp ? segment_operation(unit.dissection) : packet_operation(unit.dissection);
}

std::string_view position_of(const Unit& unit) {
    if (unit.transport == Transport::iwarp) {
        if (!unit.dissection.has(LayerId::rdmap)) return {};
        const DdpSummary& ddp = unit.dissection.ddp;
        if (ddp.tagged) return ddp.last ? "last" : "";
        if (ddp.message_offset == 0) return ddp.last ? "only" : "first";
        return ddp.last ? "last" : "middle";
    }
    const wire::BthOpcode& opcode = wire::bth_opcode(unit.dissection.bth.opcode);
    if (!opcode.known()) return {};
    switch (opcode.part) {
        case wire::MessagePart::first: return "first";
        case wire::MessagePart::middle: return "middle";
        case wire::MessagePart::last: return "last";
        case wire::MessagePart::only: return "only";
    }
    return {};
}

std::uint32_t length_of(const Unit& unit) {
    if (unit.transport != Transport::iwarp) return unit.dissection.bth.payload_length;
    return unit.dissection.has(LayerId::mpa_fpdu) ? unit.dissection.ddp.payload_length : 0;
}

std::string_view crc_of(const Unit& unit) {
    const Dissection& d = unit.dissection;
    const bool iwarp = unit.transport == Transport::iwarp;
    if (iwarp && is_start_frame(d)) return {};
    const CrcStatus first = iwarp ? d.ddp.crc : d.bth.icrc;
    const CrcStatus second = iwarp ? CrcStatus::absent : d.bth.vcrc;
    if (first == CrcStatus::bad || second == CrcStatus::bad) return "bad";
    return first == CrcStatus::good || second == CrcStatus::good ? "good" : "";
}

std::string_view text_of(Notice::Kind kind) {
    switch (kind) {
        case Notice::Kind::tcp_retransmission: return "TCP retransmission";
        case Notice::Kind::tcp_out_of_order: return "TCP segment after a gap";
        case Notice::Kind::stream_gap: return "bytes missing from the capture";
        case Notice::Kind::stream_skipped: return "bytes skipped to find the next FPDU";
        case Notice::Kind::stream_unread: return "bytes at the end in which no FPDU was found";
        case Notice::Kind::stream_not_rdma: return "no RDMA stream after all";
        case Notice::Kind::stream_evicted: return "connection forgotten to stay within memory bounds";
        case Notice::Kind::fragments_evicted: return "IP datagram given up with fragments missing";
        case Notice::Kind::icmp_error: return "ICMP error about a packet of RDMA";
        case Notice::Kind::tcp_checksum_wrong: return "TCP checksum wrong, the receiver drops it";
    }
    return "";
}

}  // namespace dissect::output
