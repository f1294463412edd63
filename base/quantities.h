#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

/// Quantities as people read and write them: the one printer and the one parser of the program.
namespace base {

/// "3.78 ms" in sentences; "3.78ms" in the narrow columns of tables.
enum class Spacing : std::uint8_t { sentence, column };
/// "us" in ASCII, "µs" in UTF-8.
enum class Charset : std::uint8_t { ascii, utf8 };

/// The character set of what this process prints for people: ASCII, unless its standard output is a terminal that
/// displays UTF-8. A process sets the character set once, before it starts threads.
Charset charset();
void set_charset(Charset charset);

struct Style {
    Spacing spacing = Spacing::sentence;
    Charset charset = base::charset();
};

// The printers. Each rounds to three significant digits and changes to the next unit where rounding reaches it:
// 999.6 ns is "1.00 us". A whole number of the smallest unit has no decimals ("64 B"), and what is less than 0.01 of
// the smallest unit, but not 0, is "<0.01 B". An absent value, an infinity and NaN are "-".
// Intervals are mostly set to round numbers, so format_interval() prints no zeros at the end of a fraction.

std::string format_duration(std::optional<double> ns, Style style = {});  ///< "3.78 ms", "2.50 min"
std::string format_interval(std::optional<double> ns, Style style = {});  ///< "1 s", "1.02 s", "500 ms"
std::string format_size(std::optional<double> bytes, Style style = {});   ///< "1.69 MiB"; a power of two: "64 KiB"
std::string format_bit_rate(std::optional<double> bits_per_sec, Style style = {});    ///< "254 Mbit/s"
std::string format_byte_rate(std::optional<double> bytes_per_sec, Style style = {});  ///< "31.8 MB/s"
/// "2.66M", "340": the prefix stands at the number because the unit is a word, as in "2.66M messages/s".
std::string format_count(std::optional<double> count);
/// "96 %", "0.63 %": as the others, but without zeros at the end, because every percentage has the same scale.
std::string format_percent(std::optional<double> share, Style style = {});
/// "3.14", "2.5", "12,345": a number without a unit and without a prefix, without zeros at its end.
std::string format_decimal(std::optional<double> value);
/// "1,234,567".
std::string group_digits(std::uint64_t number);
/// "1 packet", "1,234 packets"; `plural` is for words whose plural is not an s.
std::string format_counted(std::uint64_t count, std::string_view singular, std::string_view plural = {});

/// An exact size in the largest unit that divides it: "64 KiB", "1000 B".
std::string format_exact_size(std::uint64_t bytes, Style style = {});

// Settings as people type them: exact, in ASCII, without a blank, in the largest unit that divides the value. The
// parsers below read them back.

std::string spell_duration(std::uint64_t ns);            ///< "100ms", "5m"
std::string spell_size(std::uint64_t bytes);             ///< "64KiB", "1000"
std::string spell_bit_rate(std::uint64_t bits_per_sec);  ///< "10G", "1500bps"

/// A value, or what is expected instead ("a number from 1 to 9").
template <class T>
using Parsed = base::Result<T, std::string>;

// The parsers. A unit follows its number without a blank, so that what the printers print in columns can be typed.

/// What a duration without a unit means.
enum class BareDuration : std::uint8_t { refused, nanoseconds, milliseconds, seconds };
/// "250ms", "1.5s", "10us", "2m", "1h", "7d", of at least `least_ns` and at most ten years.
Parsed<std::uint64_t> parse_duration(std::string_view text, BareDuration bare = BareDuration::seconds,
                                     std::uint64_t least_ns = 1);

/// What an option accepts as a size. K, M, G and T are powers of 1024, with "iB" or "B" after them or without.
struct SizeForm {
    std::uint64_t least = 0;
    std::uint64_t most = ~std::uint64_t{0};
    bool decimals = false;          ///< "1.5M"
    bool decimal_bytes = false;     ///< "kB", "MB", "GB" and "TB" are powers of 1000
    bool letters_only = false;      ///< k, m or g in either case, without "B"
    std::uint64_t bare_factor = 1;  ///< bytes of a number without a unit
};
Parsed<std::uint64_t> parse_size(std::string_view text, const SizeForm& form = {});

/// "10G", "2.5Gbit/s", "800M", "800Mbps": bits per second, from `least` to 10^15.
Parsed<std::uint64_t> parse_bit_rate(std::string_view text, std::uint64_t least = 1000);

/// The forms of a rate of bytes; "10Gbit/s" is always accepted.
struct ByteRateForm {
    bool bare_prefix = false;  ///< "10G" without a unit is 10 GB/s; else it is refused, because it might be bits
    bool binary = false;       ///< "MB/s" is a power of 1024; else of 1000
};
Parsed<double> parse_byte_rate(std::string_view text, ByteRateForm form);

/// "17", "10k", "1.5M": below 2^63.
Parsed<std::uint64_t> parse_count(std::string_view text);
/// "1.5", "20", "10k".
Parsed<double> parse_decimal(std::string_view text);
Parsed<std::uint64_t> parse_number(std::string_view text, std::uint64_t least, std::uint64_t most);
/// "1%" or "0.01"; 0 to `most`.
Parsed<double> parse_share(std::string_view text, double most = 1);

// For tables of options: each function sets `into`, or leaves it alone and returns what is expected instead of the
// value.

std::string take_number(const std::string& value, std::uint64_t least, std::uint64_t most, std::uint64_t& into);
std::string take_duration(const std::string& value, std::uint64_t& into_ns);
std::string take_rate(const std::string& value, std::uint64_t& into);
std::string take_size(const std::string& value, std::uint64_t least, std::uint64_t most, std::uint64_t& into);
/// "on" or "off".
std::string take_switch(const std::string& value, bool& into);

}  // namespace base
