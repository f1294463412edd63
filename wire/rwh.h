#pragma once
#include <cstdint>

#include "wire/infiniband.h"

namespace wire {

/// Raw Header: names the protocol of a raw packet by its EtherType. IBTA vol. 1, chapter 5.
struct Rwh {
    std::uint16_t ethertype = 0;
};

template <>
inline constexpr auto layout_of<Rwh> = layout(
    "infiniband.rwh", "Raw Header",
    reserved<16>(),
    bits<&Rwh::ethertype, 16>("infiniband.rwh.etype", "Ethertype").hex());
static_assert(size_of<Rwh> == 4);

inline constexpr auto rwh_fields = fields_with<Rwh>(std::array{reserved_octets(0, 2)});

}  // namespace wire
