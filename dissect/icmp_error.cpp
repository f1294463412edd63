#include "dissect/icmp_error.h"

#include "wire/udp_port.h"

namespace dissect {

namespace {

IcmpError::Transport quoted_transport(const Dissection& dissection) {
    if (dissection.quotes(LayerId::tcp)) return IcmpError::Transport::tcp;
    const bool roce = dissection.quotes(LayerId::udp) && dissection.destination_port == wire::udp_port::roce;
    return roce ? IcmpError::Transport::roce2 : IcmpError::Transport::other;
}

/// Routers older than RFC 1191 leave the place of the MTU zero.
std::optional<std::uint32_t> known_mtu(std::uint32_t mtu) { return mtu == 0 ? std::nullopt : std::optional(mtu); }

}  // namespace

std::optional<IcmpError> icmp_error(const Dissection& dissection, base::Bytes bytes) {
    if (dissection.quoted.empty()) return std::nullopt;
    const bool version6 = dissection.has(LayerId::icmpv6);
    const LayerRef* const layer = dissection.find(version6 ? LayerId::icmpv6 : LayerId::icmp);
    if (layer == nullptr || layer->length < wire::icmp_quote_offset) return std::nullopt;
    const std::byte* const p = bytes.data() + layer->offset;
    const std::uint8_t type = base::load_u8(p);
    const std::uint8_t code = base::load_u8(p + 1);
    const auto kind = version6 ? wire::icmpv6_error_kind(type, code) : wire::icmp_error_kind(type, code);
    if (!kind) return std::nullopt;
    IcmpError error{*kind, quoted_transport(dissection), std::nullopt};
    if (error.kind == wire::IcmpErrorKind::fragmentation_needed)
        error.mtu = known_mtu(version6 ? base::load_be32(p + 4) : base::load_be16(p + 6));
    return error;
}

}  // namespace dissect
