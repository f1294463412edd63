#include "dissect/packet_end.h"

#include <algorithm>

#include "wire/erf.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/pppoe.h"
#include "wire/udp.h"

namespace dissect {

namespace {

constexpr std::uint32_t no_limit = 0xffffffff;

/// A length of 0 says nothing: of a jumbogram, or of a segment that the card has yet to cut.
std::uint32_t after(std::uint32_t begin, std::uint32_t length) { return length == 0 ? no_limit : begin + length; }

/// Where a layer's own packet ends.
std::uint32_t own_end(const LayerRef& layer, const std::byte* p) {
    switch (layer.id) {
        case LayerId::ipv4:
            return layer.length < wire::size_of<wire::Ipv4>
                       ? no_limit
                       : after(layer.offset, wire::View<wire::Ipv4>::unchecked(p).get<&wire::Ipv4::total_length>());
        case LayerId::ipv6: {
            constexpr auto size = static_cast<std::uint32_t>(wire::size_of<wire::Ipv6>);
            if (layer.length < size) return no_limit;
            return after(layer.offset + size, wire::View<wire::Ipv6>::unchecked(p).get<&wire::Ipv6::payload_length>());
        }
        case LayerId::mpa_fpdu: return layer.offset + layer.length;  // markers lie after it
        default: return no_limit;
    }
}

/// Where what a layer carries ends.
std::uint32_t carried_end(const LayerRef& layer, const std::byte* p) {
    switch (layer.id) {
        case LayerId::udp:
            return layer.length < wire::size_of<wire::Udp>
                       ? no_limit
                       : after(layer.offset, wire::View<wire::Udp>::unchecked(p).get<&wire::Udp::length>());
        case LayerId::erf:
            return layer.length < wire::size_of<wire::Erf>
                       ? no_limit
                       : after(layer.offset + layer.length,
                               wire::View<wire::Erf>::unchecked(p).get<&wire::Erf::wire_length>());
        case LayerId::pppoe:
            return layer.length < wire::size_of<wire::Pppoe>
                       ? no_limit
                       : layer.offset + layer.length +
                             wire::View<wire::Pppoe>::unchecked(p).get<&wire::Pppoe::length>();
        case LayerId::mpa_fpdu: return layer.length < 2 ? no_limit : layer.offset + 2 + base::load_be16(p);
        default: return own_end(layer, p);
    }
}

}  // namespace

std::uint32_t end_of_packet(const Dissection& dissection, unsigned layer, base::Bytes described) {
    const auto octets_of = [&](const LayerRef& ref) { return described.data() + ref.offset; };
    auto end = static_cast<std::uint32_t>(described.size());
    for (unsigned i = 0; i < layer; ++i)
        end = std::min(end, carried_end(dissection.layers[i], octets_of(dissection.layers[i])));
    return std::min(end, own_end(dissection.layers[layer], octets_of(dissection.layers[layer])));
}

}  // namespace dissect
