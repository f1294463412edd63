#pragma once
#include <array>
#include <string_view>

#include "dissect/arena.h"
#include "dissect/filter/filter_value.h"

namespace dissect::filter {

/// Room for any value that `text_of` writes.
using TextBuffer = std::array<char, 64>;

/// A value as `string()` gives it: numbers in decimal, addresses in their usual form, times in seconds with nine
/// decimals. Not for texts and bytes. The view points into `buffer`.
std::string_view text_of(const Operand& value, Type type, TextBuffer& buffer);

/// Bytes as hexadecimal digits, in the arena; empty if it has no room.
Operand hexadecimal(std::string_view octets, Arena& arena);

}  // namespace dissect::filter
