#pragma once
#include <cstdint>

#include "metrics/figures/operation.h"
#include "metrics/measure/packet/packet_record.h"
#include "wire/bth_opcode.h"

namespace metrics::inline measure::inline packet {

/// From the packet alone: a SEND MIDDLE does not show that its message has immediate data.
inline Operation operation_of(const wire::BthOpcode& opcode) {
    switch (opcode.operation) {
        case wire::BthOperation::write:
        case wire::BthOperation::atomic_write:
            return opcode.has_immediate() ? Operation::write_immediate : Operation::write;
        case wire::BthOperation::read_request:
        case wire::BthOperation::flush: return Operation::read;
        case wire::BthOperation::compare_swap: return Operation::compare_swap;
        case wire::BthOperation::fetch_add: return Operation::fetch_add;
        default:
            return opcode.has_immediate()    ? Operation::send_immediate
                   : opcode.has_invalidate() ? Operation::send_invalidate
                                             : Operation::send;
    }
}

/// The operation of a message, as far as its first packet shows it.
inline Operation first_packet_operation(Operation operation) {
    switch (operation) {
        case Operation::write_immediate: return Operation::write;
        case Operation::send_immediate:
        case Operation::send_invalidate: return Operation::send;
        default: return operation;
    }
}

/// A READ whose length the snap length, or the end of the packet, cut off with its RETH.
inline bool has_cut_reth(const PacketRecord& record, const wire::BthOpcode& opcode) {
    return opcode.operation == wire::BthOperation::read_request && !record.has_remote_key;
}

/// Bytes of the upper layer that the message moves by this packet. An atomic moves 8. IBTA vol. 1, 9.4.5.
inline std::uint32_t moved_by(const PacketRecord& record, const wire::BthOpcode& opcode) {
    switch (opcode.operation) {
        case wire::BthOperation::read_request: return record.dma_length;
        case wire::BthOperation::compare_swap:
        case wire::BthOperation::fetch_add: return 8;
        default: return record.payload_length;
    }
}

}  // namespace metrics::measure::packet
