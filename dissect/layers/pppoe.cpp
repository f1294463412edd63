#include "wire/pppoe.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {

namespace {

using wire::Ppp;
using wire::Pppoe;

LayerId parse_pppoe(Context& context) {
    const std::byte* p = context.take(LayerId::pppoe, octets_of<Pppoe>);
    if (p == nullptr) return LayerId::none;
    const std::uint32_t length = wire::View<Pppoe>::unchecked(p).get<&Pppoe::length>();
    if (!context.end_at(context.offset + length))
        return context.stop(Outcome::malformed, Reason::bad_total_length, LayerId::pppoe, context.offset - 2, length);
    return LayerId::ppp;
}

LayerId parse_ppp(Context& context) {
    const std::byte* p = context.take(LayerId::ppp, octets_of<Ppp>);
    if (p == nullptr) return LayerId::none;
    const std::uint16_t number = wire::View<Ppp>::unchecked(p).get<&Ppp::protocol>();
    switch (number) {
        case wire::ppp_protocol::ipv4: return LayerId::ipv4;
        case wire::ppp_protocol::ipv6: return LayerId::ipv6;
        case wire::ppp_protocol::mpls: return LayerId::mpls;
        default: break;
    }
    if (number < wire::ppp_protocol::first_control) context.leave_unread(wire::CarrierKind::ppp_protocol, number);
    return context.stop_after(LayerId::ppp);
}

}  // namespace

constinit const LayerRow pppoe_layer{"pppoes", &protocol::pppoe,         {}, parse_pppoe,
                                     nullptr,  wire::field_table<Pppoe>, {}};
constinit const LayerRow ppp_layer{"ppp", &protocol::ppp, {}, parse_ppp, nullptr, wire::field_table<Ppp>, {}};

}  // namespace dissect::layers
