#include "upper/protocols/smb_protocol.h"

#include <algorithm>
#include <fmt/core.h>

#include "wire/smb2.h"
#include "wire/smb2_names.h"
#include "wire/smb_direct.h"

namespace upper::protocols {

namespace {

using wire::Smb2Channel;
using wire::Smb2Command;
using wire::SmbHeader;

/// The port of SMB, and the port of SMB Direct on iWARP. MS-SMBD 1.9.
constexpr std::uint16_t smb_ports[] = {445, 5445};

constexpr std::string_view direct_heading = "SMB Direct";

/// SMB Direct has no private data.
bool smb_read_private_data(base::Bytes, ConnectionFacts&) { return false; }

/// The SMB message of a SEND, or its part, from the SMB header on. Empty if there is no such header.
base::Bytes smb_message_of(base::Bytes head, std::uint64_t length) {
    if (wire::smb_header_of(head) != SmbHeader::none) return head;
    const auto header = wire::parse_smb_direct(head);
    if (!header || !header->is_consistent(length) || header->data_length == 0 || head.size() <= header->data_offset)
        return {};
    const base::Bytes message = head.subspan(header->data_offset);
    return wire::smb_header_of(message) == SmbHeader::none ? base::Bytes{} : message;
}

Shape smb_shape(base::Bytes head, std::uint64_t length) {
    if (wire::is_smb_direct_request(head, length)) return Shape::request;
    if (wire::is_smb_direct_response(head, length)) return Shape::response;
    const base::Bytes message = smb_message_of(head, length);
    switch (wire::smb_header_of(message)) {
        case SmbHeader::none: return Shape::none;
        case SmbHeader::encrypted:
        case SmbHeader::compressed: return Shape::either;
        case SmbHeader::plain: break;
    }
    const auto header = wire::parse_smb2(message);
    if (!header || header->command >= wire::smb2_command_count) return Shape::none;
    return header->is_response() ? Shape::response : Shape::request;
}

std::optional<Fragment> smb_fragment(base::Bytes head, std::uint64_t length) {
    if (wire::is_smb_direct_request(head, length) || wire::is_smb_direct_response(head, length)) return std::nullopt;
    const auto header = wire::parse_smb_direct(head);
    if (!header || !header->is_consistent(length) || header->data_length == 0) return std::nullopt;
    return Fragment{header->data_offset, header->data_length, header->remaining_length,
                    !smb_message_of(head, length).empty()};
}

std::uint64_t smb_next_part(base::Bytes head, std::uint64_t length) {
    const base::Bytes message = smb_message_of(head, length);
    const auto header = wire::parse_smb2(message);
    if (!header || header->next_command < wire::smb2_header_bytes) return 0;
    return head.size() - message.size() + header->next_command;
}

void grant_descriptors(base::Bytes message, const wire::Smb2Transfer& transfer, bool out, Said& said) {
    const std::uint64_t end = std::uint64_t{transfer.descriptors.offset} + transfer.descriptors.length;
    for (std::uint64_t at = transfer.descriptors.offset; at + wire::smb_descriptor_bytes <= end;
         at += wire::smb_descriptor_bytes) {
        if (at + wire::smb_descriptor_bytes > message.size() || said.grant_count == Said::max_grants) {
            said.grants_cut = true;
            return;
        }
        const wire::SmbDescriptor one = wire::parse_smb_descriptor(message.data() + at);
        if (one.length != 0) said.grants[said.grant_count++] = {one.key, one.address, one.length, out};
    }
}

void parse_smb_read(base::Bytes message, Said& said) {
    const auto transfer = wire::parse_smb2_read(message);
    said.grants_cut = !transfer;
    if (!transfer) return;
    said.bytes = transfer->length;
    said.first_block = transfer->file_offset;
    if (transfer->is_rdma()) grant_descriptors(message, *transfer, false, said);
}

void parse_smb_write(base::Bytes message, Said& said) {
    const auto transfer = wire::parse_smb2_write(message);
    said.grants_cut = !transfer;
    if (!transfer) return;
    said.first_block = transfer->file_offset;
    if (transfer->is_rdma()) {
        said.bytes = std::uint64_t{transfer->remaining} + transfer->length;
        grant_descriptors(message, *transfer, true, said);
    } else {
        said.bytes = transfer->length;
    }
    said.inline_bytes = transfer->length;
}

/// Notes the share of a tree connect. A named pipe does not replace a share.
void take_share(base::Bytes message, ConnectionFacts& facts) {
    constexpr std::uint32_t range_at = wire::smb2_header_bytes + 4;
    if (message.size() < range_at + 4) return;
    const std::uint32_t offset = wire::load_le16(message.data() + range_at);
    const std::uint32_t length = wire::load_le16(message.data() + range_at + 2);
    if (length == 0 || std::size_t{offset} + length > message.size()) return;
    constexpr std::size_t most = 1024;
    std::string name = wire::smb_text(message.subspan(offset, length), most);
    const bool is_pipe = name.ends_with("\\IPC$");
    if (facts.target_name.empty() || !is_pipe) facts.target_name = std::move(name);
}

void parse_smb_request(base::Bytes message, const wire::Smb2Header& header, ConnectionFacts& facts, Said& said) {
    const wire::Smb2Name name = wire::smb2_name(header.command);
    said.type = Said::Type::request;
    said.kind = name.kind;
    said.kind_text = name.text;
    said.detail = header.command;
    said.bytes = 0;
    if (header.has_tree && header.tree_id != 0 && header.tree_id != 0xffffffff) said.target = header.tree_id;
    switch (static_cast<Smb2Command>(header.command)) {
        case Smb2Command::read: return parse_smb_read(message, said);
        case Smb2Command::write: return parse_smb_write(message, said);
        case Smb2Command::tree_connect: return take_share(message, facts);
        case Smb2Command::echo: said.housekeeping = true; return;
        case Smb2Command::change_notify: said.waits_for_event = true; return;
        case Smb2Command::cancel:
            said.type = Said::Type::interim;
            said.event = "asked to cancel";
            return;
        default: return;
    }
}

void parse_smb_response(base::Bytes message, const wire::Smb2Header& header, Said& said) {
    const bool is_pending = header.is_async() && header.status == wire::smb2_status_pending;
    const auto command = static_cast<Smb2Command>(header.command);
    // The interim response returns credits, and the final response does not. MS-SMB2 3.3.4.1.2.
    said.credit_change = header.credits;
    if (!is_pending) *said.credit_change -= std::max<std::int32_t>(header.credit_charge, 1);
    said.begins_credits = command == Smb2Command::negotiate && header.message_id == 0;
    if (header.message_id == wire::smb2_unsolicited_id) {
        said.type = Said::Type::other;
        said.event = wire::smb2_name(header.command).text;
        said.credit_change.reset();
        return;
    }
    said.type = is_pending ? Said::Type::interim : Said::Type::response;
    said.event = "pending";
    said.status = header.status;
    constexpr std::uint32_t read_length_at = wire::smb2_header_bytes + 4;
    if (command == Smb2Command::read && header.status == 0 && message.size() >= read_length_at + 4)
        said.inline_bytes = wire::load_le32(message.data() + read_length_at);
}

void parse_smb_negotiation(base::Bytes head, bool is_response, ConnectionFacts& facts, Said& said) {
    said.type = Said::Type::other;
    said.event_heading = direct_heading;
    said.event = is_response ? "negotiate done" : "negotiate";
    constexpr std::uint32_t granted_at = 10;
    if (is_response && head.size() >= granted_at + 2) facts.slots = wire::load_le16(head.data() + granted_at);
}

/// A SEND without SMB data: it returns credits, and shows that the sender is alive.
void parse_smb_empty(base::Bytes head, std::uint64_t length, Said& said) {
    const auto header = wire::parse_smb_direct(head);
    if (!header || !header->is_consistent(length)) return;
    said.type = Said::Type::other;
    if (header->data_length != 0) return;
    said.event_heading = direct_heading;
    said.event = (header->flags & wire::smb_direct_response_requested) != 0 ? "keep alive" : "credits";
}

void smb_parse(base::Bytes head, std::uint64_t length, bool from_initiator, ConnectionFacts& facts, Said& said) {
    if (wire::is_smb_direct_request(head, length)) return parse_smb_negotiation(head, false, facts, said);
    if (wire::is_smb_direct_response(head, length)) return parse_smb_negotiation(head, true, facts, said);
    const base::Bytes message = smb_message_of(head, length);
    switch (wire::smb_header_of(message)) {
        case SmbHeader::none: return parse_smb_empty(head, length, said);
        case SmbHeader::encrypted:
            said.type = Said::Type::other;
            said.event = "encrypted";
            return;
        case SmbHeader::compressed:
            said.type = Said::Type::other;
            said.event = "compressed";
            return;
        case SmbHeader::plain: break;
    }
    const auto header = wire::parse_smb2(message);
    if (!header) return;
    if (header->is_response() == from_initiator) return;
    said.id = header->message_id & (~std::uint64_t{0} >> 1);
    if (header->is_response())
        parse_smb_response(message, *header, said);
    else
        parse_smb_request(message, *header, facts, said);
}

void smb_add_words(const LineContext& line, std::string& out) {
    const base::Bytes head = line.head;
    const std::uint64_t length = line.length;
    if (wire::is_smb_direct_request(head, length) && head.size() >= wire::smb_direct_negotiate_bytes) {
        out += fmt::format(" credits {} receive {} fragmented {}", wire::load_le16(head.data() + 6),
                           wire::load_le32(head.data() + 12), wire::load_le32(head.data() + 16));
        return;
    }
    if (wire::is_smb_direct_response(head, length) && head.size() >= wire::smb_direct_answer_bytes) {
        const std::uint32_t status = wire::load_le32(head.data() + 12);
        const std::string_view text = wire::name_of(wire::smb2_statuses, status);
        out += text.empty() ? fmt::format(" 0x{:08x}", status) : fmt::format(" {}", text);
        out += fmt::format(" credits {} granted {} read-write {} receive {} fragmented {}",
                           wire::load_le16(head.data() + 8), wire::load_le16(head.data() + 10),
                           wire::load_le32(head.data() + 16), wire::load_le32(head.data() + 24),
                           wire::load_le32(head.data() + 28));
        return;
    }
    const base::Bytes message = smb_message_of(head, length);
    if (wire::smb_header_of(message) == SmbHeader::encrypted && message.size() >= wire::smb2_transform_bytes) {
        out += fmt::format(" session 0x{:016x} len {}", wire::load_le64(message.data() + 44),
                           wire::load_le32(message.data() + 36));
        return;
    }
    const auto header = wire::parse_smb_direct(head);
    if (message.empty() && header)
        out += fmt::format(" credits {} granted {}", header->credits_requested, header->credits_granted);
}

/// The class of a status. A file that an application looks for and does not find is no error.
ErrorClass smb_error(std::uint32_t status) {
    constexpr std::uint32_t severity_error = 3;
    if (status >> 30 != severity_error) return ErrorClass::none;
    switch (status) {
        case 0xc000000f:  // NO_SUCH_FILE
        case 0xc0000011:  // END_OF_FILE
        case 0xc0000016:  // MORE_PROCESSING_REQUIRED
        case 0xc0000034:  // OBJECT_NAME_NOT_FOUND
        case 0xc0000035:  // OBJECT_NAME_COLLISION
        case 0xc000003a:  // OBJECT_PATH_NOT_FOUND
        case 0xc0000056:  // DELETE_PENDING
        case 0xc000007e:  // RANGE_NOT_LOCKED
        case 0xc00000ba:  // FILE_IS_A_DIRECTORY
        case 0xc0000101:  // DIRECTORY_NOT_EMPTY
        case 0xc0000103:  // NOT_A_DIRECTORY
        case 0xc000019c:  // FS_DRIVER_REQUIRED
        case 0xc0000225:  // NOT_FOUND
            return ErrorClass::none;
        case 0xc000000e:  // NO_SUCH_DEVICE
        case 0xc0000032:  // DISK_CORRUPT_ERROR
        case 0xc000003e:  // DATA_ERROR
        case 0xc000003f:  // CRC_ERROR
        case 0xc0000044:  // QUOTA_EXCEEDED
        case 0xc000007f:  // DISK_FULL
        case 0xc000009d:  // DEVICE_NOT_CONNECTED
        case 0xc00000a3:  // DEVICE_NOT_READY
        case 0xc00000b5:  // IO_TIMEOUT
        case 0xc00000e9:  // UNEXPECTED_IO_ERROR
        case 0xc0000185:  // IO_DEVICE_ERROR
            return ErrorClass::device;
        case 0xc00000be:  // BAD_NETWORK_PATH
        case 0xc00000c9:  // NETWORK_NAME_DELETED
        case 0xc00000cc:  // BAD_NETWORK_NAME
        case 0xc0000203:  // USER_SESSION_DELETED
        case 0xc000020c:  // CONNECTION_DISCONNECTED
        case 0xc000020d:  // CONNECTION_RESET
        case 0xc0000257:  // PATH_NOT_COVERED
        case 0xc000035c:  // NETWORK_SESSION_EXPIRED
            return ErrorClass::path;
        case 0xc0000120: return ErrorClass::aborted;  // CANCELLED
        case 0xc0000054:                              // FILE_LOCK_CONFLICT
        case 0xc0000055:                              // LOCK_NOT_GRANTED
        case 0xc000009a:                              // INSUFFICIENT_RESOURCES
        case 0xc00000bf:                              // NETWORK_BUSY
        case 0xc00000d0:                              // REQUEST_NOT_ACCEPTED
        case 0xc000011f:                              // TOO_MANY_OPENED_FILES
        case 0xc0000205:                              // INSUFF_SERVER_RESOURCES
        case 0xc000022d:                              // RETRY
            return ErrorClass::busy;
        case 0xc0000022:  // ACCESS_DENIED
        case 0xc0000043:  // SHARING_VIOLATION
        case 0xc0000061:  // PRIVILEGE_NOT_HELD
        case 0xc000006a:  // WRONG_PASSWORD
        case 0xc000006d:  // LOGON_FAILURE
        case 0xc000006e:  // ACCOUNT_RESTRICTION
        case 0xc0000072:  // ACCOUNT_DISABLED
        case 0xc00000a2:  // MEDIA_WRITE_PROTECTED
        case 0xc00000ca:  // NETWORK_ACCESS_DENIED
        case 0xc0000121:  // CANNOT_DELETE
            return ErrorClass::denied;
        default: return ErrorClass::protocol;
    }
}

StatusMeaning smb_status(std::uint32_t, std::uint32_t status) {
    return {wire::name_of(wire::smb2_statuses, status), smb_error(status)};
}

}  // namespace

constinit const Protocol smb{
    .name = "smb",
    .heading = "SMB2",
    .id_word = "mid",
    .id_digits = 0,
    .target_word = "tid",
    .block_word = "offset",
    .ports = smb_ports,
    .read_private_data = smb_read_private_data,
    .shape = smb_shape,
    .parse = smb_parse,
    .status = smb_status,
    .fragment = smb_fragment,
    .next_part = smb_next_part,
    .add_words = smb_add_words,
    .request_layer = dissect::LayerId::smb_direct,
    .response_layer = dissect::LayerId::smb_direct,
    .data_layer = dissect::LayerId::smb_direct,
    .private_data_layers = {dissect::LayerId::none, dissect::LayerId::none, dissect::LayerId::none},
};

}  // namespace upper::protocols
