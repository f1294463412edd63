#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text_format.h"
#include "wire/field.h"

/// The text forms of fields' values. Everything is appended to the caller's text; nothing else is allocated.
namespace dissect::output {

/// A value as `tshark -T fields` prints it, without quotes. A heading without a value is printed `1`.
void append_value(std::string& out, const wire::FieldInfo& info, const wire::Value& value, base::OctetStyle style);

/// The number of hexadecimal digits for the width of a kind; 0 if it has none.
unsigned hex_digits(wire::Kind kind);

/// `.0.. .... ` for a field that does not fill its bytes; nothing for others.
void append_bit_pattern(std::string& out, const wire::FieldInfo& info, std::uint64_t value);

/// A field as a line of the tree shows it: bit pattern, label, value, and the value's name with the number after it.
/// No indentation, no line end.
void append_tree_line(std::string& out, const wire::FieldInfo& info, const wire::Value& value);

}  // namespace dissect::output
