#pragma once
#include <array>
#include <cstdint>

#include "wire/infiniband.h"

namespace wire {

/// Flush Extended Transport Header: how far the data must have come, and which data. IBTA vol. 1, Annex A19.
struct Feth {
    std::uint8_t selectivity = 0;
    std::uint8_t placement = 0;
};

inline constexpr std::array<ValueName, 2> flush_selectivity_names{{{0, "Memory Region Range"}, {1, "Memory Region"}}};
/// A set of bits: either, or both.
inline constexpr std::array<ValueName, 3> flush_placement_names{{
    {1, "Global Visibility"},
    {2, "Persistence"},
    {3, "Global Visibility and Persistence"},
}};

template <>
inline constexpr auto layout_of<Feth> = layout(
    "rdma.feth", "Flush Extended Transport Header",
    reserved<26>(),
    bits<&Feth::selectivity, 2>("rdma.feth.sel", "Selectivity Level").named(flush_selectivity_names),
    bits<&Feth::placement, 4>("rdma.feth.plt", "Placement Type").hex().named(flush_placement_names));
static_assert(size_of<Feth> == 4);

}  // namespace wire
