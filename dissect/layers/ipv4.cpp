#include "wire/ipv4.h"

#include "dissect/layer_table.h"
#include "dissect/layers/crc_status.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"
#include "wire/checksum.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Ipv4;
using wire::Kind;

constexpr std::uint16_t more_fragments = 0x2000;
constexpr std::uint16_t fragment_offset = 0x1fff;

/// A fragment is dissected as far as it goes: the first has the headers, the others have none.
LayerId after_fragment(Context& context, std::uint16_t flags, LayerId next) {
    context.out.fragmented = true;
    if ((flags & fragment_offset) != 0)
        return context.stop(Outcome::truncated, Reason::fragment_pending, LayerId::ipv4, context.offset, 0);
    context.cut(Reason::fragment_pending);
    return next_or_last(context, next, LayerId::ipv4);
}

LayerId parse_ipv4_options(Context& context, std::uint32_t start, std::uint32_t size) {
    if (size < octets_of<Ipv4>)
        return context.stop(Outcome::malformed, Reason::bad_header_length, LayerId::ipv4, start, size);
    const std::uint32_t rest = size - octets_of<Ipv4>;
    if (context.available() < rest) return context.stop_short(LayerId::ipv4, rest);
    LayerRef& layer = context.out.layers[context.out.layer_count - 1u];
    layer.length = layer.wire_length = size;
    context.offset = start + size;
    return LayerId::ipv4;
}

/// The checksum holds for the length field too; the first fragment's UDP header has the whole datagram's length.
bool is_consistent(const Context& context, std::uint32_t start, std::uint32_t header_size, std::uint32_t end) {
    const std::byte* const p = context.at(start);
    if (wire::internet_checksum({p, header_size}) != 0) return false;
    const bool fragment = (base::load_be16(p + 6) & (more_fragments | fragment_offset)) != 0;
    return fragment || udp_length_agrees(context, base::load_u8(p + 9), end);
}

LayerId parse_ipv4(Context& context) {
    const std::uint32_t start = context.offset;
    const std::byte* p = context.take(LayerId::ipv4, octets_of<Ipv4>);
    if (p == nullptr) return LayerId::none;
    const auto header = wire::View<Ipv4>::unchecked(p);
    const unsigned first = base::load_u8(p);
    if (first >> 4 != 4) [[unlikely]]
        return context.stop(Outcome::unsupported, Reason::bad_version, LayerId::ipv4, start, 0);
    const std::uint32_t header_size = (first & 15) * 4;
    if (header_size != octets_of<Ipv4> && parse_ipv4_options(context, start, header_size) == LayerId::none) [[unlikely]]
        return LayerId::none;
    context.enter_network(
        {Network::Family::ipv4, base::load_u8(p + 1), header.get<&Ipv4::ttl>(), start + 12, start + 16});

    // A total length of 0 is left to the network card to fill in: the packet goes on to the end of the frame.
    const std::uint32_t total = header.get<&Ipv4::total_length>();
    if (total != 0) [[likely]] {
        if (total < header_size) [[unlikely]]
            return context.stop(Outcome::malformed, Reason::bad_total_length, LayerId::ipv4, start + 2, total);
        end_datagram(context, start + total, LayerId::ipv4, start + 2,
                     start + total <= context.end || is_consistent(context, start, header_size, start + total));
    }

    const LayerId next = after_ip_protocol(context, header.get<&Ipv4::protocol>());
    const std::uint16_t flags = base::load_be16(p + 6);
    if ((flags & (more_fragments | fragment_offset)) != 0) [[unlikely]]
        return after_fragment(context, flags, next);
    return next_or_last(context, next, LayerId::ipv4);
}

constexpr wire::ValueName timestamp_flags[] = {
    {0, "Time stamps only"}, {1, "Time stamp and address"}, {3, "Time stamps for prespecified addresses"}};

constexpr wire::FieldInfo ipv4_computed[] = {
    floating("ip.hdr_len", "Header length", Kind::uint8),
    {"ip.dsfield", "Differentiated services field", 8, 8, Kind::uint8, Base::hex},
    {"ip.flags", "Flags", 48, 3, Kind::uint8, Base::hex},
    crc_status_field("ip.checksum.status", "Header checksum status"),
    hidden(floating("ip.addr", "Source or destination address", Kind::ipv4)),
    floating("ip.opt.type", "Type", Kind::uint8, Base::dec, wire::ipv4_options),
    floating("ip.opt.type.copy", "Copy on fragmentation", Kind::boolean),
    floating("ip.opt.type.class", "Class", Kind::uint8),
    floating("ip.opt.type.number", "Number", Kind::uint8),
    floating("ip.opt.len", "Length", Kind::uint8),
    floating("ip.opt.ptr", "Pointer", Kind::uint8),
    floating("ip.opt.overflow", "Overflow", Kind::uint8),
    floating("ip.opt.flag", "Flag", Kind::uint8, Base::hex, timestamp_flags),
    floating("ip.opt.time_stamp", "Time stamp", Kind::uint32),
    floating("ip.opt.time_stamp_addr", "Address", Kind::ipv4),
    floating("ip.opt.ra", "Router alert", Kind::uint16),
    floating("ip.options.routeralert", "Router alert", Kind::bytes),
    floating("ip.options.record_route", "Record route", Kind::bytes),
    floating("ip.options.route", "Loose source route", Kind::bytes),
    floating("ip.options.source_route", "Strict source route", Kind::bytes),
    floating("ip.options.timestamp", "Time stamp", Kind::bytes),
    floating("ip.options.nop", "No operation", Kind::bytes),
    floating("ip.options.eol", "End of options", Kind::bytes),
    floating("rdma.ip.option", "Option", Kind::bytes),
};

void describe_option_type(const Tree& option) {
    const std::uint8_t type = base::load_u8(option.at(0));
    const wire::FieldInfo& heading = pick(ipv4_computed, "ip.opt.type");
    option.number(heading, type, 0, 1);
    option.number(pick(ipv4_computed, "ip.opt.type.copy"), type >> 7, 0, 1);
    option.number(pick(ipv4_computed, "ip.opt.type.class"), type >> 5 & 3, 0, 1);
    option.number(pick(ipv4_computed, "ip.opt.type.number"), type & 31, 0, 1);
}

const wire::FieldInfo& ipv4_option_heading(std::uint8_t type) {
    switch (type) {
        case wire::ipv4_option::end: return pick(ipv4_computed, "ip.options.eol");
        case wire::ipv4_option::no_operation: return pick(ipv4_computed, "ip.options.nop");
        case wire::ipv4_option::record_route: return pick(ipv4_computed, "ip.options.record_route");
        case wire::ipv4_option::timestamp: return pick(ipv4_computed, "ip.options.timestamp");
        case wire::ipv4_option::loose_source_route: return pick(ipv4_computed, "ip.options.route");
        case wire::ipv4_option::strict_source_route: return pick(ipv4_computed, "ip.options.source_route");
        case wire::ipv4_option::router_alert: return pick(ipv4_computed, "ip.options.routeralert");
        default: return pick(ipv4_computed, "rdma.ip.option");
    }
}

/// RFC 791, 3.1: time stamps, each after the address of who made it where the flag says so.
void describe_timestamps(const Tree& option) {
    const std::uint8_t overflow_and_flag = base::load_u8(option.at(3));
    const unsigned flag = overflow_and_flag & 15;
    const bool addresses = flag == 1 || flag == 3;
    option.number(pick(ipv4_computed, "ip.opt.ptr"), base::load_u8(option.at(2)), 2, 1);
    option.number(pick(ipv4_computed, "ip.opt.overflow"), overflow_and_flag >> 4, 3, 1);
    option.number(pick(ipv4_computed, "ip.opt.flag"), flag, 3, 1);
    if (flag != 0 && !addresses) return;
    for (std::uint32_t at = 4; at + (addresses ? 8 : 4) <= option.size(); at += 4) {
        if (addresses) {
            option.octets(pick(ipv4_computed, "ip.opt.time_stamp_addr"), at, 4);
            at += 4;
        }
        option.number(pick(ipv4_computed, "ip.opt.time_stamp"), base::load_be32(option.at(at)), at, 4);
    }
}

void describe_ipv4_option(const Tree& option) {
    const std::uint8_t type = base::load_u8(option.at(0));
    option.open(ipv4_option_heading(type), 0, option.size());
    describe_option_type(option);
    if (option.size() >= 2) option.number(pick(ipv4_computed, "ip.opt.len"), base::load_u8(option.at(1)), 1, 1);
    if (type == wire::ipv4_option::router_alert && option.size() == 4)
        option.number(pick(ipv4_computed, "ip.opt.ra"), base::load_be16(option.at(2)), 2, 2);
    const bool is_route = type == wire::ipv4_option::record_route || type == wire::ipv4_option::loose_source_route ||
                          type == wire::ipv4_option::strict_source_route;
    if (is_route && option.size() >= 3)
        option.number(pick(ipv4_computed, "ip.opt.ptr"), base::load_u8(option.at(2)), 2, 1);
    if (type == wire::ipv4_option::timestamp && option.size() >= 4) describe_timestamps(option);
    option.close();
}

void describe_ipv4_options(const Tree& tree) {
    for (std::uint32_t at = octets_of<Ipv4>; at < tree.size();) {
        const std::uint8_t type = base::load_u8(tree.at(at));
        std::uint32_t length = 1;
        if (type > wire::ipv4_option::no_operation) {
            if (at + 2 > tree.size()) return;
            length = base::load_u8(tree.at(at + 1));
            if (length < 2 || at + length > tree.size()) return;
        }
        describe_ipv4_option(tree.part(at, length));
        if (type == wire::ipv4_option::end) return;
        at += length;
    }
}

void describe_ipv4(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.field<&Ipv4::version>();
    tree.number(pick(ipv4_computed, "ip.hdr_len"), (base::load_u8(tree.at(0)) & 15u) * std::uint64_t{4}, 0, 1);
    tree.open(pick(ipv4_computed, "ip.dsfield"));
    tree.fields<&Ipv4::dscp, &Ipv4::ecn>();
    tree.close();
    tree.fields<&Ipv4::total_length, &Ipv4::identification>();
    tree.open(pick(ipv4_computed, "ip.flags"));
    tree.fields<&Ipv4::reserved_flag, &Ipv4::dont_fragment, &Ipv4::more_fragments>();
    tree.close();
    tree.fields<&Ipv4::fragment_offset, &Ipv4::ttl, &Ipv4::protocol, &Ipv4::checksum>();
    // 2 = not verified: cards fill it in after a capture on the sender, so it proves nothing.
    tree.number(pick(ipv4_computed, "ip.checksum.status"), 2, 10, 2);
    tree.field<&Ipv4::source>();
    tree.octets(pick(ipv4_computed, "ip.addr"), 12, 4);
    tree.field<&Ipv4::destination>();
    tree.octets(pick(ipv4_computed, "ip.addr"), 16, 4);
    describe_ipv4_options(tree);
}

}  // namespace

constinit const LayerRow ipv4_layer{"ip",          &protocol::ipv4,         {},           parse_ipv4,
                                    describe_ipv4, wire::field_table<Ipv4>, ipv4_computed};

}  // namespace dissect::layers
