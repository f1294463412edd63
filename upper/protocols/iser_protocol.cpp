#include "upper/protocols/iser_protocol.h"

#include <algorithm>
#include <string_view>

#include "upper/protocols/scsi_status.h"
#include "wire/iscsi.h"
#include "wire/scsi.h"

namespace upper::protocols {

namespace {

using wire::IscsiOpcode;

constexpr std::uint16_t iser_ports[] = {3260, 860};
constexpr std::uint32_t pdu_at = wire::iser_header_bytes;
constexpr std::uint32_t iser_data_at = pdu_at + wire::iscsi_header_bytes;
constexpr std::uint32_t iser_cdb_at = pdu_at + 32;

/// Four bytes with two flags: zero-based addresses and SENDs with Invalidate are not supported. IBTA annex A12.
bool iser_read_private_data(base::Bytes data, ConnectionFacts&) {
    constexpr std::size_t size = 4;
    if (data.size() < size) return false;
    const std::uint8_t flags = base::load_u8(data.data());
    if (flags == 0 || (flags & 0x3f) != 0) return false;
    return std::all_of(data.begin() + 1, data.end(), [](std::byte octet) { return octet == std::byte{0}; });
}

bool is_response(std::uint8_t opcode) { return opcode >= 0x20; }

IscsiOpcode opcode_of(base::Bytes head) { return static_cast<IscsiOpcode>(base::load_u8(head.data() + pdu_at) & 0x3f); }

Shape iser_shape(base::Bytes head, std::uint64_t length) {
    if (length < iser_data_at || head.size() < pdu_at + 2) return Shape::none;
    const std::uint8_t flags = base::load_u8(head.data());
    const bool reserved = (flags & 0x03) == 0 && base::load_be24(head.data() + 1) == 0;
    if (flags >> 4 != wire::iser_control_pdu || !reserved) return Shape::none;
    const std::uint8_t first = base::load_u8(head.data() + pdu_at);
    const std::uint8_t opcode = first & 0x3f;
    if ((first & 0x80) != 0 || wire::name_of(wire::iscsi_opcodes, opcode).empty()) return Shape::none;
    const wire::IserHeader header = wire::parse_iser(head.data());
    const bool has_none = !header.has_write && !header.has_read;
    // Memory that is not advertised has zeros here.
    const bool agrees = (header.has_write || header.write_key == 0) && (header.has_read || header.read_key == 0);
    if (!agrees || (is_response(opcode) && !has_none)) return Shape::none;
    return is_response(opcode) ? Shape::response : Shape::request;
}

void add_iser_grants(base::Bytes head, std::uint64_t bytes, Said& said) {
    const wire::IserHeader header = wire::parse_iser(head.data());
    if (header.has_write) said.grants[said.grant_count++] = {header.write_key, header.write_base, bytes, true};
    if (header.has_read) said.grants[said.grant_count++] = {header.read_key, header.read_base, bytes, false};
}

void take_unit(base::Bytes head, Said& said) {
    if (head.size() >= pdu_at + 16) said.target = wire::scsi_unit_number(head.data() + pdu_at + 8);
}

void parse_iscsi_command(base::Bytes head, Said& said) {
    said.type = Said::Type::request;
    // The capture may end after the tag, the length or the block descriptor.
    read_scsi_request(
        head.size() <= iser_cdb_at
            ? base::Bytes{}
            : head.subspan(iser_cdb_at, std::min<std::size_t>(head.size() - iser_cdb_at, wire::scsi_cdb_bytes)),
        said);
    take_unit(head, said);
    if (head.size() < pdu_at + 24) {
        said.grants_cut = true;
        return;
    }
    const std::uint32_t expected = base::load_be32(head.data() + pdu_at + 20);
    said.bytes = expected;
    said.inline_bytes = base::load_be24(head.data() + pdu_at + 5);
    add_iser_grants(head, expected, said);
}

void parse_iscsi_response(base::Bytes head, Said& said) {
    said.type = Said::Type::response;
    if (head.size() < pdu_at + 4) return;
    const std::uint8_t response = base::load_u8(head.data() + pdu_at + 2);
    const std::uint8_t status = base::load_u8(head.data() + pdu_at + 3);
    if (response != 0) {
        said.status = function_status_word(response);
        return;
    }
    std::optional<wire::ScsiSense> sense;
    if (status == wire::scsi_check_condition && head.size() > iser_data_at + 2)
        sense = wire::parse_scsi_sense(head.subspan(iser_data_at + 2));
    said.status = scsi_status_word(status, sense);
}

/// Each PDU of the target says how many commands it accepts. RFC 7143, 4.2.2.1.
void take_window(base::Bytes head, ConnectionFacts& facts) {
    if (head.size() < pdu_at + 36) return;
    const std::uint32_t window =
        base::load_be32(head.data() + pdu_at + 32) - base::load_be32(head.data() + pdu_at + 28);
    constexpr std::uint32_t most = 0xffff;
    if (window < most) facts.limit = window + 1;
}

std::string_view next_text(std::string_view& text) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return one;
}

/// Reads the keys of a login.
void take_names(base::Bytes head, ConnectionFacts& facts) {
    if (head.size() <= iser_data_at) return;
    const std::size_t length = base::load_be24(head.data() + pdu_at + 5);
    const base::Bytes data = head.subspan(iser_data_at, std::min(length, head.size() - iser_data_at));
    std::string_view text{reinterpret_cast<const char*>(data.data()), data.size()};
    while (!text.empty()) {
        const std::string_view one = next_text(text);
        constexpr std::string_view target = "TargetName=", initiator = "InitiatorName=";
        if (one.starts_with(target)) facts.target_name = one.substr(target.size());
        if (one.starts_with(initiator)) facts.initiator_name = one.substr(initiator.size());
    }
}

void parse_task_management(base::Bytes head, Said& said) {
    said.type = Said::Type::request;
    said.kind = "task_management";
    said.kind_text = "Task management";
    said.bytes = 0;
    said.detail = task_management_detail;
    if (head.size() > pdu_at + 1) said.detail |= base::load_u8(head.data() + pdu_at + 1) & 0x7f;
    const std::string_view function = wire::name_of(wire::iscsi_task_functions, said.detail & 0x7f);
    if (!function.empty()) said.kind_text = function;
    take_unit(head, said);
    constexpr std::uint32_t abort_task = 1;
    if ((said.detail & 0x7f) == abort_task && head.size() >= pdu_at + 24)
        said.aborts = base::load_be32(head.data() + pdu_at + 20);
}

void iser_parse(base::Bytes head, std::uint64_t length, bool from_initiator, ConnectionFacts& facts, Said& said) {
    if (head.empty()) return;
    if (base::load_u8(head.data()) >> 4 != wire::iser_control_pdu) {
        const std::uint8_t opcode = base::load_u8(head.data()) >> 4;
        if (opcode == 2 || opcode == 3) said.type = Said::Type::other;  // Hello, HelloReply
        return;
    }
    if (length < iser_data_at || head.size() < pdu_at + 20) return;
    said.id = base::load_be32(head.data() + pdu_at + 16);
    if (!from_initiator) take_window(head, facts);
    said.type = Said::Type::other;
    switch (opcode_of(head)) {
        case IscsiOpcode::scsi_command: parse_iscsi_command(head, said); break;
        case IscsiOpcode::scsi_response: parse_iscsi_response(head, said); break;
        case IscsiOpcode::task_management: parse_task_management(head, said); break;
        case IscsiOpcode::task_management_response:
            said.type = Said::Type::response;
            said.status = function_status_word(base::load_u8(head.data() + pdu_at + 2));
            break;
        case IscsiOpcode::login: take_names(head, facts); break;
        default: break;
    }
    const bool asks = said.type == Said::Type::request;
    if (said.type != Said::Type::other && asks != from_initiator) said.type = Said::Type::nothing;
}

StatusMeaning iser_status(std::uint32_t detail, std::uint32_t status) {
    const std::optional<std::uint8_t> response = function_response_of(status);
    if (!response) return scsi_status_meaning(status);
    if ((detail & task_management_detail) == 0)
        return {wire::name_of(wire::iscsi_responses, *response), ErrorClass::device};
    return {wire::name_of(wire::iscsi_task_responses, *response),
            *response == 0 ? ErrorClass::none : ErrorClass::protocol};
}

std::uint8_t iser_variant(const ConnectionFacts&, std::uint32_t detail) { return static_cast<std::uint8_t>(detail); }

}  // namespace

constinit const Protocol iser{
    .name = "iser",
    .heading = "iSER",
    .id_word = "tag",
    .id_digits = 8,
    .target_word = "lun",
    .ports = iser_ports,
    .read_private_data = iser_read_private_data,
    .shape = iser_shape,
    .parse = iser_parse,
    .status = iser_status,
    .request_layer = dissect::LayerId::iser,
    .response_layer = dissect::LayerId::iser,
    .data_layer = dissect::LayerId::iser,
    .private_data_layers = {dissect::LayerId::none, dissect::LayerId::none, dissect::LayerId::none},
    .variant = iser_variant,
};

}  // namespace upper::protocols
