#include "wire/srp.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/protocols.h"
#include "wire/scsi.h"

// Wireshark has no fields for SRP: the names are the house's own.
namespace dissect::inline layers {
namespace {

using wire::Base;
using wire::Kind;
using wire::SrpType;

constexpr wire::FieldInfo srp_fields[] = {
    {"rdma.srp.type", "Type", 0, 8, Kind::uint8, Base::hex, false, wire::srp_types},
    {"rdma.srp.tag", "Tag", 64, 64, Kind::uint64, Base::hex},
    {"rdma.srp.solicited", "Solicited notification", 8, 8, Kind::uint8, Base::hex},
    {"rdma.srp.data_out.format", "Data-out buffer", 40, 4, Kind::uint8, Base::dec, false, wire::srp_buffer_formats},
    {"rdma.srp.data_in.format", "Data-in buffer", 44, 4, Kind::uint8, Base::dec, false, wire::srp_buffer_formats},
    {"rdma.srp.data_out.count", "Data-out descriptors", 48, 8, Kind::uint8},
    {"rdma.srp.data_in.count", "Data-in descriptors", 56, 8, Kind::uint8},
    {"rdma.srp.lun", "LUN", 160, 64, Kind::uint64, Base::hex},
    {"rdma.srp.attribute", "Task attribute", 237, 3, Kind::uint8},
    {"rdma.srp.additional_cdb", "Additional CDB, in words", 248, 6, Kind::uint8},
    {"rdma.srp.request_limit", "Request limit delta", 32, 32, Kind::uint32},
    {"rdma.srp.response_flags", "Flags", 144, 8, Kind::uint8, Base::hex},
    {"rdma.srp.data_out.residual", "Data-out residual", 160, 32, Kind::uint32},
    {"rdma.srp.data_in.residual", "Data-in residual", 192, 32, Kind::uint32},
    {"rdma.srp.sense_length", "Sense length", 224, 32, Kind::uint32},
    {"rdma.srp.response_length", "Response data length", 256, 32, Kind::uint32},
    {"rdma.srp.function", "Function", 240, 8, Kind::uint8, Base::hex, false, wire::srp_task_functions},
    {"rdma.srp.task_tag", "Tag of the task", 256, 64, Kind::uint64, Base::hex},
    {"rdma.srp.max_it_length", "Longest unit to the target", 128, 32, Kind::uint32},
    {"rdma.srp.max_ti_length", "Longest unit to the initiator", 160, 32, Kind::uint32},
    {"rdma.srp.buffer_formats", "Buffer formats", 192, 16, Kind::uint16, Base::hex},
    {"rdma.srp.login_flags", "Flags", 208, 8, Kind::uint8, Base::hex},
    {"rdma.srp.initiator_port", "Initiator port", 256, 128, Kind::bytes},
    {"rdma.srp.target_port", "Target port", 384, 128, Kind::bytes},
    {"rdma.srp.reject_reason", "Reason", 32, 32, Kind::uint32, Base::hex, false, wire::srp_reject_reasons},
};
constexpr wire::FieldInfo srp_computed[] = {
    floating("rdma.srp.descriptor", "Descriptor", Kind::uint32),
    floating("rdma.srp.address", "Address", Kind::uint64, Base::hex),
    floating("rdma.srp.key", "Key", Kind::uint32, Base::hex),
    floating("rdma.srp.length", "Length", Kind::uint32),
    floating("rdma.srp.table_length", "Length of all", Kind::uint32),
    floating("rdma.srp.response_code", "Response code", Kind::uint8, Base::hex, wire::srp_response_codes),
};

#define SRP(name) tree.field(pick(srp_fields, name))

void describe_descriptor(const Tree& tree, std::uint32_t index, std::uint32_t at) {
    if (at + wire::srp_direct_bytes > tree.size()) return;
    const wire::SrpDescriptor one = wire::parse_srp_descriptor(tree.at(at));
    tree.open_number(pick(srp_computed, "rdma.srp.descriptor"), index, at, wire::srp_direct_bytes);
    tree.number(pick(srp_computed, "rdma.srp.address"), one.address, at, 8);
    tree.number(pick(srp_computed, "rdma.srp.key"), one.key, at + 8, 4);
    tree.number(pick(srp_computed, "rdma.srp.length"), one.length, at + 12, 4);
    tree.close();
}

/// The descriptors of one direction; where those of the next one begin.
std::uint32_t describe_buffer(const Tree& tree, wire::SrpBuffer format, std::uint8_t count, std::uint32_t at) {
    switch (format) {
        case wire::SrpBuffer::none: return at;
        case wire::SrpBuffer::direct: describe_descriptor(tree, 0, at); return at + wire::srp_direct_bytes;
        case wire::SrpBuffer::immediate: return at + 4;
        case wire::SrpBuffer::indirect: break;
    }
    describe_descriptor(tree, 0, at);
    if (at + wire::srp_indirect_bytes <= tree.size())
        tree.number(pick(srp_computed, "rdma.srp.table_length"), base::load_be32(tree.at(at + 16)), at + 16, 4);
    at += wire::srp_indirect_bytes;
    for (unsigned i = 0; i < count; ++i) {
        describe_descriptor(tree, i + 1, at);
        at += wire::srp_direct_bytes;
    }
    return at;
}

void describe_srp_command(const Tree& tree) {
    SRP("rdma.srp.solicited");
    SRP("rdma.srp.data_out.format");
    SRP("rdma.srp.data_in.format");
    SRP("rdma.srp.data_out.count");
    SRP("rdma.srp.data_in.count");
    SRP("rdma.srp.tag");
    SRP("rdma.srp.lun");
    SRP("rdma.srp.attribute");
    SRP("rdma.srp.additional_cdb");
    if (tree.size() < 32) return;
    const std::uint8_t formats = base::load_u8(tree.at(5));
    std::uint32_t at = wire::srp_command_bytes + (base::load_u8(tree.at(31)) & 0xfcu);
    at = describe_buffer(tree, wire::srp_out_format(formats), base::load_u8(tree.at(6)), at);
    describe_buffer(tree, wire::srp_in_format(formats), base::load_u8(tree.at(7)), at);
}

void describe_srp_response(const Tree& tree) {
    SRP("rdma.srp.request_limit");
    SRP("rdma.srp.tag");
    SRP("rdma.srp.response_flags");
    SRP("rdma.srp.data_out.residual");
    SRP("rdma.srp.data_in.residual");
    SRP("rdma.srp.sense_length");
    SRP("rdma.srp.response_length");
    constexpr std::uint8_t has_response_data = 1;
    constexpr std::uint32_t code_at = wire::srp_response_bytes + 3;
    if (tree.size() > code_at && (base::load_u8(tree.at(18)) & has_response_data) != 0)
        tree.number(pick(srp_computed, "rdma.srp.response_code"), base::load_u8(tree.at(code_at)), code_at, 1);
}

void describe_srp(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    if (tree.size() == 0) return;
    SRP("rdma.srp.type");
    switch (static_cast<SrpType>(base::load_u8(tree.at(0)))) {
        case SrpType::command: return describe_srp_command(tree);
        case SrpType::response: return describe_srp_response(tree);
        case SrpType::task_management:
            SRP("rdma.srp.tag");
            SRP("rdma.srp.lun");
            SRP("rdma.srp.function");
            SRP("rdma.srp.task_tag");
            return;
        case SrpType::login_request:
            SRP("rdma.srp.tag");
            SRP("rdma.srp.max_it_length");
            SRP("rdma.srp.buffer_formats");
            SRP("rdma.srp.login_flags");
            SRP("rdma.srp.initiator_port");
            SRP("rdma.srp.target_port");
            return;
        case SrpType::login_response:
            SRP("rdma.srp.request_limit");
            SRP("rdma.srp.tag");
            SRP("rdma.srp.max_it_length");
            SRP("rdma.srp.max_ti_length");
            SRP("rdma.srp.buffer_formats");
            SRP("rdma.srp.login_flags");
            return;
        case SrpType::login_reject:
            SRP("rdma.srp.reject_reason");
            SRP("rdma.srp.tag");
            SRP("rdma.srp.buffer_formats");
            return;
        case SrpType::credit_request: SRP("rdma.srp.request_limit"); break;
        default: break;
    }
    SRP("rdma.srp.tag");
}

#undef SRP

LayerId parse_srp(Context& context) {
    const std::uint32_t first = context.offset;
    const std::uint32_t captured = context.available();
    const std::uint32_t size = context.remaining();
    if (captured == 0) return context.stop_short(LayerId::srp, 16);
    context.record(LayerId::srp, first, captured, size);
    constexpr std::uint32_t cdb_at = 32, status_at = 19;
    const auto type = static_cast<SrpType>(base::load_u8(context.at(first)));
    if (type == SrpType::command && captured > cdb_at)
        context.record(LayerId::scsi_cdb, first + cdb_at, std::min(captured - cdb_at, wire::scsi_cdb_bytes),
                       wire::scsi_cdb_bytes);
    if (type == SrpType::response && captured > status_at)
        context.record(LayerId::scsi_status, first + status_at, 1, 1);
    constexpr std::uint8_t has_response_data = 1, has_sense = 2;
    if (type == SrpType::response && captured > wire::srp_response_bytes) {
        const std::uint8_t flags = base::load_u8(context.at(first + 18));
        const std::uint32_t before = (flags & has_response_data) != 0 ? base::load_be32(context.at(first + 32)) : 0;
        const std::uint64_t sense_at = std::uint64_t{wire::srp_response_bytes} + before;
        if ((flags & has_sense) != 0 && sense_at < captured) {
            const auto at = static_cast<std::uint32_t>(sense_at);
            context.record(LayerId::scsi_sense, first + at, captured - at, size - at);
        }
    }
    context.offset += captured;
    return LayerId::none;
}

// The login of Linux with the RDMA CM, whose own 36 bytes leave no room for the whole request.
constexpr wire::FieldInfo login_fields[] = {
    {"rdma.srp.login.tag", "Tag", 0, 64, Kind::uint64, Base::hex},
    {"rdma.srp.login.buffer_formats", "Buffer formats", 64, 16, Kind::uint16, Base::hex},
    {"rdma.srp.login.flags", "Flags", 80, 8, Kind::uint8, Base::hex},
    {"rdma.srp.login.type", "Type", 88, 8, Kind::uint8, Base::hex, false, wire::srp_types},
    {"rdma.srp.login.max_it_length", "Longest unit to the target", 96, 32, Kind::uint32},
    {"rdma.srp.login.initiator_port", "Initiator port", 128, 128, Kind::bytes},
    {"rdma.srp.login.target_port", "Target port", 256, 128, Kind::bytes},
    {"rdma.srp.login.immediate_offset", "Offset of immediate data", 384, 16, Kind::uint16},
};

LayerId parse_login(Context& context) {
    const bool is_whole = context.available() >= wire::srp_login_request_bytes;
    if (is_whole) return parse_srp(context);
    context.take(LayerId::srp_login, wire::srp_login_short_bytes);
    return LayerId::none;
}

}  // namespace

constinit const LayerRow srp_layer{"srp", &protocol::srp, {}, parse_srp, describe_srp, srp_fields, srp_computed};
constinit const LayerRow srp_login_layer{"srp_login", &protocol::srp, {}, parse_login, nullptr, login_fields};

}  // namespace dissect::layers
