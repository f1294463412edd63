#pragma once
#include "dissect/registry.h"
#include "exporters/value.h"

namespace exporters::filter {

/// The form of numbers that a filter compares with a column of this unit: "250us", "64K", "10G", "5%", or a plain
/// number in the column's own unit. Null if the unit has only plain numbers.
const dissect::NumberForm* form_of(Unit unit);

/// Shares and ratios as a filter holds them: in parts of 10^-9.
inline constexpr double decimal_parts = 1e9;

}  // namespace exporters::filter
