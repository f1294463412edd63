#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "wire/bytes.h"
#include "wire/field.h"

/// How values look. Everything is appended to the caller's text; nothing else is allocated.
namespace dissect::output {

/// How octet strings are written: `-T fields` runs them together, JSON puts colons between.
enum class OctetStyle : std::uint8_t { plain, colons };

void append_decimal(std::string& out, std::uint64_t value);
/// `0x` and at least `digits` digits.
void append_hex(std::string& out, std::uint64_t value, unsigned digits);
void append_octets(std::string& out, wire::Bytes octets, OctetStyle style);
/// Dotted quad; `octets` are 4.
void append_ipv4(std::string& out, wire::Bytes octets);
/// RFC 5952, IPv4-mapped addresses in mixed notation as inet_ntop(3) has them; `octets` are 16.
void append_ipv6(std::string& out, wire::Bytes octets);
/// `52:54:00:00:00:01`
void append_ether(std::string& out, wire::Bytes octets);
/// Signed seconds with nine decimals.
void append_seconds(std::string& out, std::int64_t nanoseconds);

/// A value as `tshark -T fields` prints it, without quotes. A heading without a value is printed `1`.
void append_value(std::string& out, const wire::FieldInfo& info, const wire::Value& value, OctetStyle style);

/// The hexadecimal digits that the width of a kind asks for; 0 where it has none.
unsigned hex_digits(wire::Kind kind);

/// `.0.. .... ` for a field that does not fill its octets; nothing for others.
void append_bit_pattern(std::string& out, const wire::FieldInfo& info, std::uint64_t value);

/// A field as a line of the tree shows it: bit pattern, label, value, and the value's name with the number behind it.
/// No indentation, no line end.
void append_tree_line(std::string& out, const wire::FieldInfo& info, const wire::Value& value);

/// Text for a terminal: control characters and octets that are not UTF-8 become `\n` or `\x1b`.
void append_printable(std::string& out, std::string_view text);

}  // namespace dissect::output
