#include "wire/ipv6.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Ipv6;
using wire::Kind;

LayerId parse_ipv6(Context& context) {
    const std::uint32_t start = context.offset;
    const std::byte* p = context.take(LayerId::ipv6, octets_of<Ipv6>);
    if (p == nullptr) return LayerId::none;
    const auto header = wire::View<Ipv6>::unchecked(p);
    const std::uint32_t first = base::load_be32(p);
    if (first >> 28 != 6) [[unlikely]]
        return context.stop(Outcome::unsupported, Reason::bad_version, LayerId::ipv6, start, 0);
    context.enter_network({Network::Family::ipv6, static_cast<std::uint8_t>(first >> 20),
                           header.get<&Ipv6::hop_limit>(), start + 8, start + 24});

    // 0 with a jumbo payload option (see `parse_options`), or left to the network card to fill in.
    const std::uint32_t payload = header.get<&Ipv6::payload_length>();
    if (payload != 0) [[likely]]
        end_datagram(context, context.offset + payload, LayerId::ipv6, start + 4,
                     udp_length_agrees(context, header.get<&Ipv6::next_header>(), context.offset + payload));
    return next_or_last(context, after_next_header(context, header.get<&Ipv6::next_header>()), LayerId::ipv6);
}

constexpr wire::FieldInfo ipv6_computed[] = {
    hidden({"ip.version", "Version", 0, 4, Kind::uint8}),
    {"ipv6.tclass", "Traffic class", 4, 8, Kind::uint32, Base::hex},
    hidden(floating("ipv6.addr", "Source or destination address", Kind::ipv6)),
};

void describe_ipv6(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.field<&Ipv6::version>();
    tree.field(pick(ipv6_computed, "ip.version"));
    tree.open(pick(ipv6_computed, "ipv6.tclass"));
    tree.fields<&Ipv6::dscp, &Ipv6::ecn>();
    tree.close();
    tree.fields<&Ipv6::flow_label, &Ipv6::payload_length, &Ipv6::next_header, &Ipv6::hop_limit, &Ipv6::source>();
    tree.octets(pick(ipv6_computed, "ipv6.addr"), 8, 16);
    tree.field<&Ipv6::destination>();
    tree.octets(pick(ipv6_computed, "ipv6.addr"), 24, 16);
}

}  // namespace

constinit const LayerRow ipv6_layer{"ipv6",        &protocol::ipv6,         {},           parse_ipv6,
                                    describe_ipv6, wire::field_table<Ipv6>, ipv6_computed};

}  // namespace dissect::layers
