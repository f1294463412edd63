#include "upper/protocols/srp_protocol.h"

#include <algorithm>

#include "upper/protocols/scsi_status.h"
#include "wire/scsi.h"
#include "wire/srp.h"

namespace upper::protocols {

namespace {

using wire::SrpBuffer;
using wire::SrpType;

/// The port that the target of Linux uses with the RDMA CM. With InfiniBand's CM, targets choose a service identifier.
constexpr std::uint16_t srp_ports[] = {5555};

constexpr std::uint32_t srp_cdb_at = 32;

bool is_zero(base::Bytes head, std::uint32_t first, std::uint32_t count) {
    if (head.size() < first + std::size_t{count}) return false;
    const base::Bytes part = head.subspan(first, count);
    return std::all_of(part.begin(), part.end(), [](std::byte octet) { return octet == std::byte{0}; });
}

bool is_buffer_mask(std::uint16_t formats) { return formats != 0 && (formats & ~0x0006u) == 0; }
bool is_unit_length(std::uint32_t length) { return length >= wire::srp_command_bytes && length <= 0x100000; }

/// Reads SRP_LOGIN_REQ in the form of InfiniBand's CM, or in the shorter form of Linux with the RDMA CM.
bool srp_read_private_data(base::Bytes data, ConnectionFacts&) {
    if (data.size() >= wire::srp_login_request_bytes && is_zero(data, 0, 8) && is_zero(data, 20, 4) &&
        is_unit_length(base::load_be32(data.data() + 16)) && is_buffer_mask(base::load_be16(data.data() + 24)) &&
        !is_zero(data, 32, 16) && !is_zero(data, 48, 16))
        return true;
    return data.size() >= wire::srp_login_short_bytes && is_buffer_mask(base::load_be16(data.data() + 8)) &&
           base::load_u8(data.data() + 11) == 0 && is_unit_length(base::load_be32(data.data() + 12)) &&
           !is_zero(data, 16, 16) && !is_zero(data, 32, 16);
}

/// SRP_LOGIN_RSP has the number of requests that are permitted.
void srp_read_reply(base::Bytes data, ConnectionFacts& facts) {
    if (data.size() < wire::srp_login_response_bytes) return;
    if (static_cast<SrpType>(base::load_u8(data.data())) != SrpType::login_response) return;
    facts.limit = base::load_be32(data.data() + 4);
}

/// Bytes that a command's descriptors take; nullopt for an unknown format.
std::optional<std::uint32_t> descriptor_bytes(SrpBuffer format, std::uint8_t count) {
    switch (format) {
        case SrpBuffer::none: return 0;
        case SrpBuffer::direct: return wire::srp_direct_bytes;
        case SrpBuffer::indirect: return wire::srp_indirect_bytes + count * wire::srp_direct_bytes;
        case SrpBuffer::immediate: return 4;
    }
    return std::nullopt;
}

Shape command_shape(base::Bytes head, std::uint64_t length) {
    if (head.size() < 32 || length < wire::srp_command_bytes) return Shape::none;
    const bool reserved = is_zero(head, 2, 3) && is_zero(head, 16, 4) && is_zero(head, 28, 1) && is_zero(head, 30, 1);
    const std::uint8_t formats = base::load_u8(head.data() + 5);
    const auto out = descriptor_bytes(wire::srp_out_format(formats), base::load_u8(head.data() + 6));
    const auto in = descriptor_bytes(wire::srp_in_format(formats), base::load_u8(head.data() + 7));
    if (!reserved || !out || !in) return Shape::none;
    const std::uint32_t additional = base::load_u8(head.data() + 31) & 0xfcu;
    return length >= std::uint64_t{wire::srp_command_bytes} + additional + *out + *in ? Shape::request : Shape::none;
}

Shape srp_shape(base::Bytes head, std::uint64_t length) {
    if (head.empty()) return Shape::none;
    switch (static_cast<SrpType>(base::load_u8(head.data()))) {
        case SrpType::command: return command_shape(head, length);
        case SrpType::response: {
            if (head.size() < 32 || length < wire::srp_response_bytes) return Shape::none;
            const bool reserved = is_zero(head, 1, 3) && is_zero(head, 16, 2);
            return reserved && (base::load_u8(head.data() + 18) & 0xc0) == 0 ? Shape::response : Shape::none;
        }
        default: return Shape::none;
    }
}

/// Reads the descriptors that follow a command.
class DescriptorReader {
public:
    DescriptorReader(base::Bytes head, std::uint64_t length, std::uint32_t at, Said& said)
        : head_(head), length_(length), at_(at), said_(said) {}

    void read(SrpBuffer format, std::uint8_t count, bool out) {
        switch (format) {
            case SrpBuffer::none: break;
            case SrpBuffer::direct: read_direct(out, true); break;
            case SrpBuffer::indirect: read_table(count, out); break;
            case SrpBuffer::immediate: read_immediate(); break;
        }
    }

private:
    bool has(std::uint32_t size) {
        if (at_ + std::size_t{size} <= head_.size()) return true;
        said_.grants_cut = true;
        return false;
    }
    void read_direct(bool out, bool counts) {
        if (!has(wire::srp_direct_bytes)) return;
        const wire::SrpDescriptor one = wire::parse_srp_descriptor(head_.data() + at_);
        at_ += wire::srp_direct_bytes;
        if (counts) said_.bytes = said_.bytes.value_or(0) + one.length;
        grant(one, out);
    }
    void grant(const wire::SrpDescriptor& one, bool out) {
        if (one.length == 0) return;
        if (said_.grant_count == Said::max_grants) {
            said_.grants_cut = true;
            return;
        }
        said_.grants[said_.grant_count++] = {one.key, one.address, one.length, out};
    }
    /// The message has the first entries of the table. The target reads further entries by RDMA.
    void read_table(std::uint8_t count, bool out) {
        if (!has(wire::srp_indirect_bytes)) return;
        const wire::SrpDescriptor table = wire::parse_srp_descriptor(head_.data() + at_);
        said_.bytes = said_.bytes.value_or(0) + base::load_be32(head_.data() + at_ + 16);
        at_ += wire::srp_indirect_bytes;
        for (unsigned i = 0; i < count; ++i) read_direct(out, false);
        if (table.length > count * wire::srp_direct_bytes) grant(table, true);
    }
    void read_immediate() {
        if (!has(4)) return;
        const std::uint32_t length = base::load_be32(head_.data() + at_);
        said_.bytes = said_.bytes.value_or(0) + length;
        said_.inline_bytes = std::min<std::uint64_t>(length, length_);
        at_ += 4;
    }

    base::Bytes head_;
    std::uint64_t length_;
    std::uint32_t at_;
    Said& said_;
};

void parse_srp_command(base::Bytes head, std::uint64_t length, Said& said) {
    said.type = Said::Type::request;
    read_scsi_request(
        head.size() <= srp_cdb_at
            ? base::Bytes{}
            : head.subspan(srp_cdb_at, std::min<std::size_t>(head.size() - srp_cdb_at, wire::scsi_cdb_bytes)),
        said);
    if (head.size() < 32) {
        said.grants_cut = true;
        return;
    }
    said.target = wire::scsi_unit_number(head.data() + 20);
    const std::uint8_t formats = base::load_u8(head.data() + 5);
    const std::uint32_t additional = base::load_u8(head.data() + 31) & 0xfcu;
    DescriptorReader descriptors(head, length, wire::srp_command_bytes + additional, said);
    descriptors.read(wire::srp_out_format(formats), base::load_u8(head.data() + 6), true);
    descriptors.read(wire::srp_in_format(formats), base::load_u8(head.data() + 7), false);
    if (!said.bytes && !said.grants_cut) said.bytes = 0;
}

void parse_srp_task(base::Bytes head, Said& said) {
    said.type = Said::Type::request;
    said.kind = "task_management";
    said.kind_text = "Task management";
    said.bytes = 0;
    said.detail = task_management_detail;
    if (head.size() < 31) return;
    said.target = wire::scsi_unit_number(head.data() + 20);
    said.detail |= base::load_u8(head.data() + 30);
    const std::string_view function = wire::name_of(wire::srp_task_functions, said.detail & 0xff);
    if (!function.empty()) said.kind_text = function;
    constexpr std::uint8_t abort_task = 1;
    if (base::load_u8(head.data() + 30) == abort_task && head.size() >= 40)
        said.aborts = base::load_be64(head.data() + 32);
}

void parse_srp_response(base::Bytes head, Said& said) {
    said.type = Said::Type::response;
    if (head.size() < wire::srp_response_bytes) {
        if (head.size() > 19) said.status = base::load_u8(head.data() + 19);
        return;
    }
    constexpr std::uint8_t has_response_data = 0x01, has_sense = 0x02;
    const std::uint8_t flags = base::load_u8(head.data() + 18);
    const std::uint64_t response_bytes = (flags & has_response_data) != 0 ? base::load_be32(head.data() + 32) : 0;
    if (response_bytes >= 4 && head.size() >= wire::srp_response_bytes + 4) {
        said.status = function_status_word(base::load_u8(head.data() + wire::srp_response_bytes + 3));
        return;
    }
    std::optional<wire::ScsiSense> sense;
    const std::uint64_t sense_at = wire::srp_response_bytes + response_bytes;
    if ((flags & has_sense) != 0 && head.size() > sense_at) sense = wire::parse_scsi_sense(head.subspan(sense_at));
    said.status = scsi_status_word(base::load_u8(head.data() + 19), sense);
}

void srp_parse(base::Bytes head, std::uint64_t length, bool from_initiator, ConnectionFacts&, Said& said) {
    if (head.size() < 16) return;
    const auto type = static_cast<SrpType>(base::load_u8(head.data()));
    said.id = base::load_be64(head.data() + 8);
    switch (type) {
        case SrpType::command:
            if (from_initiator && length >= wire::srp_command_bytes) parse_srp_command(head, length, said);
            break;
        case SrpType::task_management:
            if (from_initiator && length >= wire::srp_task_bytes) parse_srp_task(head, said);
            break;
        case SrpType::response:
            if (!from_initiator && length >= wire::srp_response_bytes) parse_srp_response(head, said);
            break;
        default:
            if (!wire::name_of(wire::srp_types, static_cast<std::uint8_t>(type)).empty()) said.type = Said::Type::other;
    }
}

StatusMeaning srp_status(std::uint32_t, std::uint32_t status) {
    const std::optional<std::uint8_t> response = function_response_of(status);
    if (!response) return scsi_status_meaning(status);
    return {wire::name_of(wire::srp_response_codes, *response),
            *response == 0 ? ErrorClass::none : ErrorClass::protocol};
}

std::uint8_t srp_variant(const ConnectionFacts&, std::uint32_t detail) { return static_cast<std::uint8_t>(detail); }

}  // namespace

constinit const Protocol srp{
    .name = "srp",
    .heading = "SRP",
    .id_word = "tag",
    .id_digits = 16,
    .target_word = "lun",
    .ports = srp_ports,
    .read_private_data = srp_read_private_data,
    .read_reply = srp_read_reply,
    .shape = srp_shape,
    .parse = srp_parse,
    .status = srp_status,
    .request_layer = dissect::LayerId::srp,
    .response_layer = dissect::LayerId::srp,
    .data_layer = dissect::LayerId::srp,
    .private_data_layers = {dissect::LayerId::srp_login, dissect::LayerId::srp, dissect::LayerId::srp},
    .variant = srp_variant,
};

}  // namespace upper::protocols
