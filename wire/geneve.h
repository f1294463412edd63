#pragma once
#include "wire/ether_type.h"
#include "wire/layout.h"

namespace wire {

/// Geneve without its options. RFC 8926, 3.4.
struct Geneve {
    std::uint8_t version{};
    std::uint8_t option_words{};  ///< of four octets
    bool control{};
    bool critical{};
    std::uint8_t reserved_flags{};
    std::uint16_t protocol{};
    std::uint32_t vni{};
    std::uint8_t reserved_octet{};
    bool operator==(const Geneve&) const = default;
};

template <>
inline constexpr auto layout_of<Geneve> = layout("geneve", "Generic Network Virtualization Encapsulation",
    bits<&Geneve::version, 2>("geneve.version", "Version"),
    bits<&Geneve::option_words, 6>("", ""),
    bits<&Geneve::control, 1>("geneve.flags.oam", "Control packet"),
    bits<&Geneve::critical, 1>("geneve.flags.critical", "Critical options present"),
    bits<&Geneve::reserved_flags, 6>("geneve.flags.reserved", "Reserved").as(Kind::boolean),
    bits<&Geneve::protocol, 16>("geneve.proto_type", "Protocol type").hex().named(ether_type::names),
    bits<&Geneve::vni, 24>("geneve.vni", "Virtual network identifier (VNI)").hex(),
    bits<&Geneve::reserved_octet, 8>("geneve.reserved", "Reserved").hex());
static_assert(size_of<Geneve> == 8);

/// The head of one option. RFC 8926, 3.5.
struct GeneveOption {
    std::uint16_t option_class{};
    bool critical{};
    std::uint8_t type{};
    std::uint8_t reserved_flags{};
    std::uint8_t words{};  ///< of four octets, the head not counted
    bool operator==(const GeneveOption&) const = default;
};

template <>
inline constexpr auto layout_of<GeneveOption> = layout("geneve.option", "Option",
    bits<&GeneveOption::option_class, 16>("geneve.option.class", "Class").hex(),
    bits<&GeneveOption::critical, 1>("geneve.option.type.critical", "Critical option"),
    bits<&GeneveOption::type, 7>("", ""),
    bits<&GeneveOption::reserved_flags, 3>("geneve.option.flags.reserved", "Reserved").as(Kind::boolean),
    bits<&GeneveOption::words, 5>("", ""));
static_assert(size_of<GeneveOption> == 4);

}  // namespace wire
