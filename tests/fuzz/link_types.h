#pragma once
#include <array>
#include <cstdint>

#include "wire/frame.h"

namespace fuzz {

/// Every link type the dissector knows, and one it does not.
inline constexpr std::array link_types{
    wire::LinkType::ethernet,   wire::LinkType::null,
    wire::LinkType::raw,        wire::LinkType::loop,
    wire::LinkType::linux_sll,  wire::LinkType::ppi,
    wire::LinkType::erf,        wire::LinkType::ipv4,
    wire::LinkType::ipv6,       wire::LinkType::ipoib,
    wire::LinkType::infiniband, wire::LinkType::linux_sll2,
    wire::LinkType::nflog,      static_cast<wire::LinkType>(9999),
};

}  // namespace fuzz
