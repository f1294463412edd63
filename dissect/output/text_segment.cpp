#include "base/text_format.h"
#include "dissect/output/text_parts.h"
#include "dissect/output/unit_names.h"
#include "wire/error_text.h"
#include "wire/mpa.h"
#include "wire/rdmap.h"
#include "wire/rdmap_atomic.h"

namespace dissect::output::text {

namespace {

constexpr auto fetch_add = static_cast<std::uint8_t>(wire::AtomicOperation::fetch_add);
constexpr auto compare_swap = static_cast<std::uint8_t>(wire::AtomicOperation::compare_swap);

void append_start_details(std::string& out, const Unit& unit) {
    const LayerRef* layer = unit.dissection.find(LayerId::mpa_request);
    if (layer == nullptr) layer = unit.dissection.find(LayerId::mpa_reply);
    const base::Bytes octets = unit.bytes.subspan(layer->offset, layer->length);
    // Request and Reply differ in the key alone.
    const auto start = wire::parse<wire::MpaRequest>(octets);
    if (!start) return;
    word(out, "rev", start->revision);
    if (start->crc) out += " crc";
    if (start->marker) out += " markers";
    if (start->rejected) out += " rejected";
    const base::Bytes data = octets.subspan(wire::size_of<wire::MpaRequest>);
    const auto enhanced = start->enhanced() ? wire::parse<wire::MpaEnhanced>(data) : std::nullopt;
    if (enhanced) {
        word(out, "ird", enhanced->ird);
        word(out, "ord", enhanced->ord);
        if (enhanced->peer_to_peer) out += " peer-to-peer";
        if (enhanced->send) out += " rtr-send";
        if (enhanced->write) out += " rtr-write";
        if (enhanced->read) out += " rtr-read";
    }
    word(out, "private", start->private_length);
    if (const auto legacy = wire::mpa_legacy(start->revision, data)) {
        out += " (by convention";
        word(out, "ird", legacy->depths.ird);
        word(out, "ord", legacy->depths.ord);
        out += legacy->little_endian ? ", little-endian)" : ")";
    }
}

void append_buffer(std::string& out, const DdpSummary& ddp) {
    if (ddp.tagged) {
        word_hex(out, "stag", ddp.stag, 8);
        word_hex(out, "to", ddp.tagged_offset, 1);
    } else {
        word(out, "msn", ddp.msn);
        word(out, "mo", ddp.message_offset);
    }
}

/// Writes, Read Responses and all Sends; of others only the header may have been cut off.
bool carries_payload(std::uint8_t opcode) {
    return opcode <= static_cast<std::uint8_t>(wire::RdmapOpcode::send_solicited_invalidate) &&
           opcode != static_cast<std::uint8_t>(wire::RdmapOpcode::read_request);
}

/// ` compare 0x1 swap 0x2`, as for InfiniBand's; with the masks where they make a difference. RFC 7306 section 5.1.
void append_atomic_operands(std::string& out, const Unit& unit) {
    const LayerRef& layer = *unit.dissection.find(LayerId::rdmap_atomic_request);
    const auto request = wire::parse<wire::RdmapAtomicRequest>(unit.bytes.subspan(layer.offset, layer.length));
    if (!request) return;
    constexpr std::uint64_t one_field = 0;
    constexpr std::uint64_t every_bit = ~std::uint64_t{0};
    if (request->operation == fetch_add) {
        word_hex(out, "add", request->data, 1);
        if (request->mask != one_field) word_hex(out, "add-mask", request->mask, 1);
    } else if (request->operation == compare_swap) {
        word_hex(out, "compare", request->compare, 1);
        if (request->compare_mask != every_bit) word_hex(out, "compare-mask", request->compare_mask, 1);
        word_hex(out, "swap", request->data, 1);
        if (request->mask != every_bit) word_hex(out, "swap-mask", request->mask, 1);
    } else {
        word_hex(out, "operation", request->operation, 1);
    }
}

void append_message(std::string& out, const Unit& unit) {
    const Dissection& d = unit.dissection;
    const DdpSummary& ddp = d.ddp;
    if (wire::rdmap_invalidates(ddp.opcode)) word_hex(out, "inv-stag", ddp.invalidate_stag, 8);
    if (d.has(LayerId::rdmap_read_request)) {
        word(out, "len", ddp.read_size);
        word_hex(out, "sink-stag", ddp.sink_stag, 8);
        word_hex(out, "sink-to", ddp.sink_offset, 1);
        word_hex(out, "src-stag", ddp.source_stag, 8);
        word_hex(out, "src-to", ddp.source_offset, 1);
    } else if (d.has(LayerId::rdmap_atomic_request)) {
        word_hex(out, "id", ddp.request_id, 8);
        word_hex(out, "stag", ddp.source_stag, 8);
        word_hex(out, "to", ddp.source_offset, 1);
        append_atomic_operands(out, unit);
    } else if (d.has(LayerId::rdmap_atomic_response)) {
        word_hex(out, "id", ddp.request_id, 8);
        word_hex(out, "orig", ddp.original_data, 1);
    } else if (d.has(LayerId::rdmap_immediate)) {
        word_hex(out, "imm", ddp.immediate, 16);
    } else if (d.has(LayerId::rdmap_terminate)) {
        out += ' ';
        wire::append_terminate_reason(out, ddp.terminate_layer, ddp.terminate_type, ddp.terminate_code);
        if (d.odd_count != 0 && d.odd.reason == Reason::byte_swapped) out += " (siw byte order)";
    } else if (carries_payload(ddp.opcode)) {
        word(out, "len", ddp.payload_length);
    }
}

}  // namespace

void segment_operation(std::string& out, const Unit& unit) {
    const Dissection& d = unit.dissection;
    if (d.has(LayerId::mpa_request)) {
        out += "MPA Request";
    } else if (d.has(LayerId::mpa_reply)) {
        out += "MPA Reply";
    } else if (!d.has(LayerId::rdmap)) {
        out += "MPA FPDU";
    } else if (d.has(LayerId::rdmap_atomic_request)) {
        (out += "RDMAP ") += d.ddp.atomic_operation == fetch_add      ? "FetchAdd"
                             : d.ddp.atomic_operation == compare_swap ? "CmpSwap"
                                                                      : "Atomic Request";
    } else if (const std::string_view name = wire::name_of(wire::rdmap_opcodes, d.ddp.opcode); !name.empty()) {
        (out += "RDMAP ") += name;
    } else {
        out += "RDMAP opcode ";
        base::append_hex(out, d.ddp.opcode, 1);
    }
}

void segment_details(std::string& out, const Unit& unit, const TextOptions& options) {
    const Dissection& d = unit.dissection;
    if (d.has(LayerId::mpa_request) || d.has(LayerId::mpa_reply)) return append_start_details(out, unit);
    if (d.has(LayerId::rdmap)) {
        const bool terminates = d.has(LayerId::rdmap_terminate);
        if (!options.quiet && (!terminates || options.verbosity > 0)) append_buffer(out, d.ddp);
        if (!options.quiet || terminates)
            append_message(out, unit);
        else if (carries_payload(d.ddp.opcode))
            word(out, "len", d.ddp.payload_length);
        else if (d.has(LayerId::rdmap_read_request))
            word(out, "len", d.ddp.read_size);
        if (d.ddp.last && !terminates) out += " last";
    }
    if (unit.markers != 0 && !options.quiet) word(out, "markers", unit.markers);
    if (unit.first_frame != unit.frame.number && !options.quiet) word(out, "from-frame", unit.first_frame);
    if (options.verbosity > 0 && d.ddp.crc == CrcStatus::good) out += " CRC good";
    if (d.has(LayerId::mpa_fpdu) && d.ddp.crc == CrcStatus::bad) out += " CRC bad";
}

}  // namespace dissect::output::text
