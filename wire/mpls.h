#pragma once
#include "wire/layout.h"

namespace wire {

/// One entry of a label stack. RFC 3032, 2.1.
struct Mpls {
    std::uint32_t label{};
    std::uint8_t traffic_class{};  ///< "experimental" before RFC 5462
    bool bottom{};
    std::uint8_t ttl{};
    bool operator==(const Mpls&) const = default;
};

inline constexpr ValueName mpls_labels[] = {
    {0, "IPv4 explicit null"}, {1, "Router alert"}, {2, "IPv6 explicit null"}, {3, "Implicit null"},
    {7, "Entropy label indicator"}, {13, "Generic associated channel"},
};

template <>
inline constexpr auto layout_of<Mpls> = layout("mpls", "MultiProtocol Label Switching Header",
    bits<&Mpls::label, 20>("mpls.label", "MPLS label").as(Kind::uint32).named(mpls_labels),
    bits<&Mpls::traffic_class, 3>("mpls.exp", "MPLS traffic class").as(Kind::uint32),
    bits<&Mpls::bottom, 1>("mpls.bottom", "MPLS bottom of label stack").as(Kind::uint32),
    bits<&Mpls::ttl, 8>("mpls.ttl", "MPLS TTL").as(Kind::uint32));
static_assert(size_of<Mpls> == 4);

/// Octets of a pseudowire's control word; its first nibble is 0. RFC 4385, 3.
inline constexpr unsigned pseudowire_control_word_size = 4;

}  // namespace wire
