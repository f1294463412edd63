#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/quantities.h"

namespace exporters {

/// One figure on its way out: nothing where it is unknown, and frames where it is a list of them.
using Frames = std::vector<std::uint64_t>;
using Value = std::variant<std::monostate, bool, std::uint64_t, std::int64_t, double, std::string, Frames>;

enum class Unit : std::uint8_t {
    text,
    count,
    ns,
    bytes,
    bytes_per_sec,
    bits_per_sec,
    share,  ///< 0 to 1
    ratio,  ///< a number with decimals and without a dimension
    frame,  ///< frame numbers
    time,   ///< ns since 1970-01-01 UTC
    code,   ///< a number that is a name: a QPN, a port
};
/// "ns", "bytes/s"; empty for text.
std::string_view name_of(Unit unit);
constexpr bool is_left_aligned(Unit unit) { return unit == Unit::text; }

/// As JSON writes it: null, true, 17, 0.5, "text", [1,2]. An infinite number is null.
void append_json(std::string& out, const Value& value);
/// As a field of CSV, quoted where RFC 4180 asks for it; frames are joined by blanks.
void append_csv(std::string& out, const Value& value);
/// UTC to the nanosecond: "2026-11-21T01:50:53.662023000Z". ISO 8601.
std::string iso_time(std::int64_t time_ns);
/// Seconds with nine digits after the point: 1.668331000. Readers of tables lose no digit of it.
std::string seconds_text(std::int64_t ns);
/// For people, in columns unless `style` says otherwise: three digits and a unit; `-` for nothing.
std::string readable(const Value& value, Unit unit, base::Style style = {base::Spacing::column});

/// -1, 0, 1: how values follow one another when sorted upwards. Nothing goes first, numbers before text.
int compare(const Value& a, const Value& b);

}  // namespace exporters
