#include "wire/icmp.h"

#include <optional>

#include "dissect/layer_table.h"
#include "dissect/layers/crc_status.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/protocols.h"
#include "wire/checksum.h"
#include "wire/ip_protocol.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace dissect::inline layers {

namespace {

using wire::Icmp;
using wire::Icmpv6;
using wire::Kind;

/// Ports and sequence number: as much of a transport header as every error quotes. RFC 792.
constexpr std::uint32_t least_quoted_transport = 8;

/// An error that quotes less than a TCP header still names the connection.
void take_quoted_ports(Context& quote) {
    Dissection& out = quote.out;
    const bool short_tcp = out.stop.layer == LayerId::tcp && !out.has(LayerId::tcp);
    if (!short_tcp || quote.available() < least_quoted_transport) return;
    const std::byte* const p = quote.at(quote.offset);
    out.source_port = base::load_be16(p);
    out.destination_port = base::load_be16(p + 2);
    out.tcp = {};
    out.tcp.sequence = base::load_be32(p + 4);
    const std::uint32_t length = quote.available();
    quote.record(LayerId::tcp, quote.offset, length, length);
}

/// Reads the packet that an error quotes as far as it goes: its end is cut, which is no fault of the capture's. What
/// the frame itself is stays as it was.
void parse_quote(Context& context, std::uint32_t length) {
    Dissection& out = context.out;
    const Dissection::Own own = out.own();
    const std::uint32_t end = std::min({context.captured(), context.end, context.offset + length});
    Context quote{context.bytes().first(std::max(end, context.offset)), end, context.options, out};
    quote.offset = context.offset;
    quote.quoted = true;
    quote.cut(Reason::snapped);
    if (quote.available() == 0) return;
    LayerId next = base::load_u8(quote.at(quote.offset)) >> 4 == 6 ? LayerId::ipv6 : LayerId::ipv4;
    while (next != LayerId::none && out.stop.outcome == Outcome::complete) next = row_of(next).parse(quote);
    take_quoted_ports(quote);
    out.end_quote(own);
}

/// How much of what follows the header is the quoted packet: extensions may follow it. RFC 4884, 3.
std::uint32_t quoted_length(std::uint8_t words, std::uint32_t word_octets) {
    return words == 0 ? 0xffff : words * word_octets;
}

/// An error about an error is sent by none (RFC 1122, 3.2.2): a quoted message is not looked into.
LayerId finish_message(Context& context, LayerId id, bool quotes, std::uint32_t length) {
    if (!quotes || context.quoted) return context.stop_after(id);
    const std::uint32_t end = context.end;
    parse_quote(context, length);
    context.offset = std::min(end, context.captured());
    return context.stop_after(id);
}

LayerId parse_icmp(Context& context) {
    const std::byte* p = context.take(LayerId::icmp, octets_of<Icmp>);
    if (p == nullptr) return LayerId::none;
    const std::uint8_t type = base::load_u8(p);
    const bool quotes = type == wire::icmp_type::redirect || wire::icmp_error_kind(type, base::load_u8(p + 1));
    // A redirect has an address where the length would be.
    const std::uint8_t words = type == wire::icmp_type::redirect ? std::uint8_t{0} : base::load_u8(p + 5);
    return finish_message(context, LayerId::icmp, quotes, quoted_length(words, 4));
}

LayerId parse_icmpv6(Context& context) {
    const std::uint32_t start = context.offset;
    const std::byte* p = context.take(LayerId::icmpv6, octets_of<Icmpv6>);
    if (p == nullptr) return LayerId::none;
    const std::uint8_t type = base::load_u8(p);
    // All but a few have four more bytes of their own.
    const std::uint32_t more = std::min(wire::icmp_quote_offset - octets_of<Icmpv6>, context.available());
    LayerRef& layer = context.out.layers[context.out.layer_count - 1u];
    layer.length += more;
    layer.wire_length = layer.length;
    context.offset = start + layer.length;
    const bool quotes = wire::icmpv6_error_kind(type, base::load_u8(p + 1)) && layer.length == wire::icmp_quote_offset;
    const bool has_length = type == wire::icmpv6_type::unreachable || type == wire::icmpv6_type::time_exceeded;
    const std::uint8_t words = quotes && has_length ? base::load_u8(p + 4) : std::uint8_t{0};
    return finish_message(context, LayerId::icmpv6, quotes, quoted_length(words, 8));
}

/// The message as the IP header below bounds it; nothing where it was not captured whole.
struct IcmpMessage {
    base::Bytes octets;
    base::Bytes addresses;  ///< of IPv6
};
std::optional<IcmpMessage> icmp_message_of(const LayerView& view) {
    const LayerRef& layer = view.layer;
    for (unsigned i = layer.depth; i-- > 0;) {
        const LayerRef& below = view.dissection.layers[i];
        const std::byte* const p = view.bytes.data() + below.offset;
        std::uint32_t end = 0;
        IcmpMessage message;
        if (below.id == LayerId::ipv4) {
            end = below.offset + base::load_be16(p + 2);
        } else if (below.id == LayerId::ipv6) {
            end = below.offset + octets_of<wire::Ipv6> + base::load_be16(p + 4);
            message.addresses = view.bytes.subspan(below.offset + 8, 32);
        } else {
            continue;
        }
        if (end > view.bytes.size() || end < layer.offset + layer.length) return std::nullopt;
        message.octets = view.bytes.subspan(layer.offset, end - layer.offset);
        return message;
    }
    return std::nullopt;
}

CrcStatus checksum_of(const IcmpMessage& message) {
    std::uint64_t sum = static_cast<std::uint16_t>(~wire::internet_checksum(message.octets));
    if (!message.addresses.empty()) {
        sum += static_cast<std::uint16_t>(~wire::internet_checksum(message.addresses));
        sum += message.octets.size() + wire::ip_protocol::icmpv6;
    }
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return sum == 0xffff ? CrcStatus::good : CrcStatus::bad;
}

/// Of a quoted message only a part is there.
CrcStatus checksum_status_of(const LayerView& view) {
    if (view.layer.depth >= view.dissection.own_layers || view.dissection.fragmented) return CrcStatus::unchecked;
    const auto message = icmp_message_of(view);
    return message ? checksum_of(*message) : CrcStatus::unchecked;
}

constexpr wire::FieldInfo icmp_computed[] = {
    crc_status_field("icmp.checksum.status", "Checksum status"),
    floating("icmp.unused", "Unused", Kind::bytes),
    floating("icmp.length", "Length", Kind::uint8),
    floating("icmp.length.original_datagram", "Length of original datagram", Kind::uint8),
    floating("icmp.mtu", "MTU of next hop", Kind::uint16),
    floating("icmp.pointer", "Pointer", Kind::uint32),
    floating("icmp.redir_gw", "Gateway address", Kind::ipv4),
    floating("icmp.ident_le", "Identifier (LE)", Kind::uint16),
    floating("icmp.seq_le", "Sequence number (LE)", Kind::uint16),
};

std::uint64_t octets_swapped(std::uint16_t value) { return static_cast<std::uint16_t>(value << 8 | value >> 8); }

/// RFC 4884, 3: how much is quoted, where extensions follow.
void describe_quoted_length(const Tree& tree, std::uint32_t end) {
    const std::uint8_t words = base::load_u8(tree.at(5));
    if (words == 0) return tree.octets(pick(icmp_computed, "icmp.unused"), 4, end - 4);
    tree.octets(pick(icmp_computed, "icmp.unused"), 4, 1);
    tree.number(pick(icmp_computed, "icmp.length"), words, 5, 1);
    tree.number(pick(icmp_computed, "icmp.length.original_datagram"), words * std::uint64_t{4}, 5, 1);
    if (end > 6) tree.octets(pick(icmp_computed, "icmp.unused"), 6, end - 6);
}

void describe_icmp_rest(const Tree& tree, std::uint8_t type, std::uint8_t code) {
    switch (type) {
        case wire::icmp_type::unreachable:
            describe_quoted_length(tree, code == 4 ? 6 : 8);
            if (code == 4) tree.number(pick(icmp_computed, "icmp.mtu"), base::load_be16(tree.at(6)), 6, 2);
            break;
        case wire::icmp_type::time_exceeded: describe_quoted_length(tree, 8); break;
        case wire::icmp_type::parameter_problem:
            tree.number(pick(icmp_computed, "icmp.pointer"), base::load_u8(tree.at(4)), 4, 1);
            tree.octets(pick(icmp_computed, "icmp.unused"), 5, 3);
            break;
        case wire::icmp_type::redirect: tree.octets(pick(icmp_computed, "icmp.redir_gw"), 4, 4); break;
        case wire::icmp_type::echo_request:
        case wire::icmp_type::echo_reply:
            tree.field<&Icmp::identifier>();
            tree.number(pick(icmp_computed, "icmp.ident_le"), octets_swapped(base::load_be16(tree.at(4))), 4, 2);
            tree.field<&Icmp::sequence>();
            tree.number(pick(icmp_computed, "icmp.seq_le"), octets_swapped(base::load_be16(tree.at(6))), 6, 2);
            break;
        default: break;
    }
}

void describe_icmp(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.fields<&Icmp::type, &Icmp::code, &Icmp::checksum>();
    tree.number(pick(icmp_computed, "icmp.checksum.status"), number_of(checksum_status_of(view)), 2, 2);
    describe_icmp_rest(tree, base::load_u8(tree.at(0)), base::load_u8(tree.at(1)));
}

constexpr wire::FieldInfo icmpv6_computed[] = {
    crc_status_field("icmpv6.checksum.status", "Checksum status"),
    floating("icmpv6.reserved", "Reserved", Kind::bytes),
    floating("icmpv6.mtu", "MTU", Kind::uint32),
    floating("icmpv6.pointer", "Pointer", Kind::uint32),
    {"icmpv6.echo.identifier", "Identifier", 32, 16, Kind::uint16, wire::Base::hex},
    {"icmpv6.echo.sequence_number", "Sequence", 48, 16, Kind::uint16},
};

void describe_icmpv6(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.fields<&Icmpv6::type, &Icmpv6::code, &Icmpv6::checksum>();
    tree.number(pick(icmpv6_computed, "icmpv6.checksum.status"), number_of(checksum_status_of(view)), 2, 2);
    if (tree.size() < wire::icmp_quote_offset) return;
    switch (base::load_u8(tree.at(0))) {
        case wire::icmpv6_type::unreachable:
        case wire::icmpv6_type::time_exceeded: tree.octets(pick(icmpv6_computed, "icmpv6.reserved"), 4, 4); break;
        case wire::icmpv6_type::too_big:
            tree.number(pick(icmpv6_computed, "icmpv6.mtu"), base::load_be32(tree.at(4)), 4, 4);
            break;
        case wire::icmpv6_type::parameter_problem:
            tree.number(pick(icmpv6_computed, "icmpv6.pointer"), base::load_be32(tree.at(4)), 4, 4);
            break;
        case wire::icmpv6_type::echo_request:
        case wire::icmpv6_type::echo_reply:
            tree.field(pick(icmpv6_computed, "icmpv6.echo.identifier"));
            tree.field(pick(icmpv6_computed, "icmpv6.echo.sequence_number"));
            break;
        default: break;
    }
}

}  // namespace

constinit const LayerRow icmp_layer{"icmp",        &protocol::icmp,         {},           parse_icmp,
                                    describe_icmp, wire::field_table<Icmp>, icmp_computed};
constinit const LayerRow icmpv6_layer{
    "icmpv6", &protocol::icmpv6, {}, parse_icmpv6, describe_icmpv6, wire::field_table<Icmpv6>, icmpv6_computed};

}  // namespace dissect::layers
