#include "base/quantities.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace text::test {
namespace {

using testing::HasSubstr;

constexpr base::Style column{base::Spacing::column, base::Charset::ascii};
constexpr base::Style utf8{base::Spacing::sentence, base::Charset::utf8};
constexpr double infinite = std::numeric_limits<double>::infinity();

TEST(Printer, durations_have_three_digits_and_the_unit_that_fits) {
    EXPECT_EQ(base::format_duration(7), "7 ns");
    EXPECT_EQ(base::format_duration(12.5), "12.5 ns");
    EXPECT_EQ(base::format_duration(1500), "1.50 us");
    EXPECT_EQ(base::format_duration(12'340), "12.3 us");
    EXPECT_EQ(base::format_duration(3.78e6), "3.78 ms");
    EXPECT_EQ(base::format_duration(655.36e6), "655 ms");
    EXPECT_EQ(base::format_duration(2.04e9), "2.04 s");
    EXPECT_EQ(base::format_duration(119e9), "119 s");
    EXPECT_EQ(base::format_duration(150e9), "2.50 min");
    EXPECT_EQ(base::format_duration(3 * 3600e9), "3.00 h");
    EXPECT_EQ(base::format_duration(10 * 86400e9), "10.0 d");
    EXPECT_EQ(base::format_duration(3650 * 86400e9), "3650 d");
}

TEST(Printer, intervals_have_no_zeros_at_the_end) {
    EXPECT_EQ(base::format_interval(1e9), "1 s");
    EXPECT_EQ(base::format_interval(1.5e9), "1.5 s");
    EXPECT_EQ(base::format_interval(1.02e9), "1.02 s");
    EXPECT_EQ(base::format_interval(1.0004e9), "1 s");
    EXPECT_EQ(base::format_interval(10e9), "10 s");
    EXPECT_EQ(base::format_interval(100e6), "100 ms");
    EXPECT_EQ(base::format_interval(250e3, utf8), "250 µs");
    EXPECT_EQ(base::format_interval(300e9), "5 min");
    EXPECT_EQ(base::format_interval(std::nullopt), "-");
}

TEST(Printer, rounding_carries_into_the_next_digit_and_the_next_unit) {
    EXPECT_EQ(base::format_duration(999.4), "999 ns");
    EXPECT_EQ(base::format_duration(999.6), "1.00 us");
    EXPECT_EQ(base::format_duration(9'994), "9.99 us");
    EXPECT_EQ(base::format_duration(9'996), "10.0 us");
    EXPECT_EQ(base::format_duration(99'960), "100 us");
    EXPECT_EQ(base::format_duration(999'400), "999 us");
    EXPECT_EQ(base::format_duration(999'600), "1.00 ms");
    EXPECT_EQ(base::format_duration(999'999'999), "1.00 s");
    EXPECT_EQ(base::format_duration(119.6e9), "1.99 min");
    EXPECT_EQ(base::format_duration(119.6 * 60e9), "1.99 h");
    EXPECT_EQ(base::format_size(1023.9 * 1024), "1.00 MiB");
    EXPECT_EQ(base::format_size(1023.4 * 1024), "1023 KiB");
    EXPECT_EQ(base::format_bit_rate(999.6e6), "1.00 Gbit/s");
    EXPECT_EQ(base::format_bit_rate(999.4e6), "999 Mbit/s");
    EXPECT_EQ(base::format_count(999'600), "1.00M");
    EXPECT_EQ(base::format_percent(0.99996), "100 %");
    EXPECT_EQ(base::format_decimal(999.6), "1,000");
}

TEST(Printer, the_letter_of_microseconds_is_that_of_the_character_set) {
    EXPECT_EQ(base::format_duration(1500, utf8), "1.50 µs");
    EXPECT_EQ(base::format_duration(1500, {base::Spacing::column, base::Charset::utf8}), "1.50µs");
    EXPECT_EQ(base::format_duration(1.5e6, utf8), "1.50 ms");
    ASSERT_EQ(base::charset(), base::Charset::ascii);
    base::set_charset(base::Charset::utf8);
    EXPECT_EQ(base::format_duration(1500), "1.50 µs");
    EXPECT_EQ(base::format_duration(1500, column), "1.50us");
    base::set_charset(base::Charset::ascii);
    EXPECT_EQ(base::format_duration(1500), "1.50 us");
}

TEST(Printer, columns_drop_the_blank) {
    EXPECT_EQ(base::format_duration(3.78e6, column), "3.78ms");
    EXPECT_EQ(base::format_size(65'536, column), "64KiB");
    EXPECT_EQ(base::format_bit_rate(254e6, column), "254Mbit/s");
    EXPECT_EQ(base::format_byte_rate(31.8e6, column), "31.8MB/s");
    EXPECT_EQ(base::format_percent(0.96, column), "96%");
}

TEST(Printer, nothing_is_0_and_what_is_absent_is_a_dash) {
    EXPECT_EQ(base::format_duration(0), "0 ns");
    EXPECT_EQ(base::format_duration(-0.0), "0 ns");
    EXPECT_EQ(base::format_size(0), "0 B");
    EXPECT_EQ(base::format_bit_rate(0), "0 bit/s");
    EXPECT_EQ(base::format_count(0), "0");
    EXPECT_EQ(base::format_percent(0), "0 %");
    EXPECT_EQ(base::format_decimal(0), "0");
    for (const auto& absent : {std::optional<double>{}, std::optional<double>{infinite},
                               std::optional<double>{-infinite}, std::optional<double>{std::nan("")}}) {
        EXPECT_EQ(base::format_duration(absent), "-");
        EXPECT_EQ(base::format_size(absent), "-");
        EXPECT_EQ(base::format_bit_rate(absent), "-");
        EXPECT_EQ(base::format_byte_rate(absent), "-");
        EXPECT_EQ(base::format_count(absent), "-");
        EXPECT_EQ(base::format_percent(absent), "-");
        EXPECT_EQ(base::format_decimal(absent), "-");
    }
    EXPECT_EQ(base::format_duration(std::optional<std::uint64_t>{5}), "5 ns");
    EXPECT_EQ(base::format_duration(std::optional<std::uint64_t>{}), "-");
}

TEST(Printer, what_is_little_is_not_shown_as_0) {
    EXPECT_EQ(base::format_duration(0.25), "0.25 ns");
    EXPECT_EQ(base::format_duration(0.001), "<0.01 ns");
    EXPECT_EQ(base::format_duration(-0.001), ">-0.01 ns");
    EXPECT_EQ(base::format_count(0.004), "<0.01");
    EXPECT_EQ(base::format_percent(0.00001), "<0.01 %");
    EXPECT_EQ(base::format_percent(0.0001), "0.01 %");
}

TEST(Printer, negative_values_have_the_digits_and_units_of_positive_ones) {
    EXPECT_EQ(base::format_duration(-7), "-7 ns");
    EXPECT_EQ(base::format_duration(-1500), "-1.50 us");
    EXPECT_EQ(base::format_duration(-999.6), "-1.00 us");
    EXPECT_EQ(base::format_decimal(-12'345), "-12,345");
    EXPECT_EQ(base::format_percent(-0.05), "-5 %");
}

TEST(Printer, huge_values_stay_in_the_largest_unit) {
    EXPECT_EQ(base::format_duration(1.8446744073709552e19), "213504 d");
    EXPECT_EQ(base::format_size(1.8446744073709552e19), "16384 PiB");
    EXPECT_EQ(base::format_bit_rate(1e19), "10000 Pbit/s");
    EXPECT_EQ(base::format_decimal(1e20), "100000000000000000000");
}

TEST(Printer, sizes_are_binary_and_rates_and_counts_are_decimal) {
    EXPECT_EQ(base::format_size(1000), "1000 B");
    EXPECT_EQ(base::format_size(1024), "1 KiB");
    EXPECT_EQ(base::format_size(1'500'000), "1.43 MiB");
    EXPECT_EQ(base::format_size(3.5 * 1024 * 1024 * 1024), "3.50 GiB");
    EXPECT_EQ(base::format_bit_rate(1000), "1.00 kbit/s");
    EXPECT_EQ(base::format_bit_rate(9.41e9), "9.41 Gbit/s");
    EXPECT_EQ(base::format_bit_rate(400e9), "400 Gbit/s");
    EXPECT_EQ(base::format_byte_rate(1.25e9), "1.25 GB/s");
    EXPECT_EQ(base::format_count(2'660'000), "2.66M");
    EXPECT_EQ(base::format_count(340), "340");
    EXPECT_EQ(base::format_count(12.5), "12.5");
}

TEST(Printer, percentages_have_no_zeros_at_their_end) {
    EXPECT_EQ(base::format_percent(0.96), "96 %");
    EXPECT_EQ(base::format_percent(0.957), "95.7 %");
    EXPECT_EQ(base::format_percent(0.0957), "9.57 %");
    EXPECT_EQ(base::format_percent(0.0063), "0.63 %");
    EXPECT_EQ(base::format_percent(0.5), "50 %");
    EXPECT_EQ(base::format_percent(1), "100 %");
    EXPECT_EQ(base::format_percent(1.5), "150 %");
}

TEST(Printer, whole_numbers_are_grouped) {
    EXPECT_EQ(base::group_digits(0), "0");
    EXPECT_EQ(base::group_digits(999), "999");
    EXPECT_EQ(base::group_digits(1000), "1,000");
    EXPECT_EQ(base::group_digits(18'446'744'073'709'551'615ULL), "18,446,744,073,709,551,615");
    EXPECT_EQ(base::format_counted(1, "packet"), "1 packet");
    EXPECT_EQ(base::format_counted(0, "packet"), "0 packets");
    EXPECT_EQ(base::format_counted(1234, "packet"), "1,234 packets");
    EXPECT_EQ(base::format_counted(1, "recovery", "recoveries"), "1 recovery");
    EXPECT_EQ(base::format_counted(2, "recovery", "recoveries"), "2 recoveries");
    EXPECT_EQ(base::format_decimal(3.14159), "3.14");
    EXPECT_EQ(base::format_decimal(2.5), "2.5");
    EXPECT_EQ(base::format_decimal(4.003), "4");
    EXPECT_EQ(base::format_decimal(12'345.4), "12,345");
}

TEST(Printer, exact_sizes_and_settings_round_nothing) {
    EXPECT_EQ(base::format_exact_size(65'536), "64 KiB");
    EXPECT_EQ(base::format_exact_size(65'537), "65537 B");
    EXPECT_EQ(base::format_exact_size(0), "0 B");
    EXPECT_EQ(base::format_exact_size(std::uint64_t{3} << 30, column), "3GiB");
    EXPECT_EQ(base::spell_duration(300'000'000'000), "5m");
    EXPECT_EQ(base::spell_duration(1'500'000'000), "1500ms");
    EXPECT_EQ(base::spell_size(1000), "1000");
    EXPECT_EQ(base::spell_size(65'536), "64KiB");
    EXPECT_EQ(base::spell_bit_rate(100'000'000'000), "100G");
    EXPECT_EQ(base::spell_bit_rate(1500), "1500bps");
}

TEST(Parser, settings_are_read_back) {
    for (const std::uint64_t value : {1ULL, 999ULL, 1000ULL, 1024ULL, 60'000'000'000ULL, 86'400'000'000'000ULL,
                                      300'000'000'000'000'000ULL, 123'456'789ULL}) {
        EXPECT_EQ(*base::parse_duration(base::spell_duration(value), base::BareDuration::refused), value);
        EXPECT_EQ(*base::parse_size(base::spell_size(value)), value);
        EXPECT_EQ(*base::parse_size(base::format_exact_size(value, column)), value);
    }
    for (const std::uint64_t value : {1000ULL, 1500ULL, 1'000'000ULL, 100'000'000'000ULL, 123'456'789ULL})
        EXPECT_EQ(*base::parse_bit_rate(base::spell_bit_rate(value)), value);
}

TEST(Parser, what_columns_show_can_be_typed) {
    for (const double ns : {7.0, 1500.0, 3.78e6, 2.04e9, 150e9, 10'800e9, 864'000e9})
        for (const base::Charset letters : {base::Charset::ascii, base::Charset::utf8})
            EXPECT_EQ(*base::parse_duration(base::format_duration(ns, {base::Spacing::column, letters})),
                      static_cast<std::uint64_t>(ns));
    EXPECT_EQ(*base::parse_size(base::format_size(1.5 * 1024 * 1024, column), {.decimals = true}), 3U << 19);
    EXPECT_EQ(*base::parse_bit_rate(base::format_bit_rate(9.41e9, column)), 9'410'000'000U);
    EXPECT_EQ(*base::parse_byte_rate(base::format_byte_rate(1.25e9, column), {}), 1.25e9);
    EXPECT_EQ(*base::parse_share(base::format_percent(0.125, column)), 0.125);
    EXPECT_EQ(*base::parse_count(base::format_count(2'660'000)), 2'660'000U);
}

TEST(Parser, durations) {
    EXPECT_EQ(*base::parse_duration("2"), 2'000'000'000U);
    EXPECT_EQ(*base::parse_duration("2", base::BareDuration::milliseconds), 2'000'000U);
    EXPECT_EQ(*base::parse_duration("2", base::BareDuration::nanoseconds), 2U);
    EXPECT_EQ(*base::parse_duration("1.5s"), 1'500'000'000U);
    EXPECT_EQ(*base::parse_duration("10us"), 10'000U);
    EXPECT_EQ(*base::parse_duration("10µs"), 10'000U);
    EXPECT_EQ(*base::parse_duration("2m"), 120'000'000'000U);
    EXPECT_EQ(*base::parse_duration("2min"), 120'000'000'000U);
    EXPECT_EQ(*base::parse_duration("1h"), 3'600'000'000'000U);
    EXPECT_EQ(*base::parse_duration("7d"), 604'800'000'000'000U);
    EXPECT_EQ(*base::parse_duration("0s", base::BareDuration::seconds, 0), 0U);
    for (const char* const wrong : {"", "s", "-1s", "0", "0s", "1x", "1 ", "1 s", "1e3", "1e3s", "nan", "inf", "0x10",
                                    "0.1ns", "4000d", "1s ", " 1s", "1S"})
        EXPECT_FALSE(base::parse_duration(wrong)) << wrong;
    EXPECT_THAT(base::parse_duration("1x").error(), HasSubstr("100ms"));
    EXPECT_FALSE(base::parse_duration("2", base::BareDuration::refused));
    EXPECT_THAT(base::parse_duration("2", base::BareDuration::refused).error(), HasSubstr("with its unit"));
}

TEST(Parser, sizes_are_exact_and_binary) {
    EXPECT_EQ(*base::parse_size("64"), 64U);
    EXPECT_EQ(*base::parse_size("64B"), 64U);
    for (const char* const same : {"64K", "64k", "64KB", "64kB", "64KiB", "64kiB"})
        EXPECT_EQ(*base::parse_size(same), 65'536U) << same;
    EXPECT_EQ(*base::parse_size("16M"), 16U << 20);
    EXPECT_EQ(*base::parse_size("1GiB"), 1U << 30);
    EXPECT_EQ(*base::parse_size("18446744073709551615"), 18'446'744'073'709'551'615ULL);
    EXPECT_EQ(*base::parse_size("9007199254740993"), 9'007'199'254'740'993ULL) << "2^53 + 1";
    for (const char* const wrong : {"", "K", "-1", "1.5M", "1KK", "1m", "1Kib", "18446744073709551616", "16777216T",
                                    "1e3", "0x10", "64 ", "64 KiB", "nan"})
        EXPECT_FALSE(base::parse_size(wrong)) << wrong;
    EXPECT_FALSE(base::parse_size("63", {.least = 64}));
    EXPECT_FALSE(base::parse_size("1M", {.most = 65'536}));
    EXPECT_THAT(base::parse_size("63", {.least = 64, .most = 128}).error(), HasSubstr("from 64 to 128"));
}

TEST(Parser, sizes_of_filters_have_decimals_and_decimal_bytes) {
    const base::SizeForm form{.decimals = true, .decimal_bytes = true};
    EXPECT_EQ(*base::parse_size("1.5MB", form), 1'500'000U);
    EXPECT_EQ(*base::parse_size("1.5M", form), 3U << 19);
    EXPECT_EQ(*base::parse_size("64KiB", form), 65'536U);
    EXPECT_EQ(*base::parse_size("64kB", form), 64'000U);
    EXPECT_EQ(*base::parse_size("0.5", form), 1U);
    EXPECT_FALSE(base::parse_size("9000000000000000000000", form));
}

TEST(Parser, sizes_of_files_are_in_millions_or_have_a_letter) {
    const base::SizeForm form{.least = 1, .letters_only = true, .bare_factor = 1'000'000};
    EXPECT_EQ(*base::parse_size("3", form), 3'000'000U);
    for (const char* const same : {"2m", "2M"}) EXPECT_EQ(*base::parse_size(same, form), 2U << 20);
    for (const char* const same : {"2k", "2K"}) EXPECT_EQ(*base::parse_size(same, form), 2U << 10);
    for (const char* const same : {"2g", "2G"}) EXPECT_EQ(*base::parse_size(same, form), 2U << 30);
    for (const char* const wrong : {"", "0", "1x", "1kB", "1KiB", "1T", "1t", "1.5k"})
        EXPECT_FALSE(base::parse_size(wrong, form)) << wrong;
}

TEST(Parser, rates_of_bits) {
    EXPECT_EQ(*base::parse_bit_rate("10G"), 10'000'000'000U);
    for (const char* const same : {"2.5G", "2.5Gbit/s", "2.5Gbps", "2.5Gbit", "2500M"})
        EXPECT_EQ(*base::parse_bit_rate(same), 2'500'000'000U) << same;
    EXPECT_EQ(*base::parse_bit_rate("1K"), 1000U);
    EXPECT_EQ(*base::parse_bit_rate("0", 0), 0U);
    for (const char* const wrong : {"", "G", "999", "0", "-1G", "1g", "10GB", "10GB/s", "2000T", "1x"})
        EXPECT_FALSE(base::parse_bit_rate(wrong)) << wrong;
}

TEST(Parser, rates_of_bytes) {
    EXPECT_EQ(*base::parse_byte_rate("1000", {}), 1000);
    EXPECT_EQ(*base::parse_byte_rate("10Gbit/s", {}), 1.25e9);
    EXPECT_EQ(*base::parse_byte_rate("800kbps", {}), 1e5);
    EXPECT_EQ(*base::parse_byte_rate("1MB/s", {}), 1e6);
    EXPECT_EQ(*base::parse_byte_rate("1MB/s", {.binary = true}), 1'048'576);
    EXPECT_EQ(*base::parse_byte_rate("1MiB/s", {}), 1'048'576);
    EXPECT_EQ(*base::parse_byte_rate("8Gbit/s", {.binary = true}), 1e9) << "bits are decimal always";
    EXPECT_EQ(*base::parse_byte_rate("1.5G", {.bare_prefix = true}), 1.5e9);
    EXPECT_FALSE(base::parse_byte_rate("10G", {})) << "bits or bytes";
    for (const char* const wrong : {"", "G", "-1", "1x", "1iB", "1Gi", "nan"})
        EXPECT_FALSE(base::parse_byte_rate(wrong, {.bare_prefix = true})) << wrong;
}

TEST(Parser, counts_shares_and_numbers) {
    EXPECT_EQ(*base::parse_count("17"), 17U);
    EXPECT_EQ(*base::parse_count("10k"), 10'000U);
    EXPECT_EQ(*base::parse_count("1.5M"), 1'500'000U);
    EXPECT_EQ(*base::parse_count("9007199254740993"), 9'007'199'254'740'993ULL);
    EXPECT_FALSE(base::parse_count("9223372036854775808"));
    EXPECT_FALSE(base::parse_count("1KiB"));
    EXPECT_EQ(*base::parse_decimal("1.5"), 1.5);
    EXPECT_EQ(*base::parse_decimal("10k"), 10'000);
    EXPECT_FALSE(base::parse_decimal("1%"));
    EXPECT_DOUBLE_EQ(*base::parse_share("5%"), 0.05);
    EXPECT_DOUBLE_EQ(*base::parse_share("0.05"), 0.05);
    EXPECT_DOUBLE_EQ(*base::parse_share("1e-3"), 0.001);
    EXPECT_EQ(*base::parse_share("100%"), 1);
    EXPECT_EQ(*base::parse_share("200%", 10), 2);
    for (const char* const wrong : {"", "%", "101%", "-1%", "half", "5 %", "nan%", "inf", "5%%"})
        EXPECT_FALSE(base::parse_share(wrong)) << wrong;
    EXPECT_FALSE(base::parse_share("inf", infinite));
    EXPECT_EQ(*base::parse_number("9", 1, 9), 9U);
    for (const char* const wrong : {"", "0", "10", "-1", "1k", "0x1"})
        EXPECT_FALSE(base::parse_number(wrong, 1, 9)) << wrong;
    EXPECT_EQ(base::parse_number("0", 1, 9).error(), "a number from 1 to 9");
}

TEST(Parser, options_keep_their_value_where_another_is_expected) {
    std::uint64_t into = 5;
    EXPECT_EQ(base::take_number("x", 1, 9, into), "a number from 1 to 9");
    EXPECT_NE(base::take_duration("x", into), "");
    EXPECT_NE(base::take_rate("x", into), "");
    EXPECT_NE(base::take_size("x", 1, 9, into), "");
    EXPECT_EQ(into, 5U);
    EXPECT_EQ(base::take_size("8", 1, 9, into), "");
    EXPECT_EQ(into, 8U);
    bool on = false;
    EXPECT_EQ(base::take_switch("maybe", on), "on or off");
    EXPECT_EQ(base::take_switch("on", on), "");
    EXPECT_TRUE(on);
}

}  // namespace
}  // namespace text::test
