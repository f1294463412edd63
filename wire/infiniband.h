#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wire/field.h"
#include "wire/layout.h"

/// What the headers of InfiniBand share.
namespace wire {

/// Reserved bits that Wireshark shows: `bit_offset` counts from the header's first bit.
constexpr FieldInfo reserved_bits(std::string_view name, unsigned bit_offset, unsigned bit_width, Kind kind = Kind::uint8,
                                  Base base = Base::dec) {
    return {name, "Reserved", static_cast<std::uint16_t>(bit_offset), static_cast<std::uint16_t>(bit_width), kind, base};
}

/// Whole reserved octets, all of one name in Wireshark.
constexpr FieldInfo reserved_octets(unsigned offset, unsigned octets) {
    return reserved_bits("infiniband.reserved", offset * 8, octets * 8, Kind::bytes);
}

/// The fields of a header together with the reserved bits that are shown too, in the order of the wire.
template <class H, std::size_t N>
consteval auto fields_with(const std::array<FieldInfo, N>& shown) {
    std::array<FieldInfo, field_table<H>.size() + N> all{};
    std::size_t next = 0;
    std::size_t at = 0;
    for (const FieldInfo& field : field_table<H>) {
        while (next < N && shown[next].bit_offset <= field.bit_offset) all[at++] = shown[next++];
        all[at++] = field;
    }
    while (next < N) all[at++] = shown[next++];
    return all;
}

/// The heading of a header: its octets are the value.
template <class H>
consteval FieldInfo heading_of() {
    return {layout_of<H>.name, layout_of<H>.label, 0, size_of<H> * 8, Kind::bytes};
}

}  // namespace wire
