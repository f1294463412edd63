#pragma once
#include "wire/ether_type.h"
#include "wire/layout.h"

namespace wire {

/// The E-TAG between a port extender and its bridge. IEEE 802.1BR, 7.5.
struct ETag {
    std::uint8_t priority{};
    bool drop_eligible{};
    std::uint16_t ingress_base{};  ///< low 12 bits of the channel that the frame came in by
    std::uint8_t reserved_bits{};
    std::uint8_t group{};
    std::uint16_t channel_base{};  ///< low 12 bits of the channel that the frame goes to
    std::uint8_t ingress_extension{};
    std::uint8_t channel_extension{};
    std::uint16_t type{};  ///< of what follows
    bool operator==(const ETag&) const = default;
};

template <>
inline constexpr auto layout_of<ETag> = layout("etag", "802.1BR E-Tag",
    bits<&ETag::priority, 3>("etag.pcp", "Priority").as(Kind::uint16),
    bits<&ETag::drop_eligible, 1>("etag.dei", "Drop eligible").as(Kind::uint16),
    bits<&ETag::ingress_base, 12>("etag.iecid_base", "Ingress E-CID base").hex(),
    bits<&ETag::reserved_bits, 2>("etag.resv", "Reserved").as(Kind::uint16),
    bits<&ETag::group, 2>("etag.group", "Group").as(Kind::uint16),
    bits<&ETag::channel_base, 12>("etag.ecid_base", "E-CID base").hex(),
    bits<&ETag::ingress_extension, 8>("etag.iecid_ext", "Ingress E-CID extension").hex(),
    bits<&ETag::channel_extension, 8>("etag.ecid_ext", "E-CID extension").hex(),
    bits<&ETag::type, 16>("etag.etype", "Type").hex().named(ether_type::names));
static_assert(size_of<ETag> == 8);

}  // namespace wire
