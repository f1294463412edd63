#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"
#include "wire/ipv6.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Ipv6Extension;
using wire::Ipv6Fragment;
using wire::Ipv6Routing;
using wire::Kind;

/// Variants of an options header.
constexpr std::uint8_t is_hop_by_hop = 0;
constexpr std::uint8_t is_destination = 1;

/// Claims an extension header whose second byte is the length.
const std::byte* take_extension(Context& context, LayerId id, std::uint32_t (*size_of_length)(std::uint8_t)) {
    if (context.available() < octets_of<Ipv6Extension>) {
        context.stop_short(id, octets_of<Ipv6Extension>);
        return nullptr;
    }
    return context.take(id, size_of_length(base::load_u8(context.at(context.offset + 1))));
}

/// RFC 2675, 2: the length of a packet whose header says 0, counted from the end of the header. Where the option is
/// not there or not well formed, nothing is changed.
bool apply_jumbo(Context& context, base::Bytes options) {
    const LayerRef* ip = context.out.find(LayerId::ipv6);
    if (ip == nullptr || base::load_be16(context.at(ip->offset + 4)) != 0) return true;
    for (std::size_t at = octets_of<Ipv6Extension>; at + 1 < options.size();) {
        const std::uint8_t type = base::load_u8(&options[at]);
        const std::uint8_t length = type == wire::ipv6_option::pad1 ? 0 : base::load_u8(&options[at + 1]);
        if (type == wire::ipv6_option::jumbo && length == 4 && at + 6 <= options.size()) {
            const std::uint64_t end =
                std::uint64_t{ip->offset} + octets_of<wire::Ipv6> + base::load_be32(&options[at + 2]);
            return end >= context.offset && end <= context.end && context.end_at(static_cast<std::uint32_t>(end));
        }
        at += type == wire::ipv6_option::pad1 ? 1u : 2u + length;
    }
    return true;
}

LayerId parse_ipv6_options(Context& context) {
    const std::uint32_t start = context.offset;
    const bool first =
        context.out.layer_count != 0 && context.out.layers[context.out.layer_count - 1u].id == LayerId::ipv6;
    const bool hop_by_hop = first && base::load_u8(context.at(context.offset - octets_of<wire::Ipv6> + 6)) == 0;
    const std::byte* p = take_extension(context, LayerId::ipv6_options, wire::ipv6_extension_size);
    if (p == nullptr) return LayerId::none;
    context.out.layers[context.out.layer_count - 1u].variant = hop_by_hop ? is_hop_by_hop : is_destination;
    if (hop_by_hop && !apply_jumbo(context, {p, context.offset - start}))
        return context.stop(Outcome::malformed, Reason::bad_total_length, LayerId::ipv6_options, start, 0);
    return next_or_last(context, after_next_header(context, base::load_u8(p)), LayerId::ipv6_options);
}

constexpr wire::FieldInfo options_computed[] = {
    floating("ipv6.hopopts.nxt", "Next header", Kind::uint8, Base::dec, wire::ip_protocol::names),
    floating("ipv6.hopopts.len", "Length", Kind::uint8),
    floating("ipv6.hopopts.len_oct", "Length in bytes", Kind::uint16),
    floating("ipv6.dstopts", "Destination Options for IPv6"),
    floating("ipv6.dstopts.nxt", "Next header", Kind::uint8, Base::dec, wire::ip_protocol::names),
    floating("ipv6.dstopts.len", "Length", Kind::uint8),
    floating("ipv6.dstopts.len_oct", "Length in bytes", Kind::uint16),
    floating("ipv6.opt", "IPv6 option"),
    floating("ipv6.opt.type", "Type", Kind::uint8, Base::hex, wire::ipv6_options),
    floating("ipv6.opt.type.action", "Action", Kind::uint8),
    floating("ipv6.opt.type.change", "May change", Kind::boolean),
    floating("ipv6.opt.type.rest", "Low-order bits", Kind::uint8, Base::hex),
    floating("ipv6.opt.length", "Length", Kind::uint8),
    floating("ipv6.opt.pad1", "Pad1"),
    floating("ipv6.opt.padn", "PadN", Kind::bytes),
    floating("ipv6.opt.router_alert", "Router alert", Kind::uint16),
    floating("ipv6.opt.jumbo", "Payload length", Kind::uint32),
    floating("ipv6.opt.tel", "Tunnel encapsulation limit", Kind::uint8),
    floating("ipv6.opt.unknown", "Unknown option payload", Kind::bytes),
};

void describe_ipv6_option_value(const Tree& option, std::uint8_t type, std::uint32_t length) {
    if (type == wire::ipv6_option::padn)
        option.octets(pick(options_computed, "ipv6.opt.padn"), 2, length);
    else if (type == wire::ipv6_option::router_alert && length == 2)
        option.number(pick(options_computed, "ipv6.opt.router_alert"), base::load_be16(option.at(2)), 2, 2);
    else if (type == wire::ipv6_option::jumbo && length == 4)
        option.number(pick(options_computed, "ipv6.opt.jumbo"), base::load_be32(option.at(2)), 2, 4);
    else if (type == wire::ipv6_option::tunnel_limit && length == 1)
        option.number(pick(options_computed, "ipv6.opt.tel"), base::load_u8(option.at(2)), 2, 1);
    else
        option.octets(pick(options_computed, "ipv6.opt.unknown"), 2, length);
}

void describe_ipv6_option(const Tree& option) {
    const std::uint8_t type = base::load_u8(option.at(0));
    option.open(pick(options_computed, "ipv6.opt"), 0, option.size());
    option.number(pick(options_computed, "ipv6.opt.type"), type, 0, 1);
    option.number(pick(options_computed, "ipv6.opt.type.action"), type >> 6, 0, 1);
    option.number(pick(options_computed, "ipv6.opt.type.change"), type >> 5 & 1, 0, 1);
    option.number(pick(options_computed, "ipv6.opt.type.rest"), type & 31, 0, 1);
    if (type == wire::ipv6_option::pad1) {
        option.octets(pick(options_computed, "ipv6.opt.pad1"), 0, 1);
    } else {
        option.number(pick(options_computed, "ipv6.opt.length"), option.size() - 2, 1, 1);
        describe_ipv6_option_value(option, type, option.size() - 2);
    }
    option.close();
}

void describe_ipv6_options(const LayerView& view, Visitor& visitor);

}  // namespace

constinit const LayerRow ipv6_options_layer{
    "ipv6.hopopts",     &protocol::ipv6,       floating("ipv6.hopopts", "IPv6 Hop-by-Hop Option"),
    parse_ipv6_options, describe_ipv6_options, wire::field_table<Ipv6Extension>,
    options_computed};

namespace {

void describe_ipv6_options(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    const bool destination = view.layer.variant == is_destination;
    const auto& next =
        destination ? pick(options_computed, "ipv6.dstopts.nxt") : pick(options_computed, "ipv6.hopopts.nxt");
    const auto& length =
        destination ? pick(options_computed, "ipv6.dstopts.len") : pick(options_computed, "ipv6.hopopts.len");
    const auto& octets =
        destination ? pick(options_computed, "ipv6.dstopts.len_oct") : pick(options_computed, "ipv6.hopopts.len_oct");
    tree.open(destination ? pick(options_computed, "ipv6.dstopts") : ipv6_options_layer.heading, 0, tree.size());
    tree.number(next, base::load_u8(tree.at(0)), 0, 1);
    tree.number(length, base::load_u8(tree.at(1)), 1, 1);
    tree.number(octets, tree.size(), 1, 1);
    for (std::uint32_t at = octets_of<Ipv6Extension>; at < tree.size();) {
        const bool pad1 = base::load_u8(tree.at(at)) == wire::ipv6_option::pad1;
        if (!pad1 && at + 2 > tree.size()) break;
        const std::uint32_t size = pad1 ? 1 : 2u + base::load_u8(tree.at(at + 1));
        if (at + size > tree.size()) break;
        describe_ipv6_option(tree.part(at, size));
        at += size;
    }
    tree.close();
}

LayerId parse_routing(Context& context) {
    const std::byte* p = take_extension(context, LayerId::ipv6_routing, wire::ipv6_extension_size);
    if (p == nullptr) return LayerId::none;
    return next_or_last(context, after_next_header(context, base::load_u8(p)), LayerId::ipv6_routing);
}

constexpr wire::FieldInfo routing_computed[] = {
    floating("ipv6.routing.len_oct", "Length in bytes", Kind::uint16),
    floating("ipv6.routing.src.reserved", "Reserved", Kind::bytes),
    floating("ipv6.routing.src.addr", "Address", Kind::ipv6),
    floating("ipv6.routing.srh.last_entry", "Last entry", Kind::uint8),
    floating("ipv6.routing.srh.flags", "Flags", Kind::uint8, Base::hex),
    floating("ipv6.routing.srh.tag", "Tag", Kind::bytes),
    floating("ipv6.routing.srh.addr", "Address", Kind::ipv6),
    floating("ipv6.routing.unknown_data", "Type-specific data", Kind::bytes),
};

void describe_routing(const LayerView& view, Visitor& visitor);

}  // namespace

constinit const LayerRow ipv6_routing_layer{
    "ipv6.routing",  &protocol::ipv6,  floating("ipv6.routing", "Routing Header for IPv6"),
    parse_routing,   describe_routing, wire::field_table<Ipv6Routing>,
    routing_computed};

namespace {

void describe_routing(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.open(ipv6_routing_layer.heading, 0, tree.size());
    tree.fields<&Ipv6Routing::next_header, &Ipv6Routing::length>();
    tree.number(pick(routing_computed, "ipv6.routing.len_oct"), tree.size(), 1, 1);
    tree.fields<&Ipv6Routing::type, &Ipv6Routing::segments_left>();
    const std::uint8_t type = base::load_u8(tree.at(2));
    if (type == 0) {
        tree.octets(pick(routing_computed, "ipv6.routing.src.reserved"), 4, 4);
        for (std::uint32_t at = 8; at + 16 <= tree.size(); at += 16)
            tree.octets(pick(routing_computed, "ipv6.routing.src.addr"), at, 16);
    } else if (type == 4) {  // RFC 8754, 2
        tree.number(pick(routing_computed, "ipv6.routing.srh.last_entry"), base::load_u8(tree.at(4)), 4, 1);
        tree.number(pick(routing_computed, "ipv6.routing.srh.flags"), base::load_u8(tree.at(5)), 5, 1);
        tree.octets(pick(routing_computed, "ipv6.routing.srh.tag"), 6, 2);
        const std::uint32_t entries = base::load_u8(tree.at(4)) + 1u;
        for (std::uint32_t i = 0; i < entries && 24 + i * 16 <= tree.size(); ++i)
            tree.octets(pick(routing_computed, "ipv6.routing.srh.addr"), 8 + i * 16, 16);
    } else {
        tree.octets(pick(routing_computed, "ipv6.routing.unknown_data"), 4, tree.size() - 4);
    }
    tree.close();
}

/// A fragment is dissected as far as it goes: the first has the headers, the others have none. One with offset 0 and
/// no more to come is a whole datagram (RFC 6946).
LayerId parse_fragment(Context& context) {
    const std::byte* p = context.take(LayerId::ipv6_fragment, octets_of<Ipv6Fragment>);
    if (p == nullptr) return LayerId::none;
    const auto header = wire::View<Ipv6Fragment>::unchecked(p);
    const LayerId next = after_next_header(context, header.get<&Ipv6Fragment::next_header>());
    const bool first = header.get<&Ipv6Fragment::offset>() == 0;
    if (first && !header.get<&Ipv6Fragment::more>()) return next_or_last(context, next, LayerId::ipv6_fragment);
    context.out.fragmented = true;
    if (!first)
        return context.stop(Outcome::truncated, Reason::fragment_pending, LayerId::ipv6_fragment, context.offset, 0);
    context.cut(Reason::fragment_pending);
    return next_or_last(context, next, LayerId::ipv6_fragment);
}

}  // namespace

constinit const LayerRow ipv6_fragment_layer{"ipv6.fraghdr",
                                             &protocol::ipv6,
                                             floating("ipv6.fraghdr", "Fragment Header for IPv6"),
                                             parse_fragment,
                                             nullptr,
                                             wire::field_table<Ipv6Fragment>,
                                             {}};

namespace {

LayerId parse_auth(Context& context) {
    const std::byte* p = take_extension(context, LayerId::ipv6_auth, wire::ip_auth_size);
    if (p == nullptr) return LayerId::none;
    if (context.out.layers[context.out.layer_count - 1u].length < octets_of<wire::IpAuth>)
        return context.stop(Outcome::malformed, Reason::bad_header_length, LayerId::ipv6_auth, context.offset,
                            octets_of<wire::IpAuth>);
    return next_or_last(context, after_next_header(context, base::load_u8(p)), LayerId::ipv6_auth);
}

constexpr wire::FieldInfo auth_computed[] = {
    floating("ah.icv", "Integrity check value", Kind::bytes),
};

void describe_auth(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    for (const auto& info : wire::field_table<wire::IpAuth>) tree.field(info);
    if (tree.size() > octets_of<wire::IpAuth>)
        tree.octets(pick(auth_computed, "ah.icv"), octets_of<wire::IpAuth>, tree.size() - octets_of<wire::IpAuth>);
}

}  // namespace

constinit const LayerRow ipv6_auth_layer{
    "ah", &protocol::auth, {}, parse_auth, describe_auth, wire::field_table<wire::IpAuth>, auth_computed};

}  // namespace dissect::layers
