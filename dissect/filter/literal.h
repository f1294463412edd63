#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dissect/filter/filter_value.h"
#include "dissect/filter/syntax.h"

namespace dissect::filter {

/// A literal that was read as a value of some type; an operand made of it points to `octets`.
struct Literal {
    Wide number = 0;
    std::string octets;
    std::uint8_t prefix = Operand::no_prefix;
};

/// Reads a word, text or character as a value of `type`. If there is a `field`, the value is compared with it: its
/// value names are accepted and its range is checked.
base::Result<Literal, SyntaxError> read_literal(const Node& node, Type type, const RegisteredField* field);

/// Decimal, 0x hexadecimal, 0b binary or 0 octal; nullopt if it is not a number or exceeds 64 bits.
std::optional<std::uint64_t> read_number(std::string_view text);

/// Pairs of hexadecimal digits, with or without `:`, `-` or `.` between them, or one byte as 0xNN.
std::optional<std::string> read_octets(std::string_view text);

/// Nanoseconds since 1970 of `2020-07-04T12:34:56.5Z`, `2020-07-04 12:34` or `Jul 4, 2020 12:34:56 UTC`; local time if
/// no zone is named.
std::optional<Wide> read_date(std::string_view text);

/// Nanoseconds of a count of seconds, with up to nine decimals.
std::optional<Wide> read_seconds(std::string_view text);

}  // namespace dissect::filter
