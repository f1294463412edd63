#include "wire/smb_direct.h"

#include <algorithm>

#include "dissect/layer_table.h"
#include "dissect/layers/little_endian_fields.h"
#include "dissect/layers/protocols.h"
#include "wire/smb2.h"
#include "wire/smb2_names.h"

// Names and labels are Wireshark's.
namespace dissect::inline layers {
namespace {

namespace le = little_endian;

constexpr auto smb_direct_table = le::table_of(std::array{
    le::heading("smb_direct.negotiate_request", "NegotiateRequest"),
    le::heading("smb_direct.negotiate_response", "NegotiateResponse"),
    le::heading("smb_direct.data_message", "DataMessage"),
    le::hex("smb_direct.version.min", "MinVersion", {0, 2}),
    le::hex("smb_direct.version.max", "MaxVersion", {2, 2}),
    le::hex("smb_direct.version.negotiated", "NegotiatedVersion", {4, 2}),
    le::number("smb_direct.credits.requested", "CreditsRequested", {0, 2}),
    le::number("smb_direct.credits.granted", "CreditsGranted", {2, 2}),
    le::hex("smb_direct.status", "Status", {12, 4}, wire::smb2_statuses),
    le::number("smb_direct.max_read_write_size", "MaxReadWriteSize", {16, 4}),
    le::number("smb_direct.preferred_send_size", "PreferredSendSize", {8, 4}),
    le::number("smb_direct.max_receive_size", "MaxReceiveSize", {12, 4}),
    le::number("smb_direct.max_fragmented_size", "MaxFragmentedSize", {16, 4}),
    le::hex("smb_direct.flags", "Flags", {4, 2}),
    le::flag("smb_direct.flags.response_requested", "ResponseRequested", {4, 2, 0, 1}),
    le::number("smb_direct.remaining_length", "RemainingLength", {8, 4}),
    le::number("smb_direct.data_offset", "DataOffset", {12, 4}),
    le::number("smb_direct.data_length", "DataLength", {16, 4}),
});

#define AT(name) (std::integral_constant<std::size_t, smb_direct_table.find(name)>::value)

/// A number that stands elsewhere than in the table.
void show_at(const Tree& tree, std::size_t index, std::uint32_t at, std::uint32_t bytes) {
    if (at + bytes > tree.size()) return;
    tree.number(smb_direct_table.infos[index], wire::load_le(tree.at(at), bytes), at, bytes);
}

/// The three sizes that both sides name.
void show_sizes(const Tree& tree, std::uint32_t at) {
    show_at(tree, AT("smb_direct.preferred_send_size"), at, 4);
    show_at(tree, AT("smb_direct.max_receive_size"), at + 4, 4);
    show_at(tree, AT("smb_direct.max_fragmented_size"), at + 8, 4);
}

void describe_negotiation(const Tree& tree, bool is_response) {
    const le::Structure structure{tree, smb_direct_table};
    tree.open(
        smb_direct_table.infos[is_response ? AT("smb_direct.negotiate_response") : AT("smb_direct.negotiate_request")],
        0, tree.size());
    structure.show(AT("smb_direct.version.min"));
    structure.show(AT("smb_direct.version.max"));
    if (is_response) {
        structure.show(AT("smb_direct.version.negotiated"));
        show_at(tree, AT("smb_direct.credits.requested"), 8, 2);
        show_at(tree, AT("smb_direct.credits.granted"), 10, 2);
        structure.show(AT("smb_direct.status"));
        structure.show(AT("smb_direct.max_read_write_size"));
        show_sizes(tree, 20);
    } else {
        show_at(tree, AT("smb_direct.credits.requested"), 6, 2);
        show_sizes(tree, 8);
    }
    tree.close();
}

void describe_smb_direct(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    const std::uint32_t length = view.layer.wire_length;
    if (wire::is_smb_direct_request(tree.octets(), length)) return describe_negotiation(tree, false);
    if (wire::is_smb_direct_response(tree.octets(), length)) return describe_negotiation(tree, true);
    const le::Structure structure{tree, smb_direct_table};
    tree.open(smb_direct_table.infos[AT("smb_direct.data_message")], 0, tree.size());
    structure.show(AT("smb_direct.credits.requested"));
    structure.show(AT("smb_direct.credits.granted"));
    structure.show_below(AT("smb_direct.flags"), AT("smb_direct.flags.response_requested"));
    structure.show_all(AT("smb_direct.remaining_length"), AT("smb_direct.data_length"));
    tree.close();
}

#undef AT

LayerId parse_smb_direct(Context& context) {
    const std::uint32_t captured = context.available();
    const std::uint32_t size = context.remaining();
    const base::Bytes rest = context.bytes().subspan(std::min(context.offset, context.captured()), captured);
    // A message that was put together has no header of its own.
    if (wire::smb_header_of(rest) != wire::SmbHeader::none) return LayerId::smb2;
    if (wire::is_smb_direct_request(rest, size) || wire::is_smb_direct_response(rest, size)) {
        context.record(LayerId::smb_direct, context.offset, captured, size);
        context.offset += captured;
        return LayerId::none;
    }
    const auto header = wire::parse_smb_direct(rest);
    if (!header) {
        if (captured != 0) context.record(LayerId::smb_direct, context.offset, captured, size);
        return context.stop_short(LayerId::smb_direct, wire::smb_direct_empty_bytes);
    }
    if (!header->is_consistent(size))
        return context.stop(Outcome::malformed, Reason::wrong_length, LayerId::smb_direct, context.offset, size);
    const std::uint32_t own = header->data_length == 0 ? size : header->data_offset;
    context.record(LayerId::smb_direct, context.offset, std::min(captured, own), own);
    context.offset += own;
    const bool is_whole = header->remaining_length == 0 && header->data_length != 0 && captured > own &&
                          wire::smb_header_of(rest.subspan(own)) != wire::SmbHeader::none;
    if (!is_whole) return LayerId::none;
    context.end_at(context.offset + header->data_length);
    return LayerId::smb2;
}

}  // namespace

constinit const LayerRow smb_direct_layer{
    "smb_direct", &protocol::smb_direct, {}, parse_smb_direct, describe_smb_direct, {}, smb_direct_table.infos};

}  // namespace dissect::layers
