#include "wire/grh.h"

#include "dissect/layer_table.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {
namespace {

constexpr std::uint32_t grh_length_offset = 4;
constexpr std::uint32_t grh_source_offset = 8;
constexpr std::uint32_t grh_destination_offset = 24;

/// A frame of RoCEv1 that ends before its packet does was cut by a mirror; the local route header of InfiniBand has a
/// length of its own.
bool may_be_cut(const Context& context, const wire::View<wire::Grh>& grh) {
    return grh.get<&wire::Grh::next_header>() == wire::grh_next_header_bth && !context.out.has(LayerId::lrh) &&
           context.end >= context.captured();
}

/// The payload length counts up to the ICRC's last byte, so that an Ethernet frame's padding stays outside.
LayerId parse_grh(Context& context) {
    const std::uint32_t at = context.offset;
    const std::byte* const first = context.take(LayerId::grh, wire::size_of<wire::Grh>);
    if (first == nullptr) return LayerId::none;
    const auto grh = wire::View<wire::Grh>::unchecked(first);
    if (grh.get<&wire::Grh::ip_version>() != 6) [[unlikely]]
        return context.stop(Outcome::unsupported, Reason::bad_version, LayerId::grh, at, 0);
    context.out.network = {Network::Family::gid, grh.get<&wire::Grh::traffic_class>(), grh.get<&wire::Grh::hop_limit>(),
                           at + grh_source_offset, at + grh_destination_offset};
    const std::uint32_t length = grh.get<&wire::Grh::payload_length>();
    if (context.offset + length > context.end && !may_be_cut(context, grh)) [[unlikely]]
        return context.stop(Outcome::malformed, Reason::bad_total_length, LayerId::grh, context.offset, length);
    end_datagram(context, context.offset + length, LayerId::grh, at + grh_length_offset, true);
    if (grh.get<&wire::Grh::next_header>() != wire::grh_next_header_bth) [[unlikely]]
        return context.stop(Outcome::unsupported, Reason::unknown_next_header, LayerId::grh, context.offset, 0);
    return LayerId::bth;
}

}  // namespace

constinit const LayerRow grh_layer{
    "grh", &protocol::infiniband, wire::heading_of<wire::Grh>(), parse_grh, nullptr, wire::field_table<wire::Grh>, {}};

}  // namespace dissect::layers
