#include <span>

#include "base/text_format.h"
#include "dissect/output/text_parts.h"
#include "dissect/output/unit_names.h"
#include "wire/aeth.h"
#include "wire/atomic_write.h"
#include "wire/bth_opcode.h"
#include "wire/error_text.h"
#include "wire/feth.h"
#include "wire/mad.h"
#include "wire/mrc.h"

namespace dissect::output::text {

namespace {

/// What an acknowledgement says; empty for a plain one.
void append_syndrome(std::string& out, std::uint8_t syndrome) {
    const unsigned value = wire::value_of_syndrome(syndrome);
    switch (wire::kind_of_syndrome(syndrome)) {
        case wire::AethKind::ack: break;
        case wire::AethKind::rnr_nak: (out += "RNR NAK ") += wire::name_of(wire::rnr_timer_names, value); break;
        case wire::AethKind::reserved: out += "Acknowledge, reserved syndrome"; break;
        case wire::AethKind::nak:
            out += "NAK ";
            wire::append_nak_code(out, value);
            break;
    }
}

std::string_view service_word(const wire::BthOpcode& opcode) {
    return opcode.service == wire::BthService::cnp ? std::string_view{} : wire::name_of(opcode.service);
}

void append_number(std::string& out, std::string_view word, std::uint8_t number) {
    out += word;
    base::append_hex(out, number, 2);
    out += ' ';
}

void append_management(std::string& out, const Unit& unit) {
    const Dissection& d = unit.dissection;
    const LayerRef& layer = *d.find(LayerId::mad);
    const auto header = wire::View<wire::Mad>::unchecked(unit.bytes.data() + layer.offset);
    const auto management_class = header.get<&wire::Mad::management_class>();
    const auto attribute = header.get<&wire::Mad::attribute_id>();
    const std::string_view name = wire::mad_attribute_name(management_class, attribute);
    if (management_class == wire::communication_management) {
        out += "CM";
        if (name.empty())
            word_hex(out, "attribute", attribute, 4);
        else
            (out += ' ') += name;
        return;
    }
    const std::string_view class_word = wire::mad_method_prefix(management_class);
    const std::string_view method = wire::name_of(wire::mad_method_names, header.get<&wire::Mad::method>());
    (out += "MAD ") += class_word;
    if (class_word.empty()) append_number(out, "class ", management_class);
    if (method.empty())
        append_number(out, "method ", header.get<&wire::Mad::method>());
    else
        out += method.substr(0, method.find('('));
    out += '(';
    if (name.empty())
        base::append_hex(out, attribute, 4);
    else
        out += name;
    out += ')';
}

}  // namespace

void packet_operation(std::string& out, const Unit& unit) {
    const Dissection& d = unit.dissection;
    const wire::BthOpcode& opcode = wire::bth_opcode(d.bth.opcode);
    if (const std::string_view service = service_word(opcode); !service.empty()) (out += service) += ' ';
    if (d.has(LayerId::mad)) return append_management(out, unit);
    if (!opcode.known()) {
        out += "opcode ";
        base::append_hex(out, d.bth.opcode, 2);
        if (const std::string_view name = wire::name_of(wire::mrc_opcode_names, d.bth.opcode); !name.empty())
            ((out += " (") += name) += ')';
        return;
    }
    const bool refuses = opcode.operation == wire::BthOperation::acknowledge && d.has(LayerId::aeth) &&
                         wire::kind_of_syndrome(d.bth.syndrome) != wire::AethKind::ack;
    if (refuses) return append_syndrome(out, d.bth.syndrome);
    out += wire::bth_message_name(d.bth.opcode);
}

namespace {

/// ` placement Persistence`: a field's value in words, or in hexadecimal digits where it has none.
void append_named(std::string& out, std::string_view name, std::span<const wire::ValueName> values,
                  std::uint8_t value) {
    const std::string_view known = wire::name_of(values, value);
    if (known.empty()) return word_hex(out, name, value, 1);
    (((out += ' ') += name) += ' ') += known;
}

/// What the summary has no room for: the headers of FLUSH and ATOMIC WRITE.
void append_persistence_headers(std::string& out, const Unit& unit) {
    const auto header = [&](LayerId id) -> base::Bytes {
        const LayerRef* layer = unit.dissection.find(id);
        return layer == nullptr ? base::Bytes{} : unit.bytes.subspan(layer->offset, layer->length);
    };
    if (const auto flush = wire::parse<wire::Feth>(header(LayerId::feth))) {
        append_named(out, "placement", wire::flush_placement_names, flush->placement);
        append_named(out, "selectivity", wire::flush_selectivity_names, flush->selectivity);
    }
    if (const auto written = wire::parse<wire::AtomicWrite>(header(LayerId::atomic_write)))
        word_hex(out, "value", written->data, 1);
}

void append_request_headers(std::string& out, const Unit& unit) {
    const Dissection& d = unit.dissection;
    const BthSummary& bth = d.bth;
    if (d.has(LayerId::deth)) {
        word_hex(out, "src-qp", bth.source_qp, 6);
        word_hex(out, "qkey", bth.queue_key, 8);
    }
    if (d.has(LayerId::xrceth)) word_hex(out, "srq", bth.xrc_srq, 6);
    if (d.has(LayerId::reth) || d.has(LayerId::atomiceth)) {
        word_hex(out, "va", bth.virtual_address, 1);
        word_hex(out, "rkey", bth.remote_key, 8);
    }
    if (d.has(LayerId::reth)) word(out, "dmalen", bth.dma_length);
    if (d.has(LayerId::atomiceth)) {
        const bool compares = wire::bth_opcode(bth.opcode).operation == wire::BthOperation::compare_swap;
        if (compares) word_hex(out, "compare", bth.compare, 1);
        word_hex(out, compares ? "swap" : "add", bth.swap_or_add, 1);
    }
    append_persistence_headers(out, unit);
    if (d.has(LayerId::immdt)) word_hex(out, "imm", bth.immediate, 8);
    if (d.has(LayerId::ieth)) word_hex(out, "inv-rkey", bth.invalidated_key, 8);
}

void append_response_headers(std::string& out, const Dissection& d) {
    if (d.has(LayerId::aeth)) {
        word(out, "msn", d.bth.msn);
        const unsigned credits = wire::value_of_syndrome(d.bth.syndrome);
        const bool acknowledges = wire::kind_of_syndrome(d.bth.syndrome) == wire::AethKind::ack;
        if (acknowledges && credits != wire::no_credit_limit) word(out, "credits", wire::credits_of_code[credits]);
    }
    if (d.has(LayerId::atomicacketh)) word_hex(out, "orig", d.bth.original_data, 1);
}

/// A management datagram from another queue pair, or with another key, than those set aside for it. IBTA vol.
/// 1, 13.5.1.
bool bth_is_unusual(const BthSummary& bth) {
    constexpr std::uint32_t general_services_key = 0x80010000;
    return bth.source_qp != bth.destination_qp || (bth.destination_qp == 1 && bth.queue_key != general_services_key);
}

void append_marks(std::string& out, const Unit& unit, const TextOptions& options) {
    const BthSummary& bth = unit.dissection.bth;
    if (bth.solicited_event) out += " se";
    if (bth.ack_request && !unit.dissection.has(LayerId::mad)) out += " ackreq";
    if (bth.fecn) out += " FECN";
    if (bth.becn) out += " BECN";
    if (options.verbosity > 0) {
        word_hex(out, "pkey", bth.partition_key, 4);
        if (bth.pad_count != 0) word(out, "pad", bth.pad_count);
        if (bth.icrc == CrcStatus::good) out += " ICRC good";
        if (bth.vcrc == CrcStatus::good) out += " VCRC good";
    }
    if (bth.icrc == CrcStatus::bad) out += " ICRC bad";
    if (bth.vcrc == CrcStatus::bad) out += " VCRC bad";
}

}  // namespace

void packet_details(std::string& out, const Unit& unit, const TextOptions& options) {
    const Dissection& d = unit.dissection;
    const wire::BthOpcode& opcode = wire::bth_opcode(d.bth.opcode);
    word_hex(out, "qp", d.bth.destination_qp, 6);
    const std::size_t before_psn = out.size();
    word(out, "psn", d.bth.psn);
    if (options.quiet) {
        if (opcode.has_payload) word(out, "len", d.bth.payload_length);
        return;
    }
    if (d.has(LayerId::mad)) {
        // Between the general service interfaces these two are as good as constant.
        if (options.verbosity > 0 || bth_is_unusual(d.bth)) append_request_headers(out, unit);
        management_details(out, unit);
        attribute_details(out, unit);
        transfer_details(out, unit);
    } else {
        pad(out, before_psn, 13);  // " psn 16777215"
        if (opcode.has_payload || !opcode.known()) word(out, "len", d.bth.payload_length);
        append_request_headers(out, unit);
        append_response_headers(out, d);
    }
    append_marks(out, unit, options);
}

}  // namespace dissect::output::text
