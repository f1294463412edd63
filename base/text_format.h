#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

/// The forms of numbers, addresses and foreign text. Everything is appended to the caller's text; nothing else is
/// allocated.
namespace base {

/// How byte strings are written: `-T fields` runs them together, JSON puts colons between.
enum class OctetStyle : std::uint8_t { plain, colons };

void append_decimal(std::string& out, std::uint64_t value);
/// `0x` and at least `digits` digits.
void append_hex(std::string& out, std::uint64_t value, unsigned digits);
void append_octets(std::string& out, Bytes octets, OctetStyle style);
/// Dotted quad; `octets` are 4.
void append_ipv4(std::string& out, Bytes octets);
/// RFC 5952, IPv4-mapped addresses in mixed notation as inet_ntop(3) has them; `octets` are 16.
void append_ipv6(std::string& out, Bytes octets);
/// `52:54:00:00:00:01`
void append_ether(std::string& out, Bytes octets);
/// Signed seconds with nine decimals.
void append_seconds(std::string& out, std::int64_t nanoseconds);

/// Text for a terminal: control characters and bytes that are not UTF-8 become `\n` or `\x1b`.
void append_printable(std::string& out, std::string_view text);

}  // namespace base
