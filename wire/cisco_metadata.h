#pragma once
#include "wire/ether_type.h"
#include "wire/layout.h"

namespace wire {

/// Cisco MetaData, which TrustSec puts before the EtherType of a frame. draft-smith-kandula-sxp gives the meaning of the
/// security group tag; the layout is Wireshark's.
struct CiscoMetaData {
    std::uint8_t version = 1;
    std::uint8_t length = 1;
    std::uint16_t options{};
    std::uint16_t security_group{};
    std::uint16_t type{};  ///< of what follows
    bool operator==(const CiscoMetaData&) const = default;
};

template <>
inline constexpr auto layout_of<CiscoMetaData> = layout("cmd", "Cisco MetaData",
    bits<&CiscoMetaData::version, 8>("cmd.version", "Version"),
    bits<&CiscoMetaData::length, 8>("cmd.length", "Length"),
    bits<&CiscoMetaData::options, 16>("cmd.options", "Options").hex(),
    bits<&CiscoMetaData::security_group, 16>("cmd.sgt", "Security group tag"),
    bits<&CiscoMetaData::type, 16>("cmd.type", "Type").hex().named(ether_type::names));
static_assert(size_of<CiscoMetaData> == 8);

}  // namespace wire
